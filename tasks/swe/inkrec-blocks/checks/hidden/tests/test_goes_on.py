"""The promises of the README on logs that no line of the issue changes; they hold for both versions."""

import io
import os
import zlib

import pytest

from inkrec import DamageError, FormatError, Reader, Record, Writer, recover, varint
from inkrec.__main__ import main
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


def header(version=1):
    return b"INK" + bytes([version])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (header() + encode(1, b"a") + b"\x05\x01ab", "damage at byte 11: a record is torn"),
        (header() + encode(1, b"a")[:-1] + b"!", "damage at byte 4: a record has another checksum"),
        (header() + b"\x81", "damage at byte 4: a length is torn"),
        (header() + b"\xff" * 5, "damage at byte 4: a length that does not end"),
        (header() + b"\x81\x80\x80\x20\x00", "damage at byte 4: a record of 67108865 bytes"),
        (header() + encode(1, b"a")[:-4], "damage at byte 4: a record is torn"),
        (header() + encode(129, b"a"), "byte 4: kind 129 is not known"),
        (header() + encode(128, b"a"), "byte 4: kind 128 is not known"),
        (b"INK", "not an inkrec file"),
        (b"", "not an inkrec file"),
        (b"JNK\x01", "not an inkrec file"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_in_the_words_of_before(tmp_path, capsys, content, told):
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises((DamageError, FormatError)) as caught:
        contents(path)
    assert str(caught.value) == told
    for command in ("dump", "verify"):
        assert main([command, str(path)]) == 1
        assert capsys.readouterr().err == f"{told}\n"
    if isinstance(caught.value, DamageError):
        assert caught.value.offset == int(told.split()[3].strip(":"))
        assert recover(path) == len(content) - caught.value.offset
        assert path.read_bytes() == content[: caught.value.offset]


@compressed
def test_what_is_refused_is_told_in_the_words_of_before(tmp_path, more):
    with Writer(tmp_path / "log", **more) as log:
        for act, told in [
            (lambda: log.append(b"", kind=128), "kind: expected 0 to 127, got 128"),
            (lambda: log.append(b"", kind=-1), "kind: expected 0 to 127, got -1"),
            (lambda: log.append(bytes(64 * 2**20 + 1)), "a record of 67108865 bytes; at most 67108864"),
            (lambda: varint.encode(-1), "expected a value of at least 0, got -1"),
        ]:
            with pytest.raises(ValueError) as caught:
                act()
            assert str(caught.value) == told
    assert contents(tmp_path / "log") == []


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, b"\0"), (1, b"\1"), (127, b"\x7f"), (128, b"\x80\1"), (300, b"\xac\2"), (16384, b"\x80\x80\1"), (2**35 - 1, b"\xff\xff\xff\xff\x7f")],
)
def test_varints(value, encoded):
    assert varint.encode(value) == encoded and varint.read(io.BytesIO(encoded + b"!")) == value
    assert varint.read(io.BytesIO()) is None


def test_a_file_of_version_1_is_the_same_byte_for_byte(tmp_path):
    path = tmp_path / "log"
    with Writer(str(path)) as log:
        log.append(b"")
        log.append(b"\0" * 200, kind=127)
    assert path.read_bytes() == (
        b"INK\x01\x00\x00" + zlib.crc32(b"\0").to_bytes(4, "big")
        + b"\xc8\x01\x7f" + b"\0" * 200 + zlib.crc32(b"\x7f" + b"\0" * 200).to_bytes(4, "big")
    )  # fmt: skip
    assert [(each.offset, each.kind, each.data) for each in Reader(str(path))] == [(4, 0, b""), (10, 127, b"\0" * 200)]
    assert recover(str(path)) == 0


@compressed
def test_a_file_is_read_anew_each_time(tmp_path, more):
    reader = Reader(tmp_path / "log")
    log = Writer(tmp_path / "log", **more)
    log.append(LINES[0])
    assert not (tmp_path / "log").read_bytes()[4:]
    log.flush()
    assert len(list(reader)) == len(list(reader)) == 1
    log.append(LINES[1])
    log.close()
    log.close()
    assert len(list(reader)) == 2 and isinstance(log.path, os.PathLike)
    with pytest.raises(ValueError):
        log.append(b"x" * 70_000)


def test_records_are_values():
    assert len({Record(4, 1, b"a"), Record(4, 1, b"a"), Record(5, 1, b"a")}) == 2
    with pytest.raises(AttributeError):
        Record(4, 1, b"a").kind = 2


def test_a_file_that_is_no_log_is_not_changed(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"notes\n")
    for use in (Writer, recover, contents):
        with pytest.raises(FormatError):
            use(path)
    assert path.read_bytes() == b"notes\n"
    with pytest.raises(OSError):
        contents(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_command(tmp_path, capsys):
    with Writer(tmp_path / "log") as log:
        log.append(b"a'b")
        log.append(b"\xff" * 100, kind=12)
    assert main(["dump", str(tmp_path / "log")]) == 0
    shown = repr(b"a'b"), repr(b"\xff" * 100)
    assert capsys.readouterr() == (f"       4   0 {shown[0]}\n      13  12 {shown[1]}\n", "")
    assert main(["verify", str(tmp_path / "log")]) == 0
    assert capsys.readouterr() == ("2 records\n", "")
    assert main(["verify", str(tmp_path / "none")]) == 1
    seen = capsys.readouterr()
    assert seen.out == "" and "No such file or directory" in seen.err
    for words in ([], ["dump"], ["show", "x"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2 and capsys.readouterr().err.startswith("usage: inkrec")


@pytest.mark.parametrize("options", [{}, {"compress": True}])
def test_each_iteration_reads_the_file_anew(tmp_path, options):
    path = tmp_path / "log.ink"
    reader = Reader(path)
    for line in (b"first " * 50, b"other " * 50, b"and a longer one " * 50):
        path.unlink(missing_ok=True)
        with Writer(path, **options) as log:
            log.append(line)
        assert [record.data for record in reader] == [line]
