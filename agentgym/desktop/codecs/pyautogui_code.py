"""Actions as code for pyautogui: ``pyautogui.click(3, 4)``, several calls a text.

OSWorld's agents write such code; WAIT, DONE and FAIL alone are its special actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agentgym.desktop.codecs.code_reader import Called, read_calls
from agentgym.desktop.codecs.verbs import actions_of, calls_of, number, parameters_of
from agentgym.errors import ActionError
from agentgym.records import Action

_MODULES: Final = {"pyautogui": "pyautogui", "time": "time"}
_SPECIAL: Final = {"WAIT": "sleep", "DONE": "DONE", "FAIL": "FAIL"}
_RELATIVE: Final = {"moveRel": "moveTo", "move": "moveTo", "dragRel": "dragTo", "drag": "dragTo"}
_MOST_ACTIONS: Final = 100


def decode(code: str, pointer: tuple[float, float] | None = None) -> list[Action]:
    """Return the actions of a text of code.

    Args:
        code: The code, also within a Markdown code block. It is parsed, never executed.
        pointer: Where the pointer is, for relative moves.

    Raises:
        ActionError: The code does something else than calls that pyautogui knows.

    Example:
        >>> decode("import pyautogui; pyautogui.hotkey('ctrl', 's')")
        [Action(tool='press', arguments={'keys': 'Control+s'})]
    """
    if not isinstance(code, str):
        raise ActionError(f"expected code as a text, got {type(code).__name__}")
    special = _SPECIAL.get(code.strip().strip("`").strip())
    if special is not None:
        return actions_of(special, {})
    actions = list[Action]()
    for called in read_calls(code, _MODULES):
        for name, given in _resolved(called, pointer):
            actions += actions_of(name, given)
            if len(actions) > _MOST_ACTIONS:
                raise ActionError(f"more than {_MOST_ACTIONS} actions are too many for one step")
        pointer = _moved(actions, pointer)
    if not actions:
        raise ActionError("expected a call such as pyautogui.click(3, 4), got none")
    return actions


def _resolved(
    called: Called, pointer: tuple[float, float] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls of functions that a call means, all arguments by name."""
    module, _, name = called.name.partition(".")
    if module == "time" and name != "sleep":
        raise ActionError(f"{called.name[:60]} cannot be done here; there is: time.sleep")
    if name == "hold" and called.block:
        keys = called.positional[0] if called.positional else called.named.get("keys", ())
        names = _flat(keys)
        down = called.block == "enter"
        for one in names if down else reversed(names):
            yield "keyDown" if down else "keyUp", {"key": one}
        return
    if called.block:
        raise ActionError(f"with {called.name[:60]} cannot be done here; there is: pyautogui.hold")
    if name in _RELATIVE:
        yield _RELATIVE[name], _absolute(name, called, pointer)
        return
    if name == "hotkey":
        listed = [one for key in called.positional for one in _flat(key)]
        yield name, {"args": listed, **called.named}
        return
    yield name, _by_name(name, called)


def _flat(key: Any) -> list[Any]:
    return list(key) if isinstance(key, list | tuple) else [key]


def _by_name(name: str, called: Called) -> dict[str, Any]:
    names = parameters_of(name)
    if len(called.positional) > len(names) and names:
        raise ActionError(f"{name}: expected at most {len(names)} arguments")
    given = dict(zip(names, called.positional, strict=False))
    twice = set(given) & set(called.named)
    if twice:
        raise ActionError(f"{name}: the argument {min(twice)} is given twice")
    return given | dict(called.named)


def _absolute(name: str, called: Called, pointer: tuple[float, float] | None) -> dict[str, Any]:
    """Return the arguments of a relative move as those of an absolute one."""
    if pointer is None:
        raise ActionError(f"{name} is relative, and where the pointer is is unknown; use moveTo")
    names = ("xOffset", "yOffset", "duration", "tween", "button")
    given = dict(zip(names, called.positional, strict=False)) | dict(called.named)
    strange = [argument for argument in given if argument not in names]
    if strange or len(called.positional) > len(names):
        raise ActionError(f"{name}: expected the arguments {', '.join(names)}")
    offsets = [number(given.get(axis) or 0, axis) for axis in names[:2]]
    button = (
        {"button": given["button"]} if name in ("dragRel", "drag") and "button" in given else {}
    )
    return {"x": pointer[0] + offsets[0], "y": pointer[1] + offsets[1], **button}


def _moved(
    actions: list[Action], pointer: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return where the pointer is after actions."""
    for action in reversed(actions):
        given: Mapping[str, Any] = action.arguments
        for across, down in (("x", "y"), ("to_x", "to_y")):
            if across in given:
                return float(given[across]), float(given[down])
    return pointer


def encode(action: Action) -> str:
    """Return code that has the effect of an action, a call a line.

    Raises:
        ActionError: The action names an element, or pyautogui has no function like it.
    """
    return "\n".join(_line(name, given) for name, given in calls_of(action))


def _line(name: str, given: Mapping[str, Any]) -> str:
    if name in _SPECIAL.values() and name != "sleep":
        return name
    if name == "sleep":
        return f"time.sleep({given['seconds']!r})"
    if name == "hotkey":
        return f"pyautogui.hotkey({', '.join(map(repr, given['args']))})"
    return f"pyautogui.{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
