"""Actions as the computer-use tools of OpenAI and Anthropic write them: coordinates and keys.

OpenAI: the actions of ``computer_call`` in the Responses API. Anthropic: the tool ``computer`` of
version 2025-01-24, and ``zoom`` of version 2025-11-24.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from agentgym.errors import ActionError
from agentgym.gui.keys import chord
from agentgym.gui.refusal import Refusal
from agentgym.records import Action, Json

_WHEEL_PX: Final = 100.0
"""Pixels of one click of a scroll wheel."""


@dataclass(frozen=True, slots=True)
class ActionUnits:
    """The units in which a surface takes actions that others express in pixels.

    Attributes:
        scroll_px: Pixels that an amount of one scrolls.
        amount: The amount of a scroll that names none.
        paths: Whether a drag may have more than two points.
    """

    scroll_px: float
    amount: float
    paths: bool = False


PAGES: Final = ActionUnits(720.0, 0.8)
"""Of browsers: they scroll by heights of what is scrolled."""

WHEEL: Final = ActionUnits(_WHEEL_PX, 3, paths=True)
"""Of desktops: they scroll by clicks of the wheel."""
_CLICKS: Final[dict[str, dict[str, Json]]] = {
    "left_click": {},
    "right_click": {"button": "right"},
    "middle_click": {"button": "middle"},
    "double_click": {"count": 2},
    "triple_click": {"count": 3},
}


_WRONG: Final = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)
"""Errors that an action of the wrong form causes while it is read."""


def decode_openai(given: Mapping[str, Any], units: ActionUnits = PAGES) -> Action:
    """Return an action of OpenAI's computer-use tool.

    Args:
        given: The field ``action`` of a ``computer_call``.
        units: The units of the surface.

    Raises:
        ActionError: It is unknown, or lacks a field.
    """
    try:
        return _of_openai(given, units)
    except _WRONG as error:
        raise ActionError(f"computer action {_shown(given)}: {error!r:.300}") from None


def _shown(given: Mapping[str, Any]) -> str:
    """Return an action for a message; Python writes no number of more than 4,300 digits."""
    try:
        return f"{given!r:.300}"
    except (ValueError, RecursionError):
        return f"({type(given).__name__})"


def _of_openai(given: Mapping[str, Any], units: ActionUnits) -> Action:
    kind = given["type"]
    if kind in ("click", "double_click"):
        button = given.get("button") or "left"
        if button not in ("left", "right", "wheel", "middle"):
            raise ActionError(f"there is no button {button!r}")
        named = {} if button == "left" else {"button": button.replace("wheel", "middle")}
        count = {"count": 2} if kind == "double_click" else {}
        return Action("click", {"x": given["x"], "y": given["y"], **named, **count})
    if kind == "drag":
        points: list[Json] = [[point["x"], point["y"]] for point in given["path"]]
        if units.paths and len(points) > 2:
            return Action("drag", {"path": points})
        first, last = given["path"][0], given["path"][-1]
        ends = {"from_x": first["x"], "from_y": first["y"], "to_x": last["x"], "to_y": last["y"]}
        return Action("drag", ends)
    if kind == "keypress":
        if not isinstance(given["keys"], list):
            raise ActionError(f"expected a list of keys, got {given['keys']!r:.300}")
        return Action("press", {"keys": "+".join(given["keys"])})
    if kind == "move":
        return Action("hover", {"x": given["x"], "y": given["y"]})
    if kind == "scroll":
        dx, dy = given["scroll_x"], given["scroll_y"]
        return _scroll({"x": given["x"], "y": given["y"]}, dx, dy, units)
    if kind == "type":
        return Action("type", {"text": given["text"], "clear": False})
    if kind in ("wait", "screenshot"):
        return Action(kind, {})
    raise ActionError(f"unknown computer action {kind!r}")


def decode_anthropic(given: Mapping[str, Any], units: ActionUnits = PAGES) -> Action:
    """Return an action of Anthropic's tool ``computer``.

    Args:
        given: The input of the tool call.
        units: The units of the surface.

    Raises:
        ActionError: It is unknown, or lacks a field.
    """
    try:
        return _of_anthropic(given, units)
    except _WRONG as error:
        raise ActionError(f"computer action {_shown(given)}: {error!r:.300}") from None


def _of_anthropic(given: Mapping[str, Any], units: ActionUnits) -> Action:
    kind = given["action"]
    at: dict[str, Json] = {}
    if given.get("coordinate") is not None:
        at = dict(zip(("x", "y"), given["coordinate"], strict=True))
    if kind in _CLICKS:
        return Action("click", {**at, **_CLICKS[kind], **_modified(given)})
    if kind == "left_click_drag":
        (x1, y1), (x2, y2) = given["start_coordinate"], given["coordinate"]
        return Action("drag", {"from_x": x1, "from_y": y1, "to_x": x2, "to_y": y2})
    if kind == "key":
        return Action("press", {"keys": given["text"]})
    if kind == "type":
        return Action("type", {"text": given["text"], "clear": False})
    if kind == "mouse_move":
        return Action("hover", {"x": at["x"], "y": at["y"]})
    if kind == "scroll":
        way, by = given["scroll_direction"], float(given["scroll_amount"]) * _WHEEL_PX
        dx, dy = {"up": (0.0, -by), "down": (0.0, by), "left": (-by, 0.0), "right": (by, 0.0)}[way]
        turned = _scroll(at, dx, dy, units)
        return replace(turned, arguments={**turned.arguments, **_modified(given)})
    if kind == "wait":
        return Action("wait", {"seconds": min(10, float(given["duration"]))})
    if kind == "hold_key":
        seconds = min(10, float(given["duration"]))
        return Action("hold", {"keys": given["text"], "seconds": seconds})
    if kind in ("left_mouse_down", "left_mouse_up"):
        return Action(kind.removeprefix("left_"), at)
    if kind == "zoom":
        left, top, right, bottom = given["region"]
        return Action("zoom", {"x": left, "y": top, "width": right - left, "height": bottom - top})
    if kind in ("screenshot", "cursor_position"):
        return Action("screenshot", {})
    raise ActionError(f"unknown computer action {kind!r}")


def _modified(given: Mapping[str, Any]) -> dict[str, Json]:
    """Return the modifiers that an action of Anthropic's tool holds, as arguments."""
    if not given.get("text"):
        return {}
    names = given["text"]
    try:
        held = [chord(name) for name in names.split("+")]
    except Refusal as unknown:
        raise ActionError(str(unknown)) from None
    if not set(held) <= {"Shift", "Control", "Alt", "Meta"}:
        raise ActionError(f"expected modifiers such as shift or ctrl+alt, got {names!r}")
    return {"modifiers": list(held)}


