"""The keyboard: chords, held keys, and text of any script.

Characters that the layout lacks are put on key codes that nothing uses: frequent ones at the start,
others when they are typed. An application looks a key up when it handles the event, so the layout
changes only once the screen is quiet, and a code gets another character only after a pause.
"""

import time

from Xlib import XK, X
from Xlib.ext import xtest

for _group in ("latin1", "miscellany", "xf86"):
    XK.load_keysym_group(_group)

NAMES = {
    "control": "Control_L",
    "alt": "Alt_L",
    "shift": "Shift_L",
    "meta": "Super_L",
    "enter": "Return",
    "escape": "Escape",
    "backspace": "BackSpace",
    "tab": "Tab",
    "space": "space",
    "delete": "Delete",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "pageup": "Prior",
    "pagedown": "Next",
    "arrowup": "Up",
    "arrowdown": "Down",
    "arrowleft": "Left",
    "arrowright": "Right",
    "capslock": "Caps_Lock",
    "printscreen": "Print",
    "contextmenu": "Menu",
}
_LETTERS = {"\n": "Return", "\r": "Return", "\t": "Tab"}
_MANAGER = (XK.XK_Alt_L, XK.XK_Alt_R, XK.XK_Super_L, XK.XK_Super_R)
_UNICODE = 0x0100_0000
_FIRST_CODE, _LAST_CODE = 8, 255
_FREQUENT = (
    *(
        "äÄ",
        "öÖ",
        "üÜ",
        "ßẞ",
        "éÉ",
        "èÈ",
        "àÀ",
        "çÇ",
        "ñÑ",
        "áÁ",
        "íÍ",
        "óÓ",
        "úÚ",
        "êÊ",
        "âÂ",
        "ôÔ",
    ),
    *("åÅ", "øØ", "æÆ", "€£", "–—", "„“", "”’", "°§", "«»", "ëË", "îÎ", "ãÃ", "łŁ", "šŠ"),
)
"""Characters of the layout's own keys, without and with Shift."""

_LEFT_FREE = 12
_REFRESH_S = 0.06
_DRAIN_S = 0.25


class UnknownKeyError(Exception):
    """No key has this name."""


