"""Calls of pyautogui's functions as actions of a desktop, and back.

The functions are those of pyautogui 0.9.54. A click of the wheel is an amount of one; a positive
number of clicks scrolls up or to the right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from agentgym.errors import ActionError
from agentgym.gui.keys import chord
from agentgym.gui.refusal import Refusal
from agentgym.records import Action, Json

Call: TypeAlias = tuple[str, dict[str, Any]]
"""Name of a function and its arguments."""

INFEASIBLE: Final = "The agent reports that the task is infeasible."
"""Reason of a `give_up` in forms that have no reason."""

_MOST_TEXT: Final = 5_000
_MOST_KEYS: Final = 200
_MOST_CLICKS: Final = 3
_MOST_WHEEL: Final = 100
_MOST_SECONDS: Final = 10.0
_MOST_REPEATS: Final = 100
_SHOWN: Final = 10**60
_BUTTONS: Final = {"left": "left", "primary": "left", "right": "right", "secondary": "right"} | {
    "middle": "middle"
}
_MODIFIERS: Final = ("Control", "Alt", "Shift", "Meta")
_KEYS: Final = {" ": "Space", "\n": "Enter", "\r": "Enter", "\t": "Tab"}
_NAMES: Final = {
    **{
        f"{key}{side}": key for key in ("ctrl", "alt", "shift", "win") for side in ("left", "right")
    },
    **{"pgup": "pageup", "pgdn": "pagedown", "apps": "menu", "prtsc": "printscreen"},
    **{"prtscr": "printscreen", "prntscrn": "printscreen", "print": "printscreen"},
    **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "decimal": "."},
    **{f"num{digit}": str(digit) for digit in range(10)},
}
_CALLED: Final = {
    **{"Control": "ctrl", "Alt": "alt", "Shift": "shift", "Meta": "win", "Escape": "esc"},
    **{"ArrowUp": "up", "ArrowDown": "down", "ArrowLeft": "left", "ArrowRight": "right"},
    **{"ContextMenu": "apps"},
}


# --- calls as actions ---


def actions_of(name: str, given: Mapping[str, Any]) -> list[Action]:
    """Return the actions of a call.

    Args:
        name: A function of pyautogui, or ``DONE``, ``FAIL``.
        given: Its arguments by name.

    Raises:
        ActionError: There is no such function, or an argument is missing, unknown or wrong.
    """
    if name not in _MEANINGS:
        raise ActionError(f"{name} cannot be done here; there is: {', '.join(_MEANINGS)}")
    known, meaning = _MEANINGS[name]
    strange = [argument for argument in given if argument not in known]
    if strange:
        raise ActionError(f"{name}: unknown argument {strange[0]!r}; it takes {', '.join(known)}")
    return meaning({argument: value for argument, value in given.items() if value is not None})


def parameters_of(name: str) -> tuple[str, ...]:
    """Return the parameters of a function in their order; empty if it is unknown."""
    return _MEANINGS[name][0] if name in _MEANINGS else ()


def shown(value: object) -> str:
    """Return a value for a message; of lists and numbers that may be huge, the type only."""
    plain = isinstance(value, str | float | bool | None)
    plain = plain or (type(value) is int and abs(value) < _SHOWN)
    return f"{str(value)[:60]!r}" if plain else f"a {type(value).__name__}"


def number(value: object, what: str) -> float:
    """Return a finite number.

    Raises:
        ActionError: It is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ActionError(f"{what}: expected a number, got {shown(value)}")
    if not (isinstance(value, int) or math.isfinite(value)) or abs(value) > 1e9:
        raise ActionError(f"{what}: expected a number of at most a thousand million")
    return value


def key(name: object) -> str:
    """Return a key in this project's spelling.

    Raises:
        ActionError: There is no such key.
    """
    if not isinstance(name, str) or not name:
        raise ActionError(f"expected the name of a key, got {shown(name)}")
    plain = _KEYS.get(name) or _NAMES.get(name.lower(), name)
    try:
        return chord(plain if len(plain) == 1 else plain.replace("+", " "))
    except Refusal as unknown:
        raise ActionError(str(unknown)) from None


