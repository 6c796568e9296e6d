"""The `desktop` surface: real applications on the screen of the episode's computer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from PIL import Image as Pictures
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentgym.desktop.drive import DesktopState, Driver
from agentgym.desktop.link import ControlLink
from agentgym.desktop.tools import TOOLS
from agentgym.errors import ConfigError, NotFoundError, SurfaceError
from agentgym.gui.marks import with_marks
from agentgym.gui.tree import Budget, bounded_lines, changed_lines, tree_data, tree_lines
from agentgym.protocols import SurfaceContext
from agentgym.records import (
    Action,
    Effect,
    Image,
    Json,
    Observation,
    ObservationLimits,
    SurfaceConfig,
    ToolSpec,
)
from agentgym.surfaces.truncation import bounded

_REMARKS_BYTES: Final = 16_384
_DATA_BYTES: Final = 400_000
_MOST_WINDOWS: Final = 40
_CLIPBOARD_CHARS: Final = 8_000
_EFFECTS: Final = {
    None: Effect.NO_CHANGE,
    "no_change": Effect.NO_CHANGE,
    "changed": Effect.CHANGED,
    "error": Effect.ERROR,
}


class DesktopOptions(BaseModel):
    """The options of `[surface.desktop]`.

    Attributes:
        width: Largest width of the picture in pixels; the screen is scaled down to fit, and
            coordinates are those of the picture.
        height: Likewise.
        screenshot: Whether every observation has a picture.
        marks: Whether those pictures carry the references of elements.
        tree: Whether every observation has the accessibility tree.
        nodes: Largest number of nodes in a tree.
        text_bytes: Bytes of a tree's text.
        tree_ms: Milliseconds that reading a tree may take.
        quiet_ms: For how long the screen must not change before it is looked at.
        diff: Whether a tree is told by its changes since the last observation.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    width: int = Field(default=1280, ge=100, le=4_000)
    height: int = Field(default=800, ge=100, le=4_000)
    screenshot: bool = True
    marks: bool = False
    tree: bool = True
    nodes: int = Field(default=1_000, ge=1, le=10_000)
    text_bytes: int = Field(default=60_000, ge=1_000, le=1_000_000)
    tree_ms: int = Field(default=2_000, ge=20, le=20_000)
    quiet_ms: int = Field(default=100, ge=20, le=2_000)
    diff: bool = False


class DesktopKind:
    """The SurfaceKind `desktop`; episodes share nothing.

    Args:
        config: Its options; see `DesktopOptions`.

    Raises:
        ConfigError: An option is unknown or out of range, or the environment has no sandbox.
    """

    name = "desktop"

    def __init__(self, config: SurfaceConfig) -> None:
        self.options = _read(config.options)
        if not config.sandbox:
            raise ConfigError("surface 'desktop' needs a computer: add sandbox = 'desktop'")
        self.limits = ObservationLimits(
            text_bytes=max(self.options.text_bytes, 4 * _CLIPBOARD_CHARS) + _REMARKS_BYTES,
            data_bytes=_DATA_BYTES + _REMARKS_BYTES,
            image_width=self.options.width,
            image_height=self.options.height,
        )

    def tools(self) -> Sequence[ToolSpec]:
        """Return the verbs of a desktop."""
        return TOOLS

    async def open(self) -> None:
        """Do nothing: episodes share nothing."""

    async def attach(self, context: SurfaceContext) -> DesktopSurface:
        """Return a surface over the desktop of an episode.

        Raises:
            SurfaceError: The computer has no desktop.
            SandboxError: It does not answer.
        """
        link = ControlLink(context.sandbox)
        await link.open()
        return DesktopSurface(link, self.options)

    async def close(self) -> None:
        """Do nothing: episodes share nothing."""


