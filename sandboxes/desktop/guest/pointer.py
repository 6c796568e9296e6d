"""The pointer: moves, clicks, drags and the wheel, by the XTest extension."""

import time

from Xlib import X
from Xlib.ext import xtest

BUTTONS = {"left": 1, "middle": 2, "right": 3}
WHEEL = {"up": 4, "down": 5, "left": 6, "right": 7}
_STEPS = 12
_STEP_S = 0.006
_PRESS_S = 0.012


class Pointer:
    """The pointer of a display.

    Args:
        display: A connection of python-xlib.
    """

    def __init__(self, display):
        self._display = display
        self._root = display.screen().root

    def place(self):
        """Return where the pointer is."""
        seen = self._root.query_pointer()
        return seen.root_x, seen.root_y

    def move(self, x, y):
        """Move the pointer to a point of the screen."""
        xtest.fake_input(self._display, X.MotionNotify, x=int(x), y=int(y))
        self._display.sync()

    def button(self, number, down):
        """Press or release a button."""
        kind = X.ButtonPress if down else X.ButtonRelease
        xtest.fake_input(self._display, kind, number)
        self._display.sync()

    def click(self, number, count=1):
        """Click a button several times, fast enough for a double click."""
        for _ in range(count):
            self.button(number, True)
            try:
                time.sleep(_PRESS_S)
            finally:
                self.button(number, False)

    def drag(self, path):
        """Press the left button at the first point of a path and release it at the last."""
        self.move(*path[0])
        time.sleep(_PRESS_S)
        self.button(1, True)
        try:
            time.sleep(_PRESS_S)
            for start, end in zip(path, path[1:]):
                self._glide(start, end)
            time.sleep(4 * _PRESS_S)
        finally:
            self.button(1, False)

    def _glide(self, start, end):
        for step in range(1, _STEPS + 1):
            part = step / _STEPS
            x, y = (one + (other - one) * part for one, other in zip(start, end))
            self.move(round(x), round(y))
            time.sleep(_STEP_S)

    def scroll(self, direction, clicks):
        """Turn the wheel."""
        self.click(WHEEL[direction], clicks)

    def down(self):
        """Return the buttons that are down."""
        mask = self._root.query_pointer().mask
        return [number for number in (1, 2, 3) if mask & (X.Button1Mask << (number - 1))]

    def release(self, but=()):
        """Release every button that is down, except these."""
        for number in self.down():
            if number not in but:
                self.button(number, False)
