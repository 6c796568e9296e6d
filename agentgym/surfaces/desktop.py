"""The `desktop` surface: real applications on the screen of the episode's computer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from PIL import Image as Pictures
from pydantic import Field

from agentgym.browser.proxy import SiteProxy
from agentgym.browser.requests import RequestLog
from agentgym.desktop.drive import DesktopState, Driver
from agentgym.desktop.link import ControlLink
from agentgym.desktop.messages import Clipboard, Closed
from agentgym.desktop.tools import TOOLS
from agentgym.errors import ConfigError, SurfaceError
from agentgym.gui.marks import with_marks
from agentgym.gui.tree import Budget, tree_lines
from agentgym.protocols import SurfaceContext
from agentgym.records import (
    Action,
    Audit,
    Image,
    Json,
    Observation,
    SurfaceConfig,
    ToolSpec,
)
from agentgym.surfaces.graphical import (
    EFFECTS,
    GraphicalOptions,
    TreeTeller,
    fitting_nodes,
    limits_of,
    observed_text,
    outcome_line,
    read_options,
    refused,
)
from agentgym.surfaces.truncation import bounded

_DATA_BYTES: Final = 400_000
_NODES_BYTES: Final = 367_000
_MOST_WINDOWS: Final = 40
_CLIPBOARD_CHARS: Final = 8_000
_SITES_PORT: Final = 5980
"""Port of the guest's loopback where its browser expects a proxy; the recipe's policy names it."""
_LATE_S: Final = 1.0
_CLOSING_S: Final = 5.0


class DesktopOptions(GraphicalOptions):
    """The options of `[surface.desktop]`, beside those of every graphical surface.

    Attributes:
        width: Largest width of the picture in pixels; the screen is scaled down to fit, and
            coordinates are those of the picture.
        height: Likewise.
        tree: Whether every observation has the accessibility tree.
        tree_ms: Milliseconds that reading a tree may take.
        quiet_ms: For how long the screen must not change before it is looked at.
        at_end: ``"close"`` asks all windows to close before the verdict, so that applications write
            what they have in memory; ``"keep"`` leaves them open.
    """

    width: int = Field(default=1280, ge=100, le=4_000)
    height: int = Field(default=800, ge=100, le=4_000)
    tree: bool = True
    tree_ms: int = Field(default=2_000, ge=20, le=20_000)
    quiet_ms: int = Field(default=100, ge=20, le=2_000)
    at_end: Literal["keep", "close"] = "keep"


class DesktopKind:
    """The SurfaceKind `desktop`; episodes share nothing.

    Args:
        config: Its options; see `DesktopOptions`.

    Raises:
        ConfigError: An option is unknown or out of range, or the environment has no sandbox.
    """

    name = "desktop"
    uses_sites = True

    def __init__(self, config: SurfaceConfig) -> None:
        self.options = read_options(DesktopOptions, "desktop", config.options)
        if not config.sandbox:
            raise ConfigError("surface 'desktop' needs a computer: add sandbox = 'desktop'")
        self.limits = limits_of(
            self.options,
            (self.options.width, self.options.height),
            text_chars=_CLIPBOARD_CHARS,
            data_bytes=_DATA_BYTES,
        )

    def tools(self) -> Sequence[ToolSpec]:
        """Return the verbs of a desktop."""
        return TOOLS

    async def open(self) -> None:
        """Do nothing: episodes share nothing."""

    async def attach(self, context: SurfaceContext) -> DesktopSurface:
        """Return a surface over the desktop of an episode, whose browser reaches its sites.

        Raises:
            SurfaceError: The computer has no desktop.
            SandboxError: It does not answer.
        """
        link = ControlLink(context.sandbox)
        await link.open()
        proxy = None
        if context.sites is not None:
            proxy = SiteProxy(context.sites, RequestLog(), _LATE_S)
            await proxy.open(await context.sandbox.listen(_SITES_PORT))
        return DesktopSurface(link, self.options, proxy)

    async def close(self) -> None:
        """Do nothing: episodes share nothing."""


class DesktopSurface:
    """A Surface over one desktop.

    Args:
        link: Its control server, open; the surface closes it.
        options: Options of the kind.
        proxy: What its browser reaches, open; the surface closes it. None without sites.

    Attributes:
        ended: False; a desktop ends no episode.
    """

    ended = False

    def __init__(
        self, link: ControlLink, options: DesktopOptions, proxy: SiteProxy | None = None
    ) -> None:
        self._link, self._options, self._proxy = link, options, proxy
        budget = Budget(options.nodes, options.text_bytes, options.tree_ms)
        self._driver = Driver(
            link,
            (options.width, options.height),
            budget if options.tree else None,
            options.quiet_ms,
        )
        self._state: DesktopState | None = None
        self._windows: list[dict[str, Json]] | None = None
        self._tree = TreeTeller(options)

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid action; what an application does is an observation.

        Raises:
            SurfaceError: The desktop does not answer, or the surface is closed.
        """
        given: dict[str, Any] = dict(action.arguments)
        if self._proxy is not None:
            self._proxy.log.begin_step()
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
        """Close the connections. Never raises."""
        await self._link.close()
        if self._proxy is not None:
            await self._proxy.close()

    async def finish(self) -> None:
        """Look at the windows for the audit; then close them if the options say so.

        Raises:
            ActionError, SurfaceError: The desktop does not answer.
        """
        self._note_windows(await self._driver.glance())
        if self._options.at_end == "close":
            most_ms = int(1000 * _CLOSING_S)
            await self._link.ask(Closed, "close_windows", within_s=_CLOSING_S, most_ms=most_ms)

    def audit(self) -> Audit:
        """Return the windows at the end, and the requests of its programs to the sites."""
        entries = () if self._proxy is None else self._proxy.log.entries
        state: dict[str, Json] = {}
        if self._windows is not None:
            state = {"windows": [*self._windows]}
        return Audit(requests=tuple(entry.record() for entry in entries), page_state=state)

    def _note_windows(self, state: DesktopState) -> None:
        self._windows = [dict(window) for window in state.view.windows]

    # --- tools that do not act ---

    async def _clipboard(self) -> Observation:
        text = (await self._link.ask(Clipboard, "clipboard")).text
        return Observation(bounded(text, most=_CLIPBOARD_CHARS), data={"characters": len(text)})

    async def _screenshot(self, *, marks: bool) -> Observation:
        driver = self._driver
        state = await (driver.look() if marks else driver.glance())
        lines = self._heading(state)
        picture = self._picture(state, marks=marks)
        text = observed_text(lines, self._options)
        return Observation(text, image=picture, data={"marks": marks})

    async def _zoom(self, x: float, y: float, width: float, height: float) -> Observation:
        scale = (await self._driver.glance()).scale
        if not scale.holds(x, y) or not scale.holds(x + width - 1, y + height - 1):
            message = f"the part does not lie on the picture of {scale.picture[0]} x "
            return refused(f"{message}{scale.picture[1]} pixels")
        left, top = scale.to_screen(x, y)
        # A part that is smaller than a pixel is that pixel.
        right, bottom = scale.to_screen(x + max(width, 1) - 1, y + max(height, 1) - 1)
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
            lines.append(outcome_line(state.outcome, state.error))
        left = 0
        if self._options.tree:
            told, left = self._tree.tell(tree_lines(view.nodes), 0)
            lines += told
            if view.cut:
                lines.append(f"  (not the whole tree: {view.cut})")
        picture = None
        if self._options.screenshot:
            picture = self._picture(state, marks=self._options.marks)
        return Observation(
            observed_text(lines, self._options),
            image=picture,
            data=self._data(state, left),
            effect=EFFECTS[state.outcome],
        )

    def _picture(self, state: DesktopState, *, marks: bool) -> Image:
        picture = state.scale.shown(self._driver.screen.frame)
        return with_marks(picture, state.view.nodes) if marks else picture

    def _data(self, state: DesktopState, left: int) -> dict[str, Json]:
        view = state.view
        nodes, truncated = fitting_nodes(view.nodes, _NODES_BYTES, left)
        return {
            "screen": list(state.scale.picture),
            "windows": [dict(window) for window in view.windows[-_MOST_WINDOWS:]],
            "pointer": list(view.pointer),
            "held": list(view.held),
            "focused": view.focused,
            "effect": state.outcome,
            "error": state.error,
            "cut": view.cut,
            "truncated": truncated,
            "nodes": nodes,
        }


def _window_line(window: Mapping[str, Any]) -> str:
    x, y, width, height = window["box"]
    mark = "*" if window["focused"] else ""
    also = " minimized" if window["minimized"] else ""
    also += " fullscreen" if window["fullscreen"] else ""
    return f"{window['title']}{mark} ({width}x{height} at {x},{y}{also})"
