"""Runs in the guest: what the set-up and post-actions of OSWorld's tasks use of pyautogui.

Keys and the mouse go to the display through the XTest extension. It knows the calls that the tasks
make, by their public names, and no others.
"""

import time
from collections.abc import Iterable

from Xlib import XK, X
from Xlib import display as displays
from Xlib.ext import xtest

Keys = str | list[str]
PAUSE = 0.05
FAILSAFE = False
_NAMES = {
    "alt": "Alt_L",
    "backspace": "BackSpace",
    "command": "Super_L",
    "ctrl": "Control_L",
    "del": "Delete",
    "delete": "Delete",
    "down": "Down",
    "end": "End",
    "enter": "Return",
    "esc": "Escape",
    "escape": "Escape",
    "home": "Home",
    "left": "Left",
    "pagedown": "Next",
    "pageup": "Prior",
    "return": "Return",
    "right": "Right",
    "shift": "Shift_L",
    "space": "space",
    "tab": "Tab",
    "up": "Up",
    "win": "Super_L",
}
_BUTTONS = {"left": 1, "middle": 2, "right": 3}
_CHARACTERS = {"\n": "Return", "\t": "Tab"}
_display = displays.Display()
_root = _display.screen().root


def _code(name: str) -> tuple[int, bool]:
    """Return the key code of a key, and whether Shift belongs to it."""
    symbol = _NAMES.get(name.lower()) or _CHARACTERS.get(name)
    if symbol is None and name[:1].lower() == "f" and name[1:].isdigit():
        symbol = name.upper()
    keysym = XK.string_to_keysym(symbol) if symbol else ord(name)
    for code, shifted in _display.keysym_to_keycodes(keysym):
        if shifted in (0, 1):
            return code, bool(shifted)
    raise ValueError(f"the keyboard has no key {name!r}")


def _send(kind: int, detail: int) -> None:
    xtest.fake_input(_display, kind, detail)
    _display.sync()


def _flat(names: Iterable[Keys]) -> list[str]:
    return [one for name in names for one in (name if isinstance(name, (list, tuple)) else [name])]


def keyDown(key: str) -> None:
    """Press a key."""
    _send(X.KeyPress, _code(key)[0])


def keyUp(key: str) -> None:
    """Release a key."""
    _send(X.KeyRelease, _code(key)[0])


def hotkey(*names: Keys, interval: float = 0.0) -> None:
    """Press keys one after the other and release them in reverse."""
    pressed = []
    try:
        for name in _flat(names):
            keyDown(name)
            pressed.append(name)
            time.sleep(interval)
    finally:
        for name in reversed(pressed):
            keyUp(name)
    time.sleep(PAUSE)


def press(keys: Keys, presses: int = 1, interval: float = 0.0) -> None:
    """Press and release keys, several times."""
    for _ in range(presses):
        for name in _flat([keys]):
            _strike(name)
            time.sleep(interval)
    time.sleep(PAUSE)


def _strike(name: str) -> None:
    code, shifted = _code(name)
    shift = _code("shift")[0]
    if shifted:
        _send(X.KeyPress, shift)
    try:
        _send(X.KeyPress, code)
        _send(X.KeyRelease, code)
    finally:
        if shifted:
            _send(X.KeyRelease, shift)


def write(message: str, interval: float = 0.0) -> None:
    """Type a text, character by character."""
    for character in message:
        _strike(character)
        time.sleep(interval)
    time.sleep(PAUSE)


typewrite = write


def size() -> tuple[int, int]:
    """Return width and height of the screen."""
    screen = _display.screen()
    return int(screen.width_in_pixels), int(screen.height_in_pixels)


def position() -> tuple[int, int]:
    """Return where the pointer is."""
    seen = _root.query_pointer()
    return int(seen.root_x), int(seen.root_y)


def moveTo(x: float, y: float, duration: float = 0.0) -> None:
    """Move the pointer."""
    xtest.fake_input(_display, X.MotionNotify, x=int(x), y=int(y))
    _display.sync()
    time.sleep(PAUSE)


def mouseDown(x: float | None = None, y: float | None = None, button: str = "left") -> None:
    """Press a mouse button."""
    if x is not None and y is not None:
        moveTo(x, y)
    _send(X.ButtonPress, _BUTTONS[button])


def mouseUp(x: float | None = None, y: float | None = None, button: str = "left") -> None:
    """Release a mouse button."""
    if x is not None and y is not None:
        moveTo(x, y)
    _send(X.ButtonRelease, _BUTTONS[button])


def click(
    x: float | None = None,
    y: float | None = None,
    clicks: int = 1,
    interval: float = 0.0,
    button: str = "left",
) -> None:
    """Click, several times."""
    if x is not None and y is not None:
        moveTo(x, y)
    for _ in range(clicks):
        mouseDown(button=button)
        mouseUp(button=button)
        time.sleep(interval)
    time.sleep(PAUSE)


def doubleClick(x: float | None = None, y: float | None = None, button: str = "left") -> None:
    """Click twice."""
    click(x, y, 2, 0.02, button)


def rightClick(x: float | None = None, y: float | None = None) -> None:
    """Click with the right button."""
    click(x, y, button="right")


def scroll(clicks: int, x: float | None = None, y: float | None = None) -> None:
    """Turn the wheel: up for a positive number, down for a negative one."""
    if x is not None and y is not None:
        moveTo(x, y)
    for _ in range(abs(int(clicks))):
        _send(X.ButtonPress, 4 if clicks > 0 else 5)
        _send(X.ButtonRelease, 4 if clicks > 0 else 5)
    time.sleep(PAUSE)