def _point(given: Mapping[str, Any]) -> dict[str, Json]:
    """Return the point of a call; empty if it names none."""
    x, y = given.get("x"), given.get("y")
    if y is None and isinstance(x, list | tuple) and len(x) == 2:
        x, y = x
    if x is None and y is None:
        return {}
    if x is None or y is None:
        raise ActionError("a point needs both x and y")
    return {"x": number(x, "x"), "y": number(y, "y")}


def _button(given: Mapping[str, Any]) -> dict[str, Json]:
    named = given.get("button", "left")
    if not isinstance(named, str) or named.lower() not in _BUTTONS:
        raise ActionError(f"there is no button {shown(named)}; expected left, middle or right")
    button = _BUTTONS[named.lower()]
    return {} if button == "left" else {"button": button}


def _count(value: object, what: str) -> int:
    count = int(number(value, what))
    if not 1 <= count <= _MOST_REPEATS:
        raise ActionError(f"{what}: expected 1 to {_MOST_REPEATS}, got {count}")
    return count


def _click(given: Mapping[str, Any], **fixed: Any) -> list[Action]:
    given = {**given, **fixed}
    left, clicks = _count(given.get("clicks", 1), "clicks"), list[Action]()
    while left:
        count = min(left, _MOST_CLICKS)
        several = {"count": count} if count > 1 else {}
        clicks.append(Action("click", {**_point(given), **_button(given), **several}))
        left -= count
    return clicks


def _move(given: Mapping[str, Any]) -> list[Action]:
    point = _point(given)
    if not point:
        raise ActionError("moveTo needs x and y")
    return [Action("hover", point)]


def _drag(given: Mapping[str, Any]) -> list[Action]:
    point, button = _point(given), _button(given)
    if not point:
        raise ActionError("dragTo needs x and y")
    if not button:
        return [Action("drag", {"to_x": point["x"], "to_y": point["y"]})]
    return [Action("mouse_down", button), Action("hover", point), Action("mouse_up", button)]


def _wheel(given: Mapping[str, Any], ways: tuple[str, str]) -> list[Action]:
    clicks = number(given.get("clicks", 0), "clicks")
    if not clicks:
        return []
    amount = min(abs(clicks), _MOST_WHEEL)
    turned: dict[str, Json] = {"direction": ways[clicks < 0], "amount": amount}
    return [Action("scroll", {**_point(given), **turned})]


def _write(given: Mapping[str, Any]) -> list[Action]:
    text = given.get("message", "")
    if isinstance(text, list | tuple):
        return _pressed([key(name) for name in text])
    if not isinstance(text, str):
        raise ActionError(f"expected a text to type, got {type(text).__name__}")
    pieces = [text[at : at + _MOST_TEXT] for at in range(0, len(text), _MOST_TEXT)]
    return [Action("type", {"text": piece, "clear": False}) for piece in pieces]


def _press(given: Mapping[str, Any]) -> list[Action]:
    named = given.get("keys")
    names = list(named) if isinstance(named, list | tuple) else [named]
    keys = [key(name) for name in names]
    return _pressed(keys * _count(given.get("presses", 1), "presses"))


def _pressed(chords: Sequence[str]) -> list[Action]:
    """Return the presses of keys, as many in one action as its text may hold."""
    if len(chords) > _MOST_REPEATS:
        raise ActionError(f"{len(chords)} keys are too many; {_MOST_REPEATS} are allowed")
    groups: list[str] = []
    for one in chords:
        if groups and len(groups[-1]) + len(one) < _MOST_KEYS:
            groups[-1] += f" {one}"
        else:
            groups.append(one)
    return [Action("press", {"keys": group}) for group in groups]


