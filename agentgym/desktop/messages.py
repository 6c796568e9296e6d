"""The answers of a desktop's control server, checked field by field.

The server runs in the guest, where an agent may have replaced it. Its answers are therefore bounded
in size and type before anything is made of them.
"""

from __future__ import annotations

import contextlib
from typing import Annotated, Final, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError

MOST_NODES: Final = 10_000
"""Largest number of nodes in a tree."""

MOST_WINDOWS: Final = 200
"""Largest number of windows."""

MOST_BYTES: Final = 8 * 2**20
"""Largest answer as JSON."""

_MOST_BRACKETS: Final = 200_000
_FAILURE_BYTES: Final = 10_000
_SIDE_PX: Final = 16_384
_FAR: Final = 2**31

_Place: TypeAlias = Annotated[int, Field(ge=-_FAR, le=_FAR)]
_Size: TypeAlias = Annotated[int, Field(ge=1, le=_SIDE_PX)]
_Box: TypeAlias = tuple[_Place, _Place, _Place, _Place]
_Word: TypeAlias = Annotated[str, Field(max_length=100)]
_Line: TypeAlias = Annotated[str, Field(max_length=1_000)]
# The names of D-Bus are plain and have at most 255 characters; paths of elements are shorter.
_At: TypeAlias = Annotated[str, Field(max_length=255, pattern=r"^[ -~]*$")]
_Text: TypeAlias = Annotated[str, Field(max_length=10_000)]
_Held: TypeAlias = Annotated[list[_Word], FailFast(), Field(max_length=100)]


class Reply(BaseModel):
    """An answer; fields that are not known are left out.

    Attributes:
        failed: Why the request could not be answered; empty if it was.
    """

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)

    failed: _Line = ""


class Window(BaseModel):
    """A window, with its place on the screen."""

    model_config = ConfigDict(strict=True, frozen=True)

    title: _Line
    class_: _Word = Field(alias="class")
    box: _Box
    focused: bool
    minimized: bool
    fullscreen: bool


class Node(BaseModel):
    """An element of the accessibility tree; `agentgym.gui.tree` explains the short names.

    Attributes:
        k: Digest of the names above it.
        at: Its name on the bus and its path there.
    """

    model_config = ConfigDict(strict=True, frozen=True)

    r: _Word
    n: _Line
    d: Annotated[int, Field(ge=0, le=1_000)]
    b: _Box
    f: Annotated[list[_Word], FailFast(), Field(max_length=40)]
    k: _Word
    at: tuple[_At, _At]
    v: _Text | None = None


class Closed(Reply):
    """The number of processes that still have a window after all were asked to close theirs."""

    left: Annotated[int, Field(ge=0, le=MOST_WINDOWS)]


class Look(Reply):
    """The windows, the pointer, and which rows of the screen come with them."""

    windows: Annotated[list[Window], FailFast(), Field(max_length=MOST_WINDOWS)]
    pointer: tuple[_Place, _Place]
    held: _Held
    size: tuple[_Size, _Size]
    stride: Annotated[int, Field(ge=1, le=8 * _SIDE_PX)]
    top: Annotated[int, Field(ge=0, le=_SIDE_PX)]


class Tree(Reply):
    """The accessibility tree, and why it is not whole."""

    nodes: Annotated[list[Node], FailFast(), Field(max_length=MOST_NODES)]
    cut: _Word


class Acted(Reply):
    """Whether an action was done, and what stays down."""

    error: _Text
    held: _Held


class Settled(Reply):
    """Whether the screen has become quiet."""

    settled: bool


class Box(Reply):
    """The place of an element; None if it does not show."""

    box: _Box | None


class Selected(Reply):
    """Whether the whole text of an element is selected."""

    selected: bool


class Clipboard(Reply):
    """The text on the clipboard."""

    text: Annotated[str, Field(max_length=1_000_000)]


R = TypeVar("R", bound=Reply)


def read_reply(kind: type[R], data: bytes) -> R | str:
    """Return an answer, or why the desktop could not give it.

    Raises:
        ValueError: It is not such an answer; the message names the field.
    """
    if data.count(b"[") + data.count(b"{") > _MOST_BRACKETS:
        raise ValueError(f"more than {_MOST_BRACKETS} brackets")
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        if len(data) < _FAILURE_BYTES:
            with contextlib.suppress(ValidationError):
                if failed := Reply.model_validate_json(data).failed:
                    return failed
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"][:6])
        raise ValueError(f"{where or 'answer'}: {first['msg']}"[:300]) from None
