"""One step on a desktop: the action, the settling, the view, and what the action has done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from agentgym.desktop.actions import Actions
from agentgym.desktop.link import ControlLink
from agentgym.desktop.messages import Look, Settled, Tree
from agentgym.desktop.screen import Screen
from agentgym.desktop.view import DesktopView, Elements, as_view
from agentgym.gui.refusal import Refusal
from agentgym.gui.scaling import Scale
from agentgym.gui.tree import Budget

Outcome: TypeAlias = Literal["changed", "no_change", "error"]

_SETTLE_S: Final = 3.0
_READINGS: Final = 4


@dataclass(frozen=True, slots=True)
class DesktopState:
    """A desktop as it was seen after an action, and what the action has done.

    Attributes:
        view: Windows and tree.
        scale: Scale of the picture.
        outcome: What the action has done; None before the first.
        error: Why it failed, or what was still going on at its end.
    """

    view: DesktopView
    scale: Scale
    outcome: Outcome | None = None
    error: str = ""


class Driver:
    """Drives one desktop step by step.

    Args:
        link: The control server, open.
        most: Largest width and height of the picture.
        budget: Bounds of a tree; None for no tree.
        quiet_ms: For how long the screen must not change to count as settled.
    """

    def __init__(
        self, link: ControlLink, most: tuple[int, int], budget: Budget | None, quiet_ms: int
    ) -> None:
        self.link, self.screen, self.elements = link, Screen(), Elements()
        self._most, self._budget, self._quiet_ms = most, budget, quiet_ms
        self._actions = Actions(link, self.elements)
        self._last: DesktopState | None = None

    async def begin(self) -> DesktopState:
        """Return what is seen at the start, once it has settled."""
        await self._settle()
        self._last = await self._see()
        return self._last

    async def step(self, tool: str, given: Mapping[str, Any]) -> DesktopState:
        """Execute an action and return what is then seen.

        Raises:
            SurfaceError: The desktop does not answer.
        """
        before = self._last or await self.begin()
        changes, error = self.screen.changes, ""
        try:
            await self._actions.execute(tool, given, before.view, before.scale)
        except Refusal as refusal:
            error = str(refusal)
        late = await self._settle()
        state = await self._look(before)
        same = self.screen.changes == changes and state.view.digest == before.view.digest
        outcome: Outcome = "error" if error else "no_change" if same else "changed"
        self._last = replace(state, outcome=outcome, error=error or late)
        return self._last

    async def look(self) -> DesktopState:
        """Return what is seen without acting."""
        self._last = await self._see()
        return self._last

    async def glance(self) -> DesktopState:
        """Return the picture and the windows without reading the tree, which takes longer."""
        return await self._see(with_tree=False)

    async def _settle(self) -> str:
        """Wait until the screen is quiet; return what was still going on, empty if nothing."""
        most_ms = int(1000 * _SETTLE_S)
        told = await self.link.ask(
            Settled, "settle", within_s=_SETTLE_S, quiet_ms=self._quiet_ms, most_ms=most_ms
        )
        return "" if told.settled else f"the screen still changes after {_SETTLE_S:g} s"

    async def _look(self, before: DesktopState) -> DesktopState:
        """Return what is seen after an action.

        Applications fill a tree as it is read, so that of a new window is read until it stays.
        """
        state = await self._see()
        known = [window["title"] for window in before.view.windows]
        grown = any(window["title"] not in known for window in state.view.windows)
        for _ in range(_READINGS if grown and self._budget is not None else 0):
            again = await self._see()
            if again.view.digest == state.view.digest:
                break
            state = again
        return state

    async def _see(self, *, with_tree: bool = True) -> DesktopState:
        told, rows = await self.link.ask_bytes(Look, "look")
        self.screen.take(told, rows)
        scale = Scale.fitting(self.screen.size, self._most)
        tree = Tree(nodes=[], cut="")
        budget = self._budget
        if budget is not None and with_tree:
            tree = await self.link.ask(
                Tree,
                "tree",
                within_s=2 * budget.ms / 1000,
                nodes=budget.nodes,
                chars=budget.chars,
                ms=budget.ms,
            )
            tree = tree.model_copy(update={"nodes": tree.nodes[: budget.nodes]})
        return DesktopState(as_view(told, tree, self.elements, scale), scale)