def _hotkey(given: Mapping[str, Any]) -> list[Action]:
    named = given.get("args", ())
    if not isinstance(named, list | tuple) or not named or len(named) > 8:
        raise ActionError("hotkey needs one to eight keys")
    *held, last = keys = [key(name) for name in named]
    if all(one in _MODIFIERS for one in held):
        # A capital letter is its key with Shift.
        if held and len(last) == 1 and last.isupper():
            held, last = [*held, *(["Shift"] if "Shift" not in held else [])], last.lower()
        return [Action("press", {"keys": "+".join([*held, last])})]
    down = [Action("key_down", {"key": one}) for one in keys]
    return [*down, *(Action("key_up", {"key": one}) for one in reversed(keys))]


def _sleep(given: Mapping[str, Any]) -> list[Action]:
    seconds = number(given.get("seconds", 1), "seconds")
    if seconds < 0:
        raise ActionError("seconds: expected no negative number")
    return [Action("wait", {"seconds": min(_MOST_SECONDS, seconds)})]


def _fail(given: Mapping[str, Any]) -> list[Action]:
    reason = str(given.get("reason", "")).strip()
    return [Action("give_up", {"reason": reason or INFEASIBLE})]


_Meaning: TypeAlias = Callable[[Mapping[str, Any]], list[Action]]
_CLICK: Final = ("x", "y", "clicks", "interval", "button", "duration", "tween", "logScreenshot")
_AT: Final = ("x", "y", "interval", "button", "duration")
_MEANINGS: Final[Mapping[str, tuple[tuple[str, ...], _Meaning]]] = {
    "moveTo": (("x", "y", "duration", "tween"), _move),
    "click": (_CLICK, _click),
    "leftClick": (_AT, lambda g: _click(g, button="left")),
    "rightClick": (_AT, lambda g: _click(g, button="right")),
    "middleClick": (_AT, lambda g: _click(g, button="middle")),
    "doubleClick": (_AT, lambda g: _click(g, clicks=2)),
    "tripleClick": (_AT, lambda g: _click(g, clicks=3)),
    "mouseDown": (
        ("x", "y", "button", "duration"),
        lambda g: [Action("mouse_down", {**_point(g), **_button(g)})],
    ),
    "mouseUp": (
        ("x", "y", "button", "duration"),
        lambda g: [Action("mouse_up", {**_point(g), **_button(g)})],
    ),
    "dragTo": (("x", "y", "duration", "tween", "button", "mouseDownUp"), _drag),
    "scroll": (("clicks", "x", "y"), lambda g: _wheel(g, ("up", "down"))),
    "vscroll": (("clicks", "x", "y"), lambda g: _wheel(g, ("up", "down"))),
    "hscroll": (("clicks", "x", "y"), lambda g: _wheel(g, ("right", "left"))),
    "write": (("message", "interval"), _write),
    "typewrite": (("message", "interval"), _write),
    "press": (("keys", "presses", "interval"), _press),
    "keyDown": (("key",), lambda g: [Action("key_down", {"key": key(g.get("key"))})]),
    "keyUp": (("key",), lambda g: [Action("key_up", {"key": key(g.get("key"))})]),
    "hotkey": (("args", "interval"), _hotkey),
    "sleep": (("seconds",), _sleep),
    "screenshot": ((), lambda g: [Action("screenshot", {})]),
    "DONE": ((), lambda g: [Action("submit", {})]),
    "FAIL": (("reason",), _fail),
}


# --- actions as calls ---


def calls_of(action: Action) -> list[Call]:
    """Return the calls that have the effect of an action.

    Raises:
        ActionError: The action names an element, or pyautogui has no function like it.
    """
    given: dict[str, Any] = dict(action.arguments)
    if any(name in given for name in ("ref", "from_ref", "to_ref")):
        raise ActionError(f"pyautogui knows no elements, but {action.tool} names one: {given}")
    encode = _FORMS.get(action.tool)
    if encode is None:
        raise ActionError(f"pyautogui has no function like {action.tool}")
    held = [called(name) for name in given.get("modifiers", ())]
    down: list[Call] = [("keyDown", {"key": name}) for name in held]
    up: list[Call] = [("keyUp", {"key": name}) for name in reversed(held)]
    return [*down, *encode(given), *up]


