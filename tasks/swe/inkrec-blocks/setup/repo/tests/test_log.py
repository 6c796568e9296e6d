import pytest

from inkrec import DamageError, FormatError, Reader, Writer, recover
from inkrec.__main__ import main


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.ink"


def write(path, *data, **options):
    with Writer(path, **options) as log:
        for kind, one in enumerate(data):
            log.append(one, kind)


def contents(path):
    return [(record.kind, record.data) for record in Reader(path)]


def test_what_is_written_is_read(path):
    write(path, b"first", b"", bytes(range(256)) * 3)
    assert contents(path) == [(0, b"first"), (1, b""), (2, bytes(range(256)) * 3)]


def test_a_file_can_be_appended_to(path):
    write(path, b"one")
    write(path, b"two")
    assert contents(path) == [(0, b"one"), (0, b"two")]


def test_the_bytes_of_version_1(path):
    write(path, b"hi")
    assert path.read_bytes() == b"INK\x01\x02\x00hi" + bytes.fromhex("660be141")


@pytest.mark.parametrize("text", [b"", b"IN", b"PNG\x01", b"INK\x09"])
def test_other_files_are_refused(path, text):
    path.write_bytes(text)
    with pytest.raises(FormatError):
        contents(path)


def test_kinds_of_the_format_are_refused(path):
    with pytest.raises(ValueError), Writer(path) as log:
        log.append(b"", 128)


def test_damage_is_found(path):
    write(path, b"one", b"two")
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamageError) as caught:
        contents(path)
    assert caught.value.offset == 13


@pytest.mark.parametrize("cut", [1, 4, 8])
def test_a_torn_end_is_cut_off(path, cut):
    write(path, b"one", b"two")
    path.write_bytes(path.read_bytes()[:-cut])
    assert recover(path) == 9 - cut
    assert contents(path) == [(0, b"one")]
    assert recover(path) == 0


def test_the_command(path, capsys):
    write(path, b"one", b"two")
    assert main(["verify", str(path)]) == 0
    assert main(["dump", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "2 records"
    path.write_bytes(path.read_bytes()[:-1])
    assert main(["verify", str(path)]) == 1
    assert "damage at byte 13" in capsys.readouterr().err
