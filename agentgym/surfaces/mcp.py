"""The `mcp` surface: the tools of any MCP server, one session with it an episode.

A command is started for every episode, as any MCP client would start it: on this machine, with
this user's rights, isolated from nothing. What is known of the server's state is what its tools
say of it, so that checks have the trace and the answer to go by.
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
from agentgym.protocols import Site
from agentgym.records import Action, Effect, Json, Observation, SurfaceConfig, ToolSpec
from agentgym.services.image import Image
from agentgym.surfaces.mcp_client import Address, Refusal, Session, offer_of, read_place, types
from agentgym.surfaces.mcp_schema import adapt
from agentgym.surfaces.truncation import LIMITS, bounded, bounded_data, pixels, readable

_NAME_CHARS: Final = 64
_DESCRIPTION_CHARS: Final = 8_000
_MAX_PARTS: Final = 100
"""Of a result that are shown."""

_TAKEN: Final = ("submit", "give_up", "message_user")
"""Names that environments give to tools of their own."""


class Options(Manifest):
    """The `[surface.mcp]` table.

    Attributes:
        command: Command line of a stdio server.
        url: Of a streamable HTTP endpoint; one of the two is needed.
        env: Variables of the command; ``$NAME`` stands for one of the process that starts it.
        headers: Headers of the requests, likewise.
        start_s: Seconds until the server must have said what it offers.
        call_s: Seconds a call may take; then it is a timeout, and the session goes on.
        prefix: Put before the name of every tool.
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

    Making one starts the server once in a process, to ask for its tools, and ends it again. A
    command is started anew for every episode, since its memory is the episode's own; what a URL
    leads to is shared, and each episode has a session of its own there.

    Args:
        config: The options say where the server is.

    Raises:
        ConfigError: The options are wrong, or there is no such program.
        SurfaceError: The server cannot be started or does not answer.

    Attributes:
        instructions: What the server says of its use, empty where it says nothing.
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
        """Return the server's tools in its order."""
        return self._tools

    async def open(self) -> None:
        """Start nothing: no process of a server is shared."""

    async def attach(self, site: Site) -> McpSurface:
        """Begin a session with the server, which learns nothing of the site.

        Raises:
            SurfaceError: The server cannot be started or does not answer.
        """
        session = Session(self._address)
        try:
            await session.open()
            # What a tool promises of its results is checked, so it has to be known.
            await session.offer()
        except BaseException:
            await session.close()
            raise
        return McpSurface(self._address, session, self._theirs)

    async def close(self) -> None:
        """End nothing."""


class McpSurface:
    """A Surface over one session with a server.

    Args:
        address: Where the server is.
        session: The session, closed with the surface.
        theirs: The server's tools, by the names that the agent calls them.
    """

    def __init__(
        self, address: Address, session: Session, theirs: Mapping[str, types.Tool]
    ) -> None:
        self._address, self._theirs = address, theirs
        self._session: Session | None = session

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid call.

        What the server refuses, and what takes it too long, are observations.

        Raises:
            SurfaceEndedError: The server that was started for this session has ended.
            SurfaceError: A server that others share is gone.
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
        return observation_of(result, Effect.NO_CHANGE if reads else Effect.CHANGED)

    async def observe(self) -> Observation:
        """Return nothing: a server shows something once a tool is called."""
        self._live()
        return Observation("")

    async def save(self) -> Mapping[str, Json]:
        """Refuse: only the server knows its state.

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
        """End the session, and with it the server where it was started here."""
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
            "surface.mcp: expected command = '…' or url = 'http…'; say which server it is in "
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
    """Return the tools by names that every model API takes, each once."""
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
    """Return what an agent sees of a result.

    The text parts stand in the text; structured content is ``data["structured"]``. A picture goes
    by a name, ``image:`` and the digest of its bytes, in the text and in ``data["images"]``; the
    first that can be shown is the observation's own.

    Args:
        result: The server's.
        effect: What the call did, unless the server says that it failed.
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
    """Return a part of a result as text; what is none is named."""
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
