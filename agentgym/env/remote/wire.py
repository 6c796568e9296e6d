"""The messages between ``agentgym serve`` and its clients, version 1 (docs/server.md).

A message is a JSON object with a ``type``. A reply with a picture is a binary frame over WebSocket:
the length of the JSON in 4 bytes (big-endian), the JSON, the picture. Over HTTP the picture is
base64 in the JSON.
"""

from __future__ import annotations

import struct
from typing import Annotated, Any, Final, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agentgym.record.codec import image_from_png, png_from_image
from agentgym.records import Effect, Image, bounds
from agentgym.records.json_text import encoder

VERSION: Final = 1
"""Version of the protocol. A server may add fields to its messages within a version."""

PATH: Final = "/v1/session"
"""Path of WebSocket connections."""

MAX_MESSAGE_BYTES: Final = 4 * 2**20
"""Largest message of a client; the arguments of a call have 1 MiB, and escapes make them longer."""

MAX_REPLY_BYTES: Final = 64 * 2**20
"""Largest message of a server that a client accepts."""

_MOST_PROBLEMS: Final = 100

_MOST_MARKS: Final = 1_000_000
"""Commas and opening brackets of a reply; its values take 100 MB."""

_HEAD: Final = struct.Struct(">I")

_encoded = encoder(default=dict)

Call: TypeAlias = Annotated[int, Field(ge=1, lt=2**53)]
Episode: TypeAlias = Annotated[str, Field(max_length=100)]
Pictures: TypeAlias = Literal["png", "rgb"]