def called(name: str) -> str:
    """Return the name that pyautogui has for a key.

    Raises:
        ActionError: There is no such key.
    """
    named = key(name)
    return _CALLED.get(named, named if len(named) == 1 else named.lower())


def _at(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: given[name] for name in ("x", "y", "button") if name in given}


def _clicks(given: Mapping[str, Any]) -> Iterator[Call]:
    count = given.get("count", 1)
    yield "click", {**_at(given), **({"clicks": count} if count > 1 else {})}


def _drags(given: Mapping[str, Any]) -> Iterator[Call]:
    path = [{"x": x, "y": y} for x, y in given.get("path", ())]
    if path:
        yield "moveTo", path[0]
        yield "mouseDown", {}
        for point in path[1:]:
            yield "moveTo", point
        yield "mouseUp", {}
        return
    if "from_x" in given:
        yield "moveTo", {"x": given["from_x"], "y": given["from_y"]}
    yield "dragTo", {"x": given["to_x"], "y": given["to_y"]}


def _scrolls(given: Mapping[str, Any]) -> Iterator[Call]:
    clicks = max(1, round(given.get("amount", 3)))
    name = "scroll" if given["direction"] in ("up", "down") else "hscroll"
    sign = 1 if given["direction"] in ("up", "right") else -1
    yield name, {"clicks": sign * clicks, **_at(given)}


def _types(given: Mapping[str, Any]) -> Iterator[Call]:
    yield "write", {"message": given["text"]}
    if given.get("submit"):
        yield "press", {"keys": "enter"}


def _presses(given: Mapping[str, Any]) -> Iterator[Call]:
    for part in str(given["keys"]).split():
        try:
            named = chord(part)
        except Refusal as unknown:
            raise ActionError(str(unknown)) from None
        names = [*named[:-1].split("+")[:-1], "+"] if named.endswith("+") else named.split("+")
        # With a modifier, Shift is pressed only where it is named.
        keys = [called(one.lower() if len(one) == 1 and len(names) > 1 else one) for one in names]
        yield ("press", {"keys": keys[0]}) if len(keys) == 1 else ("hotkey", {"args": keys})


def _holds(given: Mapping[str, Any]) -> Iterator[Call]:
    ((_, pressed),) = _presses(given)
    keys = pressed["args"] if "args" in pressed else [pressed["keys"]]
    yield from (("keyDown", {"key": name}) for name in keys)
    yield "sleep", {"seconds": given["seconds"]}
    yield from (("keyUp", {"key": name}) for name in reversed(keys))


def _submits(given: Mapping[str, Any]) -> Iterator[Call]:
    if given.get("answer"):
        raise ActionError("DONE has no answer")
    yield "DONE", {}


_FORMS: Final[Mapping[str, Callable[[Mapping[str, Any]], Iterator[Call]]]] = {
    "click": _clicks,
    "hover": lambda g: iter([("moveTo", _at(g))]),
    "drag": _drags,
    "scroll": _scrolls,
    "type": _types,
    "press": _presses,
    "hold": _holds,
    "key_down": lambda g: iter([("keyDown", {"key": called(g["key"])})]),
    "key_up": lambda g: iter([("keyUp", {"key": called(g["key"])})]),
    "mouse_down": lambda g: iter([("mouseDown", _at(g))]),
    "mouse_up": lambda g: iter([("mouseUp", _at(g))]),
    "wait": lambda g: iter([("sleep", {"seconds": g.get("seconds", 1)})]),
    "screenshot": lambda g: iter([("screenshot", {})]),
    "submit": _submits,
    "give_up": lambda g: iter([("FAIL", {"reason": g["reason"]})]),
}
