"""Calls of tools as requests to the control server: elements become points, pictures the screen."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentgym.desktop.link import ControlLink
from agentgym.desktop.messages import Acted, Box, Selected
from agentgym.desktop.view import DesktopView, Elements
from agentgym.gui.keys import chord
from agentgym.gui.refusal import Refusal
from agentgym.gui.scaling import Scale

_CLEARED: Final = frozenset(("textbox", "combobox", "spinbutton"))
_HOLD_S: Final = 10.0
_TYPE_S: Final = 60.0
_PIECE_CHARS: Final = 200
"""Characters that are typed with one request. A dozen that the keyboard lacks takes a second."""

_CHORD_S: Final = 2.0
"""Seconds that a chord may take: one of the window manager waits twice for the screen."""

_WHEEL_CLICKS: Final = 3
_SELECTIONS: Final = 3


class Actions:
    """Executes calls of tools.

    Args:
        link: The control server.
        elements: The references of elements.
    """

    def __init__(self, link: ControlLink, elements: Elements) -> None:
        self._link, self._elements = link, elements
        self._view = DesktopView()
        self._scale = Scale((1, 1), (1, 1))

    async def execute(
        self, tool: str, given: Mapping[str, Any], view: DesktopView, scale: Scale
    ) -> None:
        """Execute a schema-valid call of a tool that acts.

        Args:
            tool: Name of the tool.
            given: Its arguments.
            view: What the agent saw before.
            scale: Scale of the picture that the agent saw.

        Raises:
            Refusal: It cannot be done.
        """
        self._view, self._scale = view, scale
        await getattr(self, f"_{tool}")(dict(given))

    async def _do(self, verb: str, *, within_s: float = 0.0, **given: Any) -> None:
        told = await self._link.ask(Acted, "act", within_s=within_s, verb=verb, given=given)
        if told.error:
            raise Refusal(told.error)

    # --- places ---

    async def _place(self, given: Mapping[str, Any], prefix: str = "") -> dict[str, int]:
        """Return the point of the screen that a call means; empty where the pointer is.

        Raises:
            Refusal: There is no such element, or the point is not on the screen.
        """
        ref, x, y = (given.get(prefix + name) for name in ("ref", "x", "y"))
        if ref is not None:
            return await self._of_element(int(ref))
        if x is None and y is None:
            return {}
        if x is None or y is None:
            raise Refusal(f"a point needs both {prefix}x and {prefix}y")
        return self._of_point(x, y)

    def _of_point(self, x: float, y: float) -> dict[str, int]:
        if not self._scale.holds(x, y):
            width, height = self._scale.picture
            raise Refusal(f"({x:g}, {y:g}) is not on the screen of {width} x {height} pixels")
        across, down = self._scale.to_screen(x, y)
        return {"x": across, "y": down}

    async def _of_element(self, ref: int) -> dict[str, int]:
        found = self._elements.find(ref)
        if found is None:
            raise Refusal(f"there is no element [{ref}]; the tree has the references")
        bus, path, label = found
        shown = next((node for node in self._view.nodes if node.get("ref") == ref), None)
        box = (await self._link.ask(Box, "box", bus=bus, path=path)).box
        if box is None or shown is None:
            raise Refusal(f"[{ref}] ({label}) does not show any more")
        x, y = box[0] + box[2] // 2, box[1] + box[3] // 2
        width, height = self._scale.screen
        if not (0 <= x < width and 0 <= y < height) or box[2] <= 0 or box[3] <= 0:
            raise Refusal(f"[{ref}] ({label}) lies outside of the screen; scroll it into view")
        return {"x": x, "y": y}

    def _role(self, ref: int) -> str:
        return next((str(n["r"]) for n in self._view.nodes if n.get("ref") == ref), "")

    # --- verbs ---

    async def _click(self, given: dict[str, Any]) -> None:
        place = await self._place(given)
        await self._do(
            "click",
            **place,
            button=given.get("button", "left"),
            count=given.get("count", 1),
            keys=given.get("modifiers", []),
        )

    async def _hover(self, given: dict[str, Any]) -> None:
        place = await self._place(given)
        if not place:
            raise Refusal("hover needs ref, or x and y")
        await self._do("move", **place)

    async def _drag(self, given: dict[str, Any]) -> None:
        if "path" in given:
            places = [self._of_point(x, y) for x, y in given["path"]]
        else:
            start, end = [await self._place(given, end) for end in ("from_", "to_")]
            if not end:
                raise Refusal("drag needs an end: to_ref, or to_x and to_y")
            places = [place for place in (start, end) if place]
        path = [[place["x"], place["y"]] for place in places]
        await self._do("drag", path=path, keys=given.get("modifiers", []))

    async def _scroll(self, given: dict[str, Any]) -> None:
        place = await self._place(given)
        clicks = max(1, round(given.get("amount", _WHEEL_CLICKS)))
        await self._do(
            "scroll",
            **place,
            direction=given["direction"],
            clicks=clicks,
            keys=given.get("modifiers", []),
        )

    async def _type(self, given: dict[str, Any]) -> None:
        text = given["text"]
        if "ref" in given:
            place = await self._of_element(given["ref"])
            await self._do("click", **place)
            if given.get("clear", True) and self._role(given["ref"]) in _CLEARED:
                await self._select_all(given["ref"])
                if not text:
                    await self._do("press", chords=[["Delete"]])
        if text:
            await self._strike(text)
        if given.get("submit"):
            await self._do("press", chords=[["Enter"]])

    async def _strike(self, text: str) -> None:
        """Type a text in pieces, so that one of many different characters ends in time.

        Raises:
            Refusal: It takes too long; says how much of it was typed.
        """
        began_s = time.monotonic()
        for start in range(0, len(text), _PIECE_CHARS):
            if time.monotonic() - began_s > _TYPE_S:
                raise Refusal(
                    f"only the first {start} of {len(text)} characters were typed within "
                    f"{_TYPE_S:g} s; type the rest with another call"
                )
            piece = text[start : start + _PIECE_CHARS]
            await self._do("type", within_s=_TYPE_S, text=piece)

    async def _select_all(self, ref: int) -> None:
        """Select the text of the focused element; a busy application may miss the first keys."""
        found = self._elements.find(ref)
        assert found is not None, "it was clicked"
        for _ in range(_SELECTIONS):
            await self._do("press", chords=[["Control", "a"]])
            told = await self._link.ask(Selected, "selected", bus=found[0], path=found[1])
            if told.selected:
                return

    async def _press(self, given: dict[str, Any]) -> None:
        chords = [_keys(part) for part in given["keys"].split(" ") if part]
        if not chords:
            raise Refusal("press needs a key")
        if "ref" in given:
            await self._do("click", **await self._of_element(given["ref"]))
        await self._do("press", within_s=_CHORD_S * len(chords), chords=chords)

    async def _hold(self, given: dict[str, Any]) -> None:
        keys = _keys(given["keys"])
        await self._do("hold", within_s=_HOLD_S, keys=keys, seconds=given["seconds"])

    async def _key_down(self, given: dict[str, Any]) -> None:
        (key,) = _one(given["key"])
        await self._do("key_down", key=key)

    async def _key_up(self, given: dict[str, Any]) -> None:
        (key,) = _one(given["key"])
        await self._do("key_up", key=key)

    async def _mouse_down(self, given: dict[str, Any]) -> None:
        place = await self._place(given)
        await self._do("mouse_down", **place, button=given.get("button", "left"))

    async def _mouse_up(self, given: dict[str, Any]) -> None:
        place = await self._place(given)
        await self._do("mouse_up", **place, button=given.get("button", "left"))

    async def _wait(self, given: dict[str, Any]) -> None:
        await self._do("wait", within_s=_HOLD_S, seconds=given.get("seconds", 1))


def _keys(text: str) -> list[str]:
    """Return the keys of one chord.

    Raises:
        Refusal: A key is unknown.
    """
    named = chord(text)
    if named.endswith("+"):
        return [*(part for part in named[:-1].split("+") if part), "+"]
    *held, last = named.split("+")
    # Control+S means the key s: Shift is pressed only where it is named.
    return [*held, last.lower() if held and len(last) == 1 else last]


def _one(text: str) -> Sequence[str]:
    keys = _keys(text)
    if len(keys) != 1:
        raise Refusal(f"expected one key, got {text!r}")
    return keys
