"""The `mcp` surface: the tools of any MCP server, with one session for each episode.

A command starts for every episode, as any MCP client would start it: on this machine, with this
user's rights and without isolation. The server's state is known only through its tools, so checks
use the trace and the answer.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import Field, ValidationError

from agentgym.errors import ConfigError, NotFoundError, SurfaceError, UnsupportedError
from agentgym.manifest import Manifest
from agentgym.protocols import SurfaceContext
from agentgym.records import Action, Effect, Json, Observation, SurfaceConfig, ToolSpec
from agentgym.services.image import Image
from agentgym.surfaces.mcp_address import Address, read_place
from agentgym.surfaces.mcp_client import Refusal, Session, offer_of, types
from agentgym.surfaces.mcp_schema import adapt
from agentgym.surfaces.truncation import LIMITS, bounded, bounded_data, pixels, readable
from agentgym.threads import COMPUTING

_NAME_CHARS: Final = 64
_DESCRIPTION_CHARS: Final = 8_000
_MAX_PARTS: Final = 100
"""Largest number of parts of a result that are shown."""

_TAKEN: Final = ("submit", "give_up", "message_user")
"""Names of the environment's own tools."""


class Options(Manifest):
    """The `[surface.mcp]` table.

    Attributes:
        command: Command line of a stdio server.
        url: URL of a streamable HTTP endpoint; either this or `command` is needed.
        env: Variables of the command; ``$NAME`` stands for a variable of the calling process.
        headers: Headers of the requests; ``$NAME`` is replaced alike.
        start_s: Seconds until the server must have listed its tools.
        call_s: Longest time of a call in seconds; a longer call times out, and the session goes on.
        prefix: Prefix for the name of every tool.
    """

    command: str | None = None
    url: str | None = None
    env: dict[str, str] = Field(default_factory=dict)
    headers: dict[str, str] = Field(default_factory=dict)
    start_s: float = Field(default=60.0, gt=0)
    call_s: float = Field(default=60.0, gt=0)
    prefix: str = Field(default="", pattern=r"^[A-Za-z0-9_-]{0,32}$")


class McpKind:
    """The SurfaceKind `mcp`: a server of the Model Context Protocol.

    The constructor starts the server to list its tools, once in a process, and ends it again. A
    command starts anew for every episode, because its memory belongs to the episode. Episodes
    share the server behind a URL, but each has a session of its own.

    Args:
        config: Its options locate the server.

    Raises:
        ConfigError: The options are wrong, or the program does not exist.
        SurfaceError: The server cannot be started or does not answer.

    Attributes:
        instructions: The server's instructions for use, empty if it gives none.
    """

    name = "mcp"
    limits = LIMITS
    reaches_out = True

    def __init__(self, config: SurfaceConfig) -> None:
        options = _read(config.options)
        self._address = _address(options)
        offer = offer_of(self._address)
        if not offer.tools:
            raise SurfaceError(f"MCP server {self._address}: it offers no tools")
        self.instructions = bounded(offer.instructions)
        self._theirs = _named(offer.tools, options.prefix)
        self._tools = tuple(_described(name, tool) for name, tool in self._theirs.items())

    def tools(self) -> Sequence[ToolSpec]:
        """Return the server's tools in the server's order."""
        return self._tools

    async def open(self) -> None:
        """Do nothing: episodes share no server process."""

    async def attach(self, context: SurfaceContext) -> McpSurface:
        """Begin a session with the server, which gets no access to the sandbox and the services.

        Raises:
            SurfaceError: The server cannot be started or does not answer.
        """
        session = Session(self._address)
        try:
            await session.open()
            # Results are checked against the tool's output schema, so the schema must be known.
            await session.offer()
        except BaseException:
            await session.close()
            raise
        return McpSurface(self._address, session, self._theirs)

    async def close(self) -> None:
        """Do nothing: episodes share no server process."""


class McpSurface:
    """A Surface over one session with a server.

    Args:
        address: Address of the server.
        session: The session, closed with the surface.
        theirs: The server's tools, by the names that the agent uses.
    """

    def __init__(
        self, address: Address, session: Session, theirs: Mapping[str, types.Tool]
    ) -> None:
        self._address, self._theirs = address, theirs
        self._session: Session | None = session

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid call.

        A call that the server refuses or that times out is an observation.

        Raises:
            SurfaceEndedError: The server of this session has ended.
            SurfaceError: A server that others share cannot be reached any more.
        """
        session, tool = self._live(), self._theirs[action.tool]
        try:
            result = await session.call(tool.name, action.arguments)
        except Refusal as refusal:
            return Observation(bounded(f"error: {refusal}"), effect=Effect.ERROR)
        except TimeoutError:
            text = f"no answer within {self._address.call_s:g} s; the call may yet have an effect"
            return Observation(f"error: {text}", effect=Effect.TIMEOUT)
        reads = tool.annotations is not None and tool.annotations.read_only_hint is True
        effect = Effect.NO_CHANGE if reads else Effect.CHANGED
        # Large pictures take their time, and other episodes share the loop.
        return await COMPUTING.finish(observation_of, result, effect)

    async def observe(self) -> Observation:
        """Return an empty observation: a server shows something only after a call."""
        self._live()
        return Observation("")

    async def save(self) -> Mapping[str, Json]:
        """Refuse, because only the server knows its state.

        Raises:
            UnsupportedError: Always.
        """
        raise UnsupportedError(
            f"surface 'mcp': the state of the server {self._address} is its own, and the protocol "
            "has no way to copy it"
        )

    async def load(self, state: Mapping[str, Json]) -> None:
        """Refuse, as `save` does.

        Raises:
            UnsupportedError: Always.
        """
        await self.save()

    async def close(self) -> None:
        """End the session, and the server if this session started it."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _live(self) -> Session:
        if self._session is None:
            raise SurfaceError("the mcp surface is closed; attach another one")
        return self._session


