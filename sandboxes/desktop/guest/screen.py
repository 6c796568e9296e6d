"""The screen, read from the frame buffer file of Xvfb: no application can hold it back.

Xvfb keeps its screen in a file of the format XWD version 7, with the pointer drawn into it.
"""

import mmap
import struct

_FIELDS = 25
_COLOUR_BYTES = 12


class Screen:
    """The frame buffer.

    Args:
        path: File of the frame buffer.
    """

    def __init__(self, path):
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        fields = struct.unpack(f">{_FIELDS}I", self._map[: 4 * _FIELDS])
        self.width, self.height, self.stride = fields[4], fields[5], fields[12]
        self._start = fields[0] + fields[19] * _COLOUR_BYTES
        self._size = self.stride * self.height

    def grab(self):
        """Return the pixels, four bytes each (blue, green, red, unused), row by row."""
        return self._map[self._start : self._start + self._size]

    def news(self, before):
        """Return the frame, the first row that differs from a frame before, and the rows that may.

        Args:
            before: The pixels of that frame; empty without one.
        """
        now = self.grab()
        if len(before) != len(now):
            return now, 0, now
        if now == before:
            return now, 0, b""
        top = _first_difference(now, before) // self.stride
        bottom = self.height - _first_difference(now[::-1], before[::-1]) // self.stride
        return now, top, now[top * self.stride : bottom * self.stride]


def _first_difference(one, other):
    """Return the place of the first byte that differs, by halves."""
    low, high = 0, len(one)
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low