def _scroll(at: Mapping[str, Json], dx: float, dy: float, units: ActionUnits) -> Action:
    down = abs(dy) >= abs(dx)
    direction = ("up" if dy < 0 else "down") if down else ("left" if dx < 0 else "right")
    amount = (abs(dy) if down else abs(dx)) / units.scroll_px
    return Action("scroll", {**at, "direction": direction, "amount": amount or 0.01})


def encode_openai(action: Action, units: ActionUnits = PAGES) -> dict[str, Json]:
    """Return an action as OpenAI's computer-use tool writes it.

    Raises:
        ActionError: It has no coordinates, or that tool has no such action.
    """
    given: dict[str, Any] = dict(action.arguments)
    if action.tool == "click" and "x" in given and _count(given) <= 2 and "modifiers" not in given:
        button = str(given.get("button", "left")).replace("middle", "wheel")
        if given.get("count") == 2:
            return {"type": "double_click", "x": given["x"], "y": given["y"]}
        return {"type": "click", "button": button, "x": given["x"], "y": given["y"]}
    if _is_drag(action):
        path: list[Json] = [{"x": given[f"{e}_x"], "y": given[f"{e}_y"]} for e in ("from", "to")]
        return {"type": "drag", "path": path}
    if action.tool == "drag" and "path" in given and not given.get("modifiers"):
        return {"type": "drag", "path": [{"x": x, "y": y} for x, y in given["path"]]}
    if action.tool == "press" and "ref" not in given:
        return {"type": "keypress", "keys": list(str(given["keys"]).split("+"))}
    if action.tool == "hover" and "x" in given:
        return {"type": "move", "x": given["x"], "y": given["y"]}
    if action.tool == "scroll" and "x" in given and not given.get("modifiers"):
        dx, dy = _pixels(given, units)
        place = {"x": given["x"], "y": given["y"]}
        return {"type": "scroll", **place, "scroll_x": dx, "scroll_y": dy}
    if action.tool == "type" and "ref" not in given and not given.get("submit"):
        return {"type": "type", "text": given["text"]}
    if action.tool in ("wait", "screenshot"):
        return {"type": action.tool}
    raise ActionError(f"a computer-use tool has no action like {action.tool} {given}")


