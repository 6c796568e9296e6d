"""The promises of the README on logs that no line of the issue changes; they hold for both versions."""

import os
import zlib

import pytest

from inkrec import DamageError, FormatError, Reader, Writer, recover
from inkrec.record import encode

LINES = [b'{"day": "2026-03-01", "kind": "in"}' for _ in range(40)]
compressed = pytest.mark.parametrize("more", [{}, {"compress": True}], ids=["plain", "compressed"])


def contents(path):
    return [(record.kind, record.data) for record in Reader(path)]


@compressed
def test_the_second_argument_is_the_buffer(tmp_path, more):
    with Writer(tmp_path / "log", 100, **more) as log:
        log.append(b"x" * 60)
        log.append(b"x" * 60)
        assert len(contents(tmp_path / "log")) == 2
        log.append(b"x" * 60)
        assert len(contents(tmp_path / "log")) == 2


@compressed
def test_a_flush_goes_down_to_the_disk(tmp_path, more, monkeypatch):
    synced = []
    for name in ("fsync", "fdatasync"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda file, real=real: (synced.append(os.fstat(file).st_size), real(file))[1])
    with Writer(tmp_path / "log", **more) as log:
        for line in LINES:
            log.append(line)
        log.flush()
        assert synced and synced[-1] == (tmp_path / "log").stat().st_size > 4


@compressed
def test_a_flush_of_a_new_file_writes_its_header(tmp_path, more):
    log = Writer(tmp_path / "log", **more)
    log.flush()
    assert (tmp_path / "log").read_bytes() == b"INK" + bytes([2 if more else 1])
    log.close()
    assert contents(tmp_path / "log") == []


@compressed
def test_what_waits_is_written_although_the_block_raises(tmp_path, more):
    with pytest.raises(KeyError), Writer(tmp_path / "log", **more) as log:
        for line in LINES:
            log.append(line, kind=5)
        raise KeyError
    assert contents(tmp_path / "log") == [(5, line) for line in LINES]


@compressed
def test_a_record_is_what_it_was_when_it_was_appended(tmp_path, more):
    data = bytearray(b"first" * 9)
    with Writer(tmp_path / "log", **more) as log:
        log.append(data)
        data[:5] = b"other"
        log.append(bytes(data))
    assert [text[:5] for _, text in contents(tmp_path / "log")] == [b"first", b"other"]


@compressed
def test_what_is_refused(tmp_path, more):
    with Writer(tmp_path / "log", **more) as log:
        for kind in (-1, 128, 255):
            with pytest.raises(ValueError):
                log.append(b"x", kind=kind)
        with pytest.raises(ValueError):
            log.append(bytes(64 * 2**20 + 1))
        log.append(b"x", kind=127)
    log.close()
    assert contents(tmp_path / "log") == [(127, b"x")]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", [129, 200, 255])
def test_other_kinds_are_not_skipped_and_not_cut_off(tmp_path, version, kind):
    path = tmp_path / "log"
    path.write_bytes(b"INK" + bytes([version]) + encode(1, b"a") + encode(kind, b"b") + encode(1, b"c"))
    whole = path.read_bytes()
    with pytest.raises(FormatError):
        contents(path)
    with pytest.raises(FormatError):
        recover(path)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kind", [128, 129, 255])
def test_the_formats_own_kinds_are_not_known_in_a_block(tmp_path, kind):
    path, inner = tmp_path / "log", encode(1, b"a" * 50) + encode(kind, b"b")
    path.write_bytes(b"INK\x02" + encode(128, bytes([len(inner)]) + zlib.compress(inner)))
    with pytest.raises(FormatError):
        contents(path)


@pytest.mark.parametrize("version", [0, 3, 255])
def test_other_versions_are_refused(tmp_path, version):
    (tmp_path / "log").write_bytes(b"INK" + bytes([version]))
    for use in (contents, Writer, recover):
        with pytest.raises(FormatError):
            use(tmp_path / "log")


@compressed
def test_a_torn_end_is_cut_off_and_the_file_goes_on(tmp_path, more):
    path = tmp_path / "log"
    for kind in (1, 2):
        with Writer(path, **more) as log:
            for line in LINES:
                log.append(line, kind=kind)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DamageError):
        contents(path)
    assert recover(path) > 0 and recover(path) == 0
    with Writer(path) as log:
        log.append(b"again")
    assert contents(path)[-1] == (0, b"again") and (1, LINES[0]) in contents(path)
