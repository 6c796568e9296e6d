"""Files of version 2: records compressed in blocks."""

import struct
import tracemalloc
import zlib

import pytest

from inkrec import DamageError, FormatError, Reader, Writer, recover
from inkrec.__main__ import main

LINES = [b"a line that repeats itself, number %d" % number for number in range(200)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.ink"


def varint(value):
    made = b""
    while value > 127:
        made, value = made + bytes([value & 127 | 128]), value >> 7
    return made + bytes([value])


def raw(kind, data):
    body = bytes([kind]) + data
    return varint(len(data)) + body + struct.pack(">I", zlib.crc32(body))


def packed(content, size=None):
    return raw(128, varint(len(content) if size is None else size) + zlib.compress(content))


def write(path, lines, **options):
    with Writer(path, **options) as log:
        for number, line in enumerate(lines):
            log.append(line, number % 5)


def contents(path):
    return [(record.kind, record.data) for record in Reader(path)]


def test_a_compressed_file_is_read_as_it_was_written(path):
    write(path, LINES, compress=True)
    assert path.read_bytes()[:4] == b"INK\x02"
    assert contents(path) == [(number % 5, line) for number, line in enumerate(LINES)]
    assert path.stat().st_size < sum(map(len, LINES)) / 3


def test_a_file_without_compression_is_as_before(path):
    write(path, LINES[:3])
    whole = b"INK\x01" + b"".join(raw(n, line) for n, line in enumerate(LINES[:3]))
    assert path.read_bytes() == whole


def test_a_block_as_the_readme_describes_it(path):
    path.write_bytes(b"INK\x02" + raw(7, b"x") + packed(raw(1, b"one") + raw(2, b"two")) + raw(3, b"y"))
    records = list(Reader(path))
    assert [(r.kind, r.data) for r in records] == [(7, b"x"), (1, b"one"), (2, b"two"), (3, b"y")]
    assert records[1].offset == records[2].offset == 4 + len(raw(7, b"x"))


def test_the_writer_makes_blocks_of_that_format(path):
    write(path, LINES, compress=True)
    content = b"".join(raw(n % 5, line) for n, line in enumerate(LINES))
    data = path.read_bytes()
    assert varint(len(content)) in data[4:16]
    assert len(list(Reader(path))) == len(LINES)


def test_each_flush_is_a_block(path):
    write(path, LINES, compress=True, buffer=1000)
    offsets = {record.offset for record in Reader(path)}
    assert 5 < len(offsets) < 20
    assert len(contents(path)) == len(LINES)


def test_an_empty_flush_writes_nothing(path):
    with Writer(path, compress=True) as log:
        log.flush()
        log.flush()
    assert path.read_bytes() == b"INK\x02"


def test_what_does_not_get_shorter_is_written_as_it_is(path):
    write(path, [b"x"], compress=True)
    assert path.read_bytes() == b"INK\x02" + raw(0, b"x")


def test_appending_keeps_the_version_of_the_file(path):
    write(path, LINES[:5])
    write(path, LINES, compress=True)
    assert path.read_bytes()[:4] == b"INK\x01" and len(contents(path)) == 205
    other = path.with_name("other.ink")
    write(other, LINES, compress=True)
    size = other.stat().st_size
    write(other, LINES)
    assert other.stat().st_size < 2 * size + 50 and len(contents(other)) == 400


def test_a_block_in_a_file_of_version_1_is_not_known(path):
    path.write_bytes(b"INK\x01" + packed(raw(1, b"one")))
    with pytest.raises(FormatError, match="128"):
        contents(path)


def test_a_block_in_a_block_is_refused(path):
    path.write_bytes(b"INK\x02" + packed(packed(raw(1, b"one"))))
    with pytest.raises(FormatError):
        contents(path)


def test_other_kinds_of_the_format_are_still_refused(path):
    path.write_bytes(b"INK\x02" + raw(129, b"one"))
    with pytest.raises(FormatError, match="129"):
        contents(path)


@pytest.mark.parametrize(
    "block",
    [
        packed(raw(1, b"one"), size=3),
        packed(raw(1, b"one"), size=400),
        packed(raw(1, b"one")[:-1]),
        raw(128, varint(4) + b"none"),
        raw(128, b""),
        packed(b"\0" * 1000, size=2**34),
    ],
    ids=["smaller", "larger", "torn", "not zlib", "empty", "bomb"],
)
def test_a_damaged_block_is_damage_at_its_offset(path, block):
    path.write_bytes(b"INK\x02" + raw(7, b"x") + block)
    with pytest.raises(DamageError) as caught:
        contents(path)
    assert caught.value.offset == 4 + len(raw(7, b"x"))
    assert recover(path) == len(block)
    assert contents(path) == [(7, b"x")]


def test_no_record_of_a_damaged_block_is_yielded(path):
    path.write_bytes(b"INK\x02" + raw(7, b"x") + packed(raw(1, b"one") + raw(2, b"two")[:-1]))
    seen = []
    with pytest.raises(DamageError):
        for record in Reader(path):
            seen.append(record.data)
    assert seen == [b"x"]


def test_a_block_of_more_than_a_record_may_have_is_damage(path):
    content = raw(1, bytes(63 * 2**20)) + raw(1, bytes(2**20))
    path.write_bytes(b"INK\x02" + packed(content))
    with pytest.raises(DamageError):
        next(iter(Reader(path)))


def test_no_block_is_written_that_would_be_damage(path):
    write(path, [bytes(33 * 2**20)] * 2, compress=True, buffer=2**30)
    records = list(Reader(path))
    assert [len(record.data) for record in records] == [33 * 2**20] * 2
    assert len({record.offset for record in records}) == 2 and path.stat().st_size < 2**20, "they are blocks"


def test_a_torn_block_is_cut_off_as_a_whole(path):
    write(path, LINES, compress=True, buffer=3000)
    last = max(record.offset for record in Reader(path))
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-3])
    assert recover(path) == size - 3 - last
    assert 0 < len(contents(path)) < len(LINES)


