"""The `browser` surface: its options, and what an agent is told of a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from pydantic import Field, model_validator

from agentgym.browser.drive import BrowserState
from agentgym.gui.marks import with_marks
from agentgym.records import Image, Json, Observation
from agentgym.surfaces.graphical import (
    EFFECTS,
    GraphicalOptions,
    TreeTeller,
    fitting_nodes,
    observed_text,
    outcome_line,
)
from agentgym.surfaces.truncation import pixels

DATA_BYTES: Final = 200_000
"""Bytes of the nodes of an observation as JSON."""


class BrowserOptions(GraphicalOptions):
    """The options of `[surface.browser]`, beside those of every graphical surface.

    Attributes:
        start: Address opened first; empty for that of the environment's sites.
        width: Pixels of the viewport.
        height: Likewise.
        ahead: Whether the first page may be opened before an episode begins. It has to be a static
            page, and do nothing by itself before `init`.
        init: Expression of JavaScript that is evaluated in the first page, ``{{seed}}`` filled in.
        state: Expressions of JavaScript by name: values that are read from the page after every
            action, unseen by the agent, for `evidence.page_state`.
        until: Name of the value that ends the episode once it is true, and keeps all values.
        tree_ms: Milliseconds that reading one document may take.
        headed: Whether the browser shows windows.
    """

    start: str = ""
    width: int = Field(default=1280, ge=100, le=4_000)
    height: int = Field(default=720, ge=100, le=4_000)
    ahead: bool = False
    init: str = ""
    state: dict[str, str] = Field(default_factory=dict)
    until: str = ""
    tree_ms: int = Field(default=2_000, ge=20, le=5_000)
    headed: bool = False

    @model_validator(mode="after")
    def _until_is_read(self) -> BrowserOptions:
        if self.until and self.until not in self.state:
            raise ValueError(f"until: expected one of state = {sorted(self.state)}")
        return self


class BrowserObservations:
    """Turns the states of one browser into observations.

    Args:
        options: Options of the surface.
    """

    def __init__(self, options: BrowserOptions) -> None:
        self._options = options
        self._tree = TreeTeller(options)

    def of(self, state: BrowserState) -> Observation:
        """Return the observation of a state."""
        view = state.view
        lines = [f"url: {view.url}", f"title: {view.title}"]
        if len(state.tabs) > 1:
            lines.append("tabs: " + " | ".join(_tab_line(tab) for tab in state.tabs))
        if state.dialog is not None:
            lines.append(_dialog_line(state.dialog))
        if view.focused is not None:
            lines.append(f"focused: [{view.focused}]")
        lines += [f"downloaded: {_download_line(file)}" for file in state.downloads]
        lines += [f"console: {message}" for message in state.console]
        if state.outcome is not None or state.error:
            lines.append(outcome_line(state.outcome, state.error))
        left = 0
        if view.blocked:
            lines.append(f"(no tree: {view.blocked})")
        else:
            told, left = self._tree.tell(view.lines(), view.cut, view.documents)
            lines += told
        return Observation(
            observed_text(lines, self._options),
            image=self.picture(state, marks=self._options.marks),
            data=self._data(state, left),
            effect=EFFECTS[state.outcome],
        )

    def picture(self, state: BrowserState, *, marks: bool) -> Image | None:
        """Return the picture of a state; None if it has none."""
        if state.picture is None:
            return None
        picture = pixels(state.picture, self._options.width, self._options.height)
        return with_marks(picture, state.view.nodes) if marks and picture is not None else picture

    def _data(self, state: BrowserState, left: int) -> dict[str, Json]:
        view = state.view
        nodes, truncated = fitting_nodes(view.nodes, DATA_BYTES, left)
        return {
            "url": view.url,
            "title": view.title,
            "tabs": state.tabs,
            "focused": view.focused,
            "scroll": list(view.scroll),
            "viewport": [self._options.width, self._options.height],
            "dialog": None if state.dialog is None else dict(state.dialog),
            "downloads": state.downloads,
            "console": list(state.console),
            "effect": state.outcome,
            "error": state.error,
            "truncated": truncated,
            "nodes": nodes,
        }


def _tab_line(tab: Json) -> str:
    assert isinstance(tab, dict)
    return f"{tab['number']}{'*' if tab['current'] else ''} {tab['title'] or tab['url']}"


def _dialog_line(dialog: Mapping[str, Json]) -> str:
    line = f"dialog: {dialog['type']} {json.dumps(dialog['message'], ensure_ascii=False)}"
    if "default" in dialog:
        line += f" default={json.dumps(dialog['default'], ensure_ascii=False)}"
    return line


def _download_line(file: Json) -> str:
    assert isinstance(file, dict)
    return f"{file['name']} " + (
        f"failed: {file['error']}" if "error" in file else f"({file['bytes']} bytes)"
    )