def encode_anthropic(action: Action, units: ActionUnits = PAGES) -> dict[str, Json]:
    """Return an action as Anthropic's tool ``computer`` writes it.

    Raises:
        ActionError: It has no coordinates, or that tool has no such action.
    """
    given: dict[str, Any] = dict(action.arguments)
    at: list[Json] = [given.get("x"), given.get("y")]
    if action.tool == "click" and "ref" not in given and _count(given) <= 3:
        names = {1: given.get("button", "left") + "_click", 2: "double_click", 3: "triple_click"}
        told: dict[str, Json] = {"action": names[given.get("count", 1)]}
        return {**told, **_held(given), **({"coordinate": at} if "x" in given else {})}
    if _is_drag(action):
        start: list[Json] = [given["from_x"], given["from_y"]]
        end: list[Json] = [given["to_x"], given["to_y"]]
        return {"action": "left_click_drag", "start_coordinate": start, "coordinate": end}
    if action.tool == "press" and "ref" not in given:
        return {"action": "key", "text": given["keys"]}
    if action.tool == "hover" and "x" in given:
        return {"action": "mouse_move", "coordinate": at}
    if action.tool == "scroll" and "x" in given:
        dx, dy = _pixels(given, units)
        amount = max(1, round(max(abs(dx), abs(dy)) / _WHEEL_PX))
        way = given.get("direction", "down")
        turned = {"action": "scroll", "scroll_direction": way, "scroll_amount": amount}
        return {**turned, "coordinate": at, **_held(given)}
    if action.tool == "type" and "ref" not in given and not given.get("submit"):
        return {"action": "type", "text": given["text"]}
    if action.tool == "wait":
        return {"action": "wait", "duration": given.get("seconds", 1)}
    if action.tool == "screenshot":
        return {"action": "screenshot"}
    if action.tool == "hold":
        return {"action": "hold_key", "text": given["keys"], "duration": given["seconds"]}
    if action.tool in ("mouse_down", "mouse_up") and given.get("button", "left") == "left":
        return {"action": f"left_{action.tool}"} | ({"coordinate": at} if "x" in given else {})
    if action.tool == "zoom":
        x, y = given["x"], given["y"]
        region: list[Json] = [x, y, x + given["width"], y + given["height"]]
        return {"action": "zoom", "region": region}
    raise ActionError(f"a computer-use tool has no action like {action.tool} {given}")


def _is_drag(action: Action) -> bool:
    """Whether an action drags from one point to another, without keys held."""
    given = action.arguments
    return action.tool == "drag" and {"from_x", "to_x"} <= set(given) and not given.get("modifiers")


def _held(given: Mapping[str, Any]) -> dict[str, Json]:
    """Return the modifiers of an action as Anthropic's tool has them."""
    return {"text": "+".join(given["modifiers"])} if given.get("modifiers") else {}


def _count(given: Mapping[str, Any]) -> float:
    """Return how often is clicked; infinite if no action clicks another button so often."""
    count = int(given.get("count", 1))
    return count if count == 1 or given.get("button", "left") == "left" else float("inf")


def _pixels(given: Mapping[str, Any], units: ActionUnits) -> tuple[float, float]:
    by = float(given.get("amount", units.amount)) * units.scroll_px
    ways = {"up": (0.0, -by), "down": (0.0, by), "left": (-by, 0.0), "right": (by, 0.0)}
    return ways[str(given.get("direction", "down"))]