class DesktopSurface:
    """A Surface over one desktop.

    Args:
        link: Its control server, open; the surface closes it.
        options: Options of the kind.
    """

    def __init__(self, link: ControlLink, options: DesktopOptions) -> None:
        self._link, self._options = link, options
        budget = Budget(options.nodes, options.text_bytes, options.tree_ms)
        self._driver = Driver(
            link,
            (options.width, options.height),
            budget if options.tree else None,
            options.quiet_ms,
        )
        self._state: DesktopState | None = None
        self._told: list[str] | None = None

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid action; what an application does is an observation.

        Raises:
            SurfaceError: The desktop does not answer, or the surface is closed.
        """
        given: dict[str, Any] = dict(action.arguments)
        if action.tool == "read_clipboard":
            return await self._clipboard()
        if action.tool == "screenshot":
            return await self._screenshot(marks=bool(given.get("marks", False)))
        if action.tool == "zoom":
            return await self._zoom(**given)
        self._state = None
        return self._observation(await self._driver.step(action.tool, given))

    async def observe(self) -> Observation:
        """Return the present view."""
        state, self._state = self._state, None
        if state is None:
            known = self._driver.screen.is_known
            state = await (self._driver.look() if known else self._driver.begin())
        return self._observation(state)

    async def save(self) -> Mapping[str, Json]:
        """Return what a fork needs: nothing, because its applications start anew."""
        return {"relaunched": True}

    async def load(self, state: Mapping[str, Json]) -> None:
        """Take over a fork: its files are restored and the session's applications are open anew.

        Raises:
            SurfaceError: The state is not one that `save` returned.
        """
        if state.get("relaunched") is not True:
            raise SurfaceError(f"load: expected what `save` returned, got {sorted(state)}")
        self._state = await self._driver.begin()

    async def close(self) -> None:
        """Close the connection. Never raises."""
        await self._link.close()

    # --- tools that do not act ---

    async def _clipboard(self) -> Observation:
        text = str((await self._link.ask("clipboard"))["text"])
        return Observation(bounded(text, most=_CLIPBOARD_CHARS), data={"characters": len(text)})

    async def _screenshot(self, *, marks: bool) -> Observation:
        state = await self._driver.look()
        lines = self._heading(state)
        picture = self._picture(state, marks=marks)
        return Observation("\n".join(lines), image=picture, data={"marks": marks})

    async def _zoom(self, x: float, y: float, width: float, height: float) -> Observation:
        state = await self._driver.look()
        scale = state.scale
        if not scale.holds(x, y) or not scale.holds(x + width - 1, y + height - 1):
            message = f"the part does not lie on the picture of {scale.picture[0]} x "
            return _refused(f"{message}{scale.picture[1]} pixels")
        left, top = scale.to_screen(x, y)
        right, bottom = scale.to_screen(x + width - 1, y + height - 1)
        part = self._driver.screen.frame[top : bottom + 1, left : right + 1]
        grown = min(self._options.width / part.shape[1], self._options.height / part.shape[0])
        size = (max(1, int(part.shape[1] * grown)), max(1, int(part.shape[0] * grown)))
        enlarged = Pictures.fromarray(part).resize(size, Pictures.Resampling.LANCZOS)
        told = f"x {x:g} to {x + width:g}, y {y:g} to {y + height:g}, enlarged {grown:.3g} times"
        return Observation(told, image=np.asarray(enlarged), data={"factor": grown})

    # --- observations ---

    def _heading(self, state: DesktopState) -> list[str]:
        view, (width, height) = state.view, state.scale.picture
        lines = [f"screen: {width} x {height}"]
        shown = [_window_line(window) for window in reversed(view.windows[-_MOST_WINDOWS:])]
        lines.append("windows: " + (" | ".join(shown) or "none"))
        if len(view.windows) > _MOST_WINDOWS:
            lines.append(f"  ({len(view.windows) - _MOST_WINDOWS} more windows)")
        if view.held:
            lines.append(f"held down: {', '.join(view.held)}")
        if view.focused is not None:
            lines.append(f"focused: [{view.focused}]")
        return lines

    def _observation(self, state: DesktopState) -> Observation:
        view = state.view
        lines = self._heading(state)
        if state.outcome is not None or state.error:
            told = f"error: {state.error}" if state.outcome == "error" else f"{state.outcome}"
            also = f" ({state.error})" if state.error and state.outcome != "error" else ""
            lines.append(f"last: {told}{also}")
        left = 0
        if self._options.tree:
            shown = tree_lines(view.nodes)
            text, left = bounded_lines(shown, 0, self._options.text_bytes)
            if self._options.diff and self._told is not None:
                lines += ["tree, what has changed:", *changed_lines(self._told, shown)]
            else:
                lines += ["tree:", text]
            if view.cut:
                lines.append(f"  (not the whole tree: {view.cut})")
            self._told = shown
        picture = None
        if self._options.screenshot:
            picture = self._picture(state, marks=self._options.marks)
        return Observation(
            bounded("\n".join(lines), most=self._options.text_bytes + _REMARKS_BYTES // 2),
            image=picture,
            data=self._data(state, left),
            effect=_EFFECTS[state.outcome],
        )

    def _picture(self, state: DesktopState, *, marks: bool) -> Image:
        picture = state.scale.shown(self._driver.screen.frame)
        return with_marks(picture, state.view.nodes) if marks else picture

    def _data(self, state: DesktopState, left: int) -> dict[str, Json]:
        view = state.view
        nodes = tree_data(view.nodes)
        while nodes and len(json.dumps(nodes)) > _DATA_BYTES - 2 * _REMARKS_BYTES:
            del nodes[len(nodes) // 2 :]
        return {
            "screen": list(state.scale.picture),
            "windows": [dict(window) for window in view.windows[-_MOST_WINDOWS:]],
            "pointer": list(view.pointer),
            "held": list(view.held),
            "focused": view.focused,
            "effect": state.outcome,
            "error": state.error,
            "cut": view.cut,
            "truncated": max(left, len(view.nodes) - len(nodes)),
            "nodes": nodes,
        }


def _window_line(window: Mapping[str, Any]) -> str:
    x, y, width, height = window["box"]
    mark = "*" if window["focused"] else ""
    also = " minimized" if window["minimized"] else ""
    also += " fullscreen" if window["fullscreen"] else ""
    return f"{window['title']}{mark} ({width}x{height} at {x},{y}{also})"


def _refused(message: str) -> Observation:
    return Observation(bounded(f"error: {message}"), data={"error": message}, effect=Effect.ERROR)


def _read(given: Mapping[str, Json]) -> DesktopOptions:
    unknown = [name for name in given if name not in DesktopOptions.model_fields]
    if unknown:
        known = list(DesktopOptions.model_fields)
        raise ConfigError(str(NotFoundError("option of surface.desktop", unknown[0], known)))
    try:
        return DesktopOptions.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in ("surface", "desktop", *first["loc"]))
        raise ConfigError(f"{where}: {first['msg']}, got {first['input']!r}") from None
