"""Actions with the mouse and the keyboard.

Keys and buttons that an action presses are up again at its end, also if it fails. Only those that
`key_down` and `mouse_down` press stay down, until their counterparts or the end.
"""

import contextlib
import time

from keyboard import UnknownKeyError
from pointer import BUTTONS


class RefusedError(Exception):
    """An action cannot be done; the message says why."""


class Actions:
    """Executes actions.

    Args:
        keyboard: The keyboard.
        pointer: The pointer.
    """

    def __init__(self, keyboard, pointer):
        self._keyboard, self._pointer = keyboard, pointer
        self._keys, self._buttons = {}, set()

    @property
    def held(self):
        """Names of the keys and buttons that stay down."""
        names = {number: f"{name} button" for name, number in BUTTONS.items()}
        return [*self._keys.values(), *(names[number] for number in sorted(self._buttons))]

    def do(self, verb, given):
        """Execute one action.

        Raises:
            RefusedError: It cannot be done.
        """
        try:
            getattr(self, f"_{verb}")(**given)
        except UnknownKeyError as error:
            raise RefusedError(str(error)) from None
        finally:
            self._keyboard.release(but=self._keys)
            self._pointer.release(but=self._buttons)

    def _move(self, x, y):
        self._go(x, y)

    def _go(self, x, y):
        """Move the pointer.

        Raises:
            RefusedError: It does not move.
        """
        self._pointer.move(x, y)
        if self._pointer.place() != (x, y):
            raise RefusedError("the pointer does not move; an application holds it")

    def _click(self, x=None, y=None, button="left", count=1, keys=()):
        with self._at(x, y, keys):
            self._pointer.click(BUTTONS[button], count)

    def _scroll(self, direction, clicks, x=None, y=None, keys=()):
        with self._at(x, y, keys):
            self._pointer.scroll(direction, clicks)

    def _drag(self, path, keys=()):
        if len(path) == 1:
            path = [self._pointer.place(), *path]
        with self._keyboard.held(keys):
            self._pointer.drag(path)

    @contextlib.contextmanager
    def _at(self, x, y, keys):
        if x is not None:
            self._go(x, y)
        with self._keyboard.held(keys):
            yield

    def _type(self, text):
        self._keyboard.type(text)

    def _press(self, chords):
        self._keyboard.press_chords(chords)

    def _hold(self, keys, seconds):
        with self._keyboard.held(keys):
            self._keyboard._display.sync()
            time.sleep(seconds)

    def _key_down(self, key):
        code, _ = self._keyboard.code_of(key)
        self._keys[code] = key
        self._keyboard.press(code, True)

    def _key_up(self, key):
        code, _ = self._keyboard.code_of(key)
        self._keys.pop(code, None)
        self._keyboard.press(code, False)

    def _mouse_down(self, x=None, y=None, button="left"):
        if x is not None:
            self._go(x, y)
        self._buttons.add(BUTTONS[button])
        self._pointer.button(BUTTONS[button], True)

    def _mouse_up(self, x=None, y=None, button="left"):
        if x is not None:
            self._go(x, y)
        self._buttons.discard(BUTTONS[button])
        self._pointer.button(BUTTONS[button], False)

    def _wait(self, seconds):
        time.sleep(seconds)