class _FromClient(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Hello(_FromClient):
    """Begins a session, or comes back to one: the first message of a connection."""

    type: Literal["hello"] = "hello"
    version: int
    name: str = Field("", max_length=200, description="Name under which episodes are recorded.")
    session: str = Field("", max_length=200, description="Resume token of a session; empty: a new")
    pictures: Pictures = Field("png", description="Form of pictures: PNG, or rows of RGB bytes.")


class Describe(_FromClient):
    """Asks for the tools of a task, and for the limits of its observations."""

    type: Literal["describe"] = "describe"
    call: Call
    task: str = ""


class Reset(_FromClient):
    """Begins an episode."""

    type: Literal["reset"] = "reset"
    call: Call
    task: str = Field("", description="May be empty if the server has one task.")
    seed: int | None = None
    options: dict[str, Any] | None = Field(None, description="'group' and 'metadata'.")


class Step(_FromClient):
    """Executes an action; an illegal one costs a step."""

    type: Literal["step"] = "step"
    call: Call
    episode: Episode
    action: Any = Field(description='{"tool": "bash", "arguments": {"command": "ls"}}')


class _OnEpisode(_FromClient):
    call: Call
    episode: Episode


class Fork(_OnEpisode):
    """Begins an episode in the state of another one."""

    type: Literal["fork"] = "fork"


class Finish(_OnEpisode):
    """Ends an episode and judges it."""

    type: Literal["finish"] = "finish"


class Close(_OnEpisode):
    """Leaves an episode; one that is not over is judged as it stands."""

    type: Literal["close"] = "close"


class AskState(_FromClient):
    """Asks for the episodes of the session, and the number of its last call."""

    type: Literal["state"] = "state"
    call: Call


class Leave(_FromClient):
    """Ends the session; episodes that are not over are judged as they stand."""

    type: Literal["leave"] = "leave"
    call: Call


Request: TypeAlias = Annotated[
    Hello | Describe | Reset | Step | Fork | Finish | Close | AskState | Leave,
    Field(discriminator="type"),
]


class _FromServer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Bounds(_FromServer):
    """The bounds of a server, as a client is told them."""

    message_bytes: int
    messages_per_s: float | None = None
    sessions: int
    episodes: int
    call_s: float | None = None
    episode_s: float | None = None
    session_s: float | None = None
    idle_s: float
    resume_s: float


class Welcome(_FromServer):
    """Answers a hello."""

    type: Literal["welcome"]
    version: int
    server: str
    session: str = Field(description="Resume token; whoever has it and the account can go on.")
    last_call: int
    tells: Literal["nothing", "score", "verdict"]
    may_fork: bool
    tasks: tuple[str, ...]
    bounds: Bounds


class ToolMessage(_FromServer):
    """A tool of a task."""

    name: str
    description: str
    parameters: dict[str, Any] = Field(description="JSON Schema of the arguments.")


class TaskMessage(_FromServer):
    """Answers a describe."""

    type: Literal["task"]
    call: Call
    task: str = Field(description="Name for reset.")
    id: str = Field(description="Id of the task, as in the infos.")
    max_steps: int
    tools: tuple[ToolMessage, ...]
    text_bytes: int
    data_bytes: int
    image_width: int
    image_height: int


class PictureMessage(_FromServer):
    """The picture of an observation; its bytes follow the JSON, or are in ``base64``."""

    format: Pictures
    width: int = Field(ge=1, le=2**16)
    height: int = Field(ge=1, le=2**16)
    base64: str = ""


class ObservationMessage(_FromServer):
    """The observation of an agent."""

    text: str
    data: dict[str, Any]
    effect: str
    image: PictureMessage | None = None


class ReplyMessage(_FromServer):
    """Answers a call that was done."""

    type: Literal["reply"]
    call: Call
    episode: str
    observation: ObservationMessage
    terminated: bool = False
    truncated: bool = False
    facts: dict[str, Any] | None = Field(None, description="After reset: task, seed, params.")
    score: float | None = None
    outcome: bool | None = None
    verdict: dict[str, Any] | None = None


class EpisodeMessage(_FromServer):
    """One episode of a session."""

    id: str
    task: str
    seed: int
    steps: int
    over: bool
    parent: str
    recorded_as: int


class StateMessage(_FromServer):
    """Answers a question for the state, and a leave."""

    type: Literal["state"]
    call: Call
    last_call: int
    over: str
    episodes: tuple[EpisodeMessage, ...]


class ErrorMessage(_FromServer):
    """Answers a message that was not done, or whose episode ended without a score."""

    type: Literal["error"]
    call: int | None = None
    code: str
    message: str
    episode: str = ""
    status: str = Field("", description="Of an unscored episode, such as 'error:sandbox'.")
    score: float | None = None
    outcome: bool | None = None
    verdict: dict[str, Any] | None = None
    retry_after_s: float | None = Field(None, ge=0, allow_inf_nan=False)


Response: TypeAlias = Annotated[
    Welcome | TaskMessage | ReplyMessage | StateMessage | ErrorMessage,
    Field(discriminator="type"),
]

_REQUESTS: Final[TypeAdapter[Request]] = TypeAdapter(Request)
_RESPONSES: Final[TypeAdapter[Response]] = TypeAdapter(Response)


def schemas() -> dict[str, Any]:
    """Return the JSON Schemas of the messages of clients and of servers."""
    return {
        "version": VERSION,
        "client": _REQUESTS.json_schema(),
        "server": _RESPONSES.json_schema(),
    }


class TooRichError(ValueError):
    """A message holds so many values that it is not parsed."""


def read_request(text: str | bytes) -> Request:
    """Read a message of a client.

    Raises:
        ValueError: It has another form; the message names the field.
    """
    if bounds.is_too_rich(text):
        raise TooRichError(f"more than {bounds.MAX_VALUES:,} values; expected fewer")
    try:
        return _REQUESTS.validate_json(text)
    except ValidationError as error:
        raise ValueError(_complaint(error)) from None


def read_response(frame: str | bytes) -> tuple[Response, bytes]:
    """Read a frame of a server: its message, and the bytes of its picture.

    Raises:
        ValueError: It has another form.
    """
    picture = b""
    if isinstance(frame, bytes):
        if len(frame) < _HEAD.size:
            raise ValueError(f"a frame of {len(frame)} bytes has no length of its JSON")
        end = _HEAD.size + _HEAD.unpack_from(frame)[0]
        frame, picture = frame[_HEAD.size : end], frame[end:]
    if bounds.is_too_rich(frame, _MOST_MARKS):
        raise ValueError(f"more than {_MOST_MARKS:,} values; expected fewer")
    try:
        return _RESPONSES.validate_json(frame), picture
    except ValidationError as error:
        raise ValueError(_complaint(error)) from None


def pack(message: dict[str, Any], picture: bytes) -> str | bytes:
    """Return the frame of a server's message."""
    text = _encoded(message)
    if not picture:
        return text
    encoded = text.encode()
    return _HEAD.pack(len(encoded)) + encoded + picture


def picture_bytes(image: Image, form: Pictures) -> tuple[dict[str, Any], bytes]:
    """Return the description of a picture (``uint8[H, W, 3]``) and its bytes."""
    height, width = image.shape[:2]
    data = png_from_image(image) if form == "png" else np.ascontiguousarray(image).tobytes()
    return {"format": form, "width": width, "height": height}, data


def read_picture(told: PictureMessage, data: bytes) -> Image:
    """Return a picture (``uint8[H, W, 3]``).

    Raises:
        ValueError: The bytes are another picture than the message says.
    """
    shape = (told.height, told.width, 3)
    if told.format == "png":
        try:
            image = image_from_png(data)
        except OSError as error:
            raise ValueError(f"expected a PNG: {error}") from error
    elif len(data) != told.height * told.width * 3:
        raise ValueError(f"expected the {shape} bytes of a picture, got {len(data)} bytes")
    else:
        image = np.frombuffer(data, np.uint8).reshape(shape).copy()
    if image.shape != shape:
        raise ValueError(f"expected a picture of shape {shape}, got {image.shape}")
    return image


def effect_of(told: ObservationMessage) -> Effect:
    """Return the effect of an observation. Raises ValueError for an unknown one."""
    return Effect(told.effect)


def _complaint(error: ValidationError) -> str:
    """Return the first problem, without the input, which may be large."""
    if error.error_count() > _MOST_PROBLEMS:  # To describe each would take seconds.
        return f"{error.error_count():,} fields are not as expected"
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    field = ".".join(str(part)[:40] for part in first["loc"])
    return f"{field}: {first['msg'][:300]}" if field else str(first["msg"])[:300]
