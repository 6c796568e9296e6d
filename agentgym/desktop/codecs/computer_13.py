"""Actions as OSWorld's action space computer_13 writes them: dictionaries of thirteen types.

The types are those of OSWorld (desktop_env/actions.py), with WAIT, DONE and FAIL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentgym.desktop.codecs.verbs import Call, actions_of, calls_of
from agentgym.errors import ActionError
from agentgym.records import Action, Json

_RENAMED: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "MOVE_TO": ("moveTo", {"x": "x", "y": "y"}),
    "CLICK": ("click", {"button": "button", "x": "x", "y": "y", "num_clicks": "clicks"}),
    "MOUSE_DOWN": ("mouseDown", {"button": "button"}),
    "MOUSE_UP": ("mouseUp", {"button": "button"}),
    "RIGHT_CLICK": ("rightClick", {"x": "x", "y": "y"}),
    "DOUBLE_CLICK": ("doubleClick", {"x": "x", "y": "y"}),
    "DRAG_TO": ("dragTo", {"x": "x", "y": "y"}),
    "TYPING": ("write", {"text": "message"}),
    "PRESS": ("press", {"key": "keys"}),
    "KEY_DOWN": ("keyDown", {"key": "key"}),
    "KEY_UP": ("keyUp", {"key": "key"}),
    "HOTKEY": ("hotkey", {"keys": "args"}),
    "WAIT": ("sleep", {}),
    "DONE": ("DONE", {}),
    "FAIL": ("FAIL", {}),
}
_SCROLL: Final = "SCROLL"
_WHEEL: Final = {"dx": "hscroll", "dy": "scroll"}
_NEEDED: Final = {
    **{"MOVE_TO": ("x", "y"), "DRAG_TO": ("x", "y"), "TYPING": ("text",), "PRESS": ("key",)},
    **{"KEY_DOWN": ("key",), "KEY_UP": ("key",), "HOTKEY": ("keys",)},
}
_TYPES: Final = {name: (kind, names) for kind, (name, names) in _RENAMED.items()}


def decode(given: Mapping[str, Any] | str) -> list[Action]:
    """Return the actions of one action of computer_13.

    Args:
        given: ``{"action_type": "CLICK", "parameters": {"x": 3, "y": 4}}``, the same with the
            parameters beside the type, or only a type.

    Raises:
        ActionError: The type or a parameter is unknown, missing or wrong.

    Example:
        >>> decode({"action_type": "HOTKEY", "parameters": {"keys": ["ctrl", "s"]}})
        [Action(tool='press', arguments={'keys': 'Control+s'})]
    """
    kind, values = _parts(given)
    if kind == _SCROLL:
        strange = [name for name in values if name not in _WHEEL]
        if strange or not values:
            raise ActionError(f"SCROLL takes dx and dy, got {', '.join(strange) or 'neither'}")
        turned = [actions_of(_WHEEL[name], {"clicks": value}) for name, value in values.items()]
        return _some(kind, [action for actions in turned for action in actions])
    if kind not in _RENAMED:
        known = ", ".join((*_RENAMED, _SCROLL))
        raise ActionError(f"unknown action_type {kind[:60]!r}; there is: {known}")
    name, names = _RENAMED[kind]
    strange = [parameter for parameter in values if parameter not in names]
    if strange:
        takes = ", ".join(names) or "no parameters"
        raise ActionError(f"{kind}: unknown parameter {str(strange[0])[:60]!r}; it takes {takes}")
    missing = [parameter for parameter in _NEEDED.get(kind, ()) if values.get(parameter) is None]
    if missing:
        raise ActionError(f"{kind}: the parameter {missing[0]} is missing")
    named = {names[parameter]: value for parameter, value in values.items()}
    return _some(kind, actions_of(name, named))


def _some(kind: str, actions: list[Action]) -> list[Action]:
    if not actions:
        raise ActionError(f"{kind}: the parameters ask for nothing")
    return actions


def _parts(given: object) -> tuple[str, dict[str, Any]]:
    """Return type and parameters."""
    if isinstance(given, str):
        return given, {}
    if not isinstance(given, Mapping) or not isinstance(given.get("action_type"), str):
        raise ActionError("expected an object with action_type, such as CLICK, and parameters")
    parameters = given.get("parameters")
    if parameters is None:
        parameters = {name: value for name, value in given.items() if name != "action_type"}
        parameters.pop("parameters", None)
    if not isinstance(parameters, Mapping):
        raise ActionError(f"{given['action_type'][:60]}: expected parameters as an object")
    return given["action_type"], {str(name): value for name, value in parameters.items()}


def encode(action: Action) -> list[dict[str, Json]]:
    """Return the actions of computer_13 that have the effect of an action.

    Raises:
        ActionError: The action names an element, or computer_13 has no action like it.
    """
    return [told for call in calls_of(action) for told in _told(call)]


def _told(call: Call) -> list[dict[str, Json]]:
    name, given = call
    point: dict[str, Json] = {axis: given[axis] for axis in ("x", "y") if axis in given}
    moved = [_object("MOVE_TO", point)] if point else []
    if name in ("scroll", "hscroll"):
        axis = "dy" if name == "scroll" else "dx"
        return [*moved, _object(_SCROLL, {axis: given["clicks"]})]
    if name in ("mouseDown", "mouseUp"):
        kind, names = _TYPES[name]
        held = {"button": given["button"]} if "button" in given else {}
        return [*moved, _object(kind, held)]
    if name == "sleep" and given["seconds"] != 1:
        raise ActionError("WAIT of computer_13 has no duration; it is one second")
    if name in ("FAIL", "sleep"):
        return [_object(_TYPES[name][0], {})]
    if name not in _TYPES:
        raise ActionError(f"computer_13 has no action like {name}")
    kind, names = _TYPES[name]
    back = {argument: parameter for parameter, argument in names.items()}
    return [_object(kind, {back[argument]: value for argument, value in given.items()})]


def _object(kind: str, parameters: Mapping[str, Json]) -> dict[str, Json]:
    return {"action_type": kind, "parameters": dict(parameters)}