class Keyboard:
    """The keyboard of a display.

    Args:
        display: A connection of python-xlib.
        calm: Waits until the applications have handled what was typed before.
    """

    def __init__(self, display, calm):
        self._display, self._calm = display, calm
        self._free, self._borrowed = [], {}
        self._places = {}
        self._read_layout()
        self._add_frequent()

    def _read_layout(self):
        rows = self._display.get_keyboard_mapping(_FIRST_CODE, _LAST_CODE - _FIRST_CODE + 1)
        for code, row in enumerate(rows, _FIRST_CODE):
            if not any(row):
                self._free.append(code)
            for shifted, keysym in enumerate(row[:2]):
                if keysym:
                    self._places.setdefault(keysym, (code, bool(shifted)))
        # The modifiers must be those codes which the modifier map names.
        for modifier in self._display.get_modifier_mapping():
            for code in modifier:
                keysym = self._display.keycode_to_keysym(code, 0) if code else 0
                if keysym:
                    self._places[keysym] = (code, False)

    def _add_frequent(self):
        """Give frequent characters key codes of their own."""
        for pair in _FREQUENT[: max(0, len(self._free) - _LEFT_FREE)]:
            code, keysyms = self._free.pop(), [keysym_of(character) for character in pair]
            self._display.change_keyboard_mapping(code, [tuple(keysyms)])
            for shifted, keysym in enumerate(keysyms):
                self._places.setdefault(keysym, (code, bool(shifted)))
        self._display.sync()

    def press(self, code, down):
        """Press or release one key code."""
        xtest.fake_input(self._display, X.KeyPress if down else X.KeyRelease, code)

    def code_of(self, name):
        """Return the key code of a key's name, and whether Shift belongs to it.

        Raises:
            UnknownKeyError: No key has this name.
        """
        symbol = NAMES.get(name.lower())
        if symbol is None and len(name) == 1:
            return self._code_of_character(name)
        keysym = XK.string_to_keysym(symbol or name)
        if keysym not in self._places:
            raise UnknownKeyError(f"the keyboard has no key {name!r}")
        return self._places[keysym]

    def _code_of_character(self, character):
        keysym = _special(character)
        if keysym not in self._places:
            self._borrow([character])
        return self._places[keysym]

    def press_chords(self, chords):
        """Press chords: keys one after the other, released in reverse, whatever happens.

        Keys of the window manager stay down until the screen is quiet, and the next chord waits
        again: it begins to cycle through the windows when it handles Alt+Tab, and ends when it
        then sees Alt released.
        """
        manager = {self._places[keysym][0] for keysym in _MANAGER if keysym in self._places}
        is_busy = False
        for *modifiers, key in chords:
            around, pressed = self.held(modifiers), self.held([key])
            if is_busy:
                self._calm()
            is_busy = not manager.isdisjoint(around.codes)
            with around:
                with pressed:
                    pass
                if is_busy:
                    self._calm()

    def held(self, keys):
        """Return a context in which these keys are down."""
        return _Held(self, keys)

    def type(self, text):
        """Type a text, characters that the layout lacks included."""
        rest = text
        while rest:
            part = self._part(rest)
            self._borrow(part)
            for character in part:
                self._strike(*self._places[_special(character)])
            self._display.sync()
            rest = rest[len(part) :]

    def _part(self, text):
        """Return the beginning of a text for which there are key codes enough at one time."""
        lent = set()
        for end, character in enumerate(text):
            keysym = _special(character)
            if keysym not in self._places or keysym in self._borrowed:
                lent.add(keysym)
            if len(lent) > len(self._free):
                return text[:end]
        return text

    def _strike(self, code, shifted):
        shift = self._places[XK.XK_Shift_L][0]
        if shifted:
            self.press(shift, True)
        try:
            self.press(code, True)
            self.press(code, False)
        finally:
            if shifted:
                self.press(shift, False)

    def _borrow(self, characters):
        """Put the characters that have no key on free key codes.

        Where too few are left, those that other characters had are taken.
        """
        needed = list(dict.fromkeys(map(_special, characters)))
        missing = [keysym for keysym in needed if keysym not in self._places]
        if not missing:
            return
        self._display.sync()
        self._calm()
        if len(self._borrowed) + len(missing) > len(self._free):
            time.sleep(_DRAIN_S)
            for keysym in set(self._borrowed).difference(needed):
                del self._places[keysym], self._borrowed[keysym]
        codes = [code for code in self._free if code not in self._borrowed.values()]
        for keysym, code in zip(missing, codes):
            self._display.change_keyboard_mapping(code, [(keysym, keysym)])
            self._borrowed[keysym] = code
            self._places[keysym] = (code, False)
        self._display.sync()
        time.sleep(_REFRESH_S)

    def down(self):
        """Return the key codes that are down."""
        bits = self._display.query_keymap()
        return [code for code in range(256) if bits[code // 8] & (1 << code % 8)]

    def release(self, but=()):
        """Release every key that is down, except these codes."""
        for code in self.down():
            if code not in but:
                self.press(code, False)
        self._display.sync()


class _Held:
    """Keys that are down within a context.

    Attributes:
        codes: Their key codes.
    """

    def __init__(self, keyboard, keys):
        self._keyboard = keyboard
        places = [keyboard.code_of(key) for key in keys]
        if any(shifted for _, shifted in places):
            places.insert(0, keyboard.code_of("shift"))
        self.codes = list(dict.fromkeys(code for code, _ in places))

    def __enter__(self):
        for code in self.codes:
            self._keyboard.press(code, True)

    def __exit__(self, *_):
        for code in reversed(self.codes):
            self._keyboard.press(code, False)
        self._keyboard._display.sync()


def keysym_of(character):
    """Return the key symbol of a character (X protocol, appendix A)."""
    number = ord(character)
    return number if 0x20 <= number <= 0x7E or 0xA0 <= number <= 0xFF else _UNICODE + number


def _special(character):
    name = _LETTERS.get(character)
    return XK.string_to_keysym(name) if name else keysym_of(character)
