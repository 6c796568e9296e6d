import io

import pytest

from inkrec import varint


@pytest.mark.parametrize("value, data", [(0, b"\0"), (127, b"\x7f"), (300, b"\xac\x02")])
def test_known_values(value, data):
    assert varint.encode(value) == data
    assert varint.read(io.BytesIO(data)) == value


def test_the_end_and_torn_values():
    assert varint.read(io.BytesIO()) is None
    with pytest.raises(varint.TornError):
        varint.read(io.BytesIO(b"\xac"))
    with pytest.raises(varint.TornError):
        varint.read(io.BytesIO(b"\x80" * 6))