def _read(options: Mapping[str, Json]) -> Options:
    unknown = [name for name in options if name not in Options.model_fields]
    if unknown:
        known = list(Options.model_fields)
        raise ConfigError(str(NotFoundError("option of surface.mcp", unknown[0], known)))
    try:
        read = Options.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in ("surface", "mcp", *first["loc"]))
        raise ConfigError(f"{where}: {first['msg']}, got {first['input']!r}") from None
    if (read.command is None) == (read.url is None):
        raise ConfigError(
            "surface.mcp: expected command = '…' or url = 'http…'; name the server in "
            "[surface.mcp] of env.toml or task.toml, or with agentgym.make(mcp='…')"
        )
    return read


def _address(options: Options) -> Address:
    command, url = read_place(options.command or options.url or "")
    if url != (options.url or ""):
        raise ConfigError(f"surface.mcp: expected a command line and a URL, got {options.url!r}")
    return Address(
        command,
        url,
        tuple(options.env.items()),
        tuple(options.headers.items()),
        options.start_s,
        options.call_s,
    )


def _named(tools: Sequence[types.Tool], prefix: str) -> dict[str, types.Tool]:
    """Return the tools under unique names that every model API accepts."""
    named: dict[str, types.Tool] = {}
    for tool in tools:
        given = f"{prefix}{tool.name}"[:_NAME_CHARS]
        stem = re.sub(r"[^A-Za-z0-9_-]", "_", given) or "tool"
        name, number = stem, 1
        while name in named or name in _TAKEN:
            number += 1
            name = f"{stem[: _NAME_CHARS - 1 - len(str(number))]}_{number}"
        named[name] = tool
    return named


def _described(name: str, tool: types.Tool) -> ToolSpec:
    said = (tool.description or tool.title or "").strip()
    if len(said) > _DESCRIPTION_CHARS:
        said = f"{said[:_DESCRIPTION_CHARS]}\n[cut: {len(said) - _DESCRIPTION_CHARS} characters]"
    return ToolSpec(
        name, said or f"{name}, of which the server says nothing.", adapt(tool.input_schema)
    )


# --- results -------------------------------------------------------------------------------


def observation_of(result: types.CallToolResult, effect: Effect) -> Observation:
    """Return the agent's observation of a result.

    The text holds the text parts; ``data["structured"]`` holds structured content. A picture gets a
    name, ``image:`` and the digest of its bytes, which stands in the text and in
    ``data["images"]``; the first picture that can be shown is the image of the observation.

    Args:
        result: Result from the server.
        effect: Effect of the call, unless the server reports that it failed.
    """
    parts = result.content[:_MAX_PARTS]
    pictures = [picture for part in parts if (picture := _picture(part)) is not None]
    text = "\n".join(_told(part) for part in parts)
    if len(result.content) > len(parts):
        text += f"\n[{len(result.content) - len(parts)} more parts, not shown]"
    structured = result.structured_content
    data: dict[str, Json] = {}
    if structured is not None:
        text = text or readable(structured)
        data = bounded_data("structured", structured)
    if pictures:
        data["images"] = [picture.name for picture in pictures]
    shown = (pixels(picture.data) for picture in pictures)
    return Observation(
        bounded(text),
        image=next((image for image in shown if image is not None), None),
        data=data,
        effect=Effect.ERROR if result.is_error else effect,
    )


def _picture(part: types.ContentBlock) -> Image | None:
    if not isinstance(part, types.ImageContent):
        return None
    try:
        return Image(base64.b64decode(part.data), part.mime_type)
    except (binascii.Error, ValueError):
        return None


def _told(part: types.ContentBlock) -> str:
    """Return a part of a result as text; for a part that is not text, return its description."""
    if isinstance(part, types.TextContent):
        return part.text
    if isinstance(part, types.ImageContent):
        picture = _picture(part)
        return f"[{picture.name if picture else 'unreadable image'} {part.mime_type}]"
    if isinstance(part, types.AudioContent):
        return f"[audio {part.mime_type}]"
    if isinstance(part, types.ResourceLink):
        return " ".join(filter(None, ("[resource", str(part.uri), part.description))) + "]"
    resource = part.resource
    kind = f" {resource.mime_type}" if resource.mime_type else ""
    head = f"[resource {resource.uri}{kind}]"
    return f"{head}\n{resource.text}" if isinstance(resource, types.TextResourceContents) else head
