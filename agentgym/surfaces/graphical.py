"""Options, bounds and trees as observations, shared by the surfaces of graphical interfaces."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentgym.errors import ConfigError, NotFoundError
from agentgym.gui.tree import bounded_lines, changed_lines, tree_data
from agentgym.records import Effect, Json, Observation, ObservationLimits
from agentgym.surfaces.truncation import bounded

_REMARKS_BYTES: Final = 16_384
_UNPRINTED: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
EFFECTS: Final = {
    None: Effect.NO_CHANGE,
    "no_change": Effect.NO_CHANGE,
    "changed": Effect.CHANGED,
    "navigated": Effect.CHANGED,
    "error": Effect.ERROR,
}
"""The effect of an action by its outcome."""


class GraphicalOptions(BaseModel):
    """The options that every graphical surface has.

    Attributes:
        screenshot: Whether every observation has a picture.
        marks: Whether those pictures carry the references of elements.
        nodes: Largest number of nodes in a tree.
        text_bytes: Bytes of a tree's text.
        diff: Whether a tree is told by its changes since the last observation.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    screenshot: bool = True
    marks: bool = False
    nodes: int = Field(default=1_000, ge=1, le=10_000)
    text_bytes: int = Field(default=60_000, ge=1_000, le=1_000_000)
    diff: bool = False


Options = TypeVar("Options", bound=GraphicalOptions)


def read_options(model: type[Options], surface: str, given: Mapping[str, Json]) -> Options:
    """Return the options of `[surface.NAME]`.

    Raises:
        ConfigError: An option is unknown or out of range.
    """
    unknown = [name for name in given if name not in model.model_fields]
    if unknown:
        known = list(model.model_fields)
        raise ConfigError(str(NotFoundError(f"option of surface.{surface}", unknown[0], known)))
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in ("surface", surface, *first["loc"]))
        raise ConfigError(f"{where}: {first['msg']}, got {first['input']!r}") from None


def limits_of(
    options: GraphicalOptions, picture: tuple[int, int], *, text_chars: int, data_bytes: int
) -> ObservationLimits:
    """Return the limits of observations.

    Args:
        options: Options of the surface.
        picture: Width and height of its pictures.
        text_chars: Characters of the longest text that is no tree.
        data_bytes: Bytes of nodes as JSON.
    """
    return ObservationLimits(
        text_bytes=max(options.text_bytes, 4 * text_chars) + _REMARKS_BYTES,
        data_bytes=data_bytes + _REMARKS_BYTES,
        image_width=picture[0],
        image_height=picture[1],
    )


def one_line(text: str) -> str:
    """Return a text of a page or an application as one line, with escapes as in JSON.

    What it says can then not be taken for lines of the observation. Ends of lines are those of
    `str.splitlines`.
    """
    return _UNPRINTED.sub(lambda found: _escaped(found[0]), text)


def _escaped(character: str) -> str:
    told = json.dumps(character)[1:-1]
    return told if told != character else f"\\u{ord(character):04x}"


def observed_text(lines: Sequence[str], options: GraphicalOptions) -> str:
    """Return the text of an observation, whose remarks are bounded too.

    Args:
        lines: Its lines; a line end within one of them is shown as an escape.
        options: Options of the surface.
    """
    text = "\n".join(map(one_line, lines))
    return bounded(text, most=options.text_bytes + _REMARKS_BYTES // 2)


def outcome_line(outcome: str | None, error: str) -> str:
    """Return the line that tells what the last action has done."""
    if outcome in ("error", None):
        return f"last: error: {error}"
    return f"last: {outcome}" + (f" ({error})" if error else "")


def fitting_nodes(
    nodes: Sequence[Mapping[str, Any]], most_bytes: int, left: int
) -> tuple[list[Json], int]:
    """Return the first nodes as JSON of bounded size, and how many are left out.

    Args:
        nodes: The nodes of a tree.
        most_bytes: Bytes of the JSON.
        left: Number of nodes that the text leaves out.
    """
    found = tree_data(nodes)
    while found and len(json.dumps(found)) > most_bytes:
        del found[len(found) // 2 :]
    return found, max(left, len(nodes) - len(found)) if len(found) < len(nodes) else left


def refused(message: str) -> Observation:
    """Return the observation of a call that cannot be executed."""
    return Observation(bounded(f"error: {message}"), data={"error": message}, effect=Effect.ERROR)


class TreeTeller:
    """Tells trees as lines, by their changes where the options say so.

    Args:
        options: Options of the surface.
    """

    def __init__(self, options: GraphicalOptions) -> None:
        self._options = options
        self._told: tuple[tuple[str, ...], list[str]] | None = None

    def tell(
        self, lines: list[str], cut: int, documents: tuple[str, ...] = ()
    ) -> tuple[list[str], int]:
        """Return the lines of an observation, and how many nodes are left out.

        Args:
            lines: The tree, one line for each node.
            cut: Number of nodes that the tree does not hold.
            documents: What the tree is of; trees of others are told whole.
        """
        shown, left = bounded_lines(lines, cut, self._options.text_bytes)
        told, self._told = self._told, (documents, lines)
        if self._options.diff and told is not None and told[0] == documents:
            return ["tree, what has changed:", *changed_lines(told[1], lines)], left
        return ["tree:", *shown], left
