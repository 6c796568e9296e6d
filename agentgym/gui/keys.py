"""Names of keys: the many spellings that agents use, as the one that the browser knows."""

from __future__ import annotations

from typing import Final

from agentgym.gui.refusal import Refusal

_MODIFIERS: Final = {
    "ctrl": "Control",
    "control": "Control",
    "controlormeta": "Control",
    "alt": "Alt",
    "option": "Alt",
    "shift": "Shift",
    "meta": "Meta",
    "cmd": "Meta",
    "command": "Meta",
    "super": "Meta",
    "win": "Meta",
}
_KEYS: Final = {
    "return": "Enter",
    "enter": "Enter",
    "kp_enter": "Enter",
    "esc": "Escape",
    "escape": "Escape",
    "tab": "Tab",
    "space": "Space",
    "backspace": "Backspace",
    "del": "Delete",
    "delete": "Delete",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "page_up": "PageUp",
    "prior": "PageUp",
    "pagedown": "PageDown",
    "page_down": "PageDown",
    "next": "PageDown",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "arrowup": "ArrowUp",
    "arrowdown": "ArrowDown",
    "arrowleft": "ArrowLeft",
    "arrowright": "ArrowRight",
    "capslock": "CapsLock",
    "printscreen": "PrintScreen",
    "contextmenu": "ContextMenu",
    "menu": "ContextMenu",
    "plus": "+",
    "minus": "-",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}


def chord(text: str) -> str:
    """Return a key with its modifiers, such as ``Control+A``, in the browser's spelling.

    Raises:
        Refusal: A key is unknown.
    """
    if text == "+":
        return text
    *held, last = text.split("+") if not text.endswith("++") else [*text[:-2].split("+"), "+"]
    modifiers = []
    for name in held:
        if name.lower() not in _MODIFIERS:
            raise Refusal(f"{name!r} is no modifier; expected Control, Alt, Shift or Meta")
        modifiers.append(_MODIFIERS[name.lower()])
    key = _KEYS.get(last.lower()) or _MODIFIERS.get(last.lower())
    if key is None:
        if len(last) != 1:
            raise Refusal(
                f"{last!r} is no key; expected one such as Enter, Escape, ArrowDown, F5 or a"
            )
        key = last
    return "+".join([*modifiers, key])