def test_the_command_counts_records_and_not_blocks(path, capsys):
    write(path, LINES, compress=True)
    assert main(["verify", str(path)]) == 0
    assert capsys.readouterr().out == "200 records\n"


def test_a_block_that_unpacks_to_more_than_it_claims_fills_no_memory(path):
    """To stop after 64 MiB is enough, and takes twice as much for the parts and the whole."""
    zeros = zlib.compressobj(9)
    content = b"".join(zeros.compress(bytes(2**20)) for _ in range(300)) + zeros.flush()
    path.write_bytes(b"INK\x02" + raw(128, varint(50) + content))
    tracemalloc.start()
    try:
        with pytest.raises(DamageError):
            list(Reader(path))
        assert tracemalloc.get_traced_memory()[1] < 250 * 2**20
    finally:
        tracemalloc.stop()


def test_a_dump_looks_as_before(path, capsys):
    write(path, [b"one", b"two"])
    assert main(["dump", str(path)]) == 0
    assert capsys.readouterr().out == "       4   0 b'one'\n      13   1 b'two'\n"


def test_what_is_shorter_without_the_frame_only_is_written_as_it_is(path):
    """The content shrinks, but with size, kind and checksum the block is not shorter."""
    met = set()
    for count in range(1, 60):
        path.unlink(missing_ok=True)
        plain = raw(0, b"x" * count)
        write(path, [b"x" * count], compress=True)
        size = path.stat().st_size - 4
        assert size <= len(plain)
        met.add((size < len(plain), len(zlib.compress(plain)) < len(plain)))
        if size == len(plain):
            assert path.read_bytes()[4:] == plain
    assert (False, True) in met and (True, True) in met


@pytest.mark.parametrize("cut", [1, 4, 6])
def test_a_stream_without_its_end_is_damage(path, cut):
    content = raw(1, b"one") + raw(2, b"two")
    path.write_bytes(b"INK\x02" + raw(128, varint(len(content)) + zlib.compress(content)[:-cut]))
    with pytest.raises(DamageError):
        contents(path)


def test_a_record_that_fits_in_no_block_is_written_as_it_is(path):
    write(path, [bytes(64 * 2**20)], compress=True)
    assert [len(record.data) for record in Reader(path)] == [64 * 2**20]


def test_a_damaged_block_at_the_beginning_is_cut_off(path):
    block = packed(raw(1, b"one"), size=3)
    path.write_bytes(b"INK\x02" + block)
    assert recover(path) == len(block) and path.read_bytes() == b"INK\x02"


@pytest.mark.parametrize("size", [100_000, 3_000_000])
def test_what_waits_is_one_block_however_much_it_is(path, size):
    with Writer(path, buffer=50_000_000, compress=True) as log:
        for _ in range(4):
            log.append(b"a" * size)
    assert [record.offset for record in Reader(path)] == [4] * 4
    assert path.stat().st_size < size
