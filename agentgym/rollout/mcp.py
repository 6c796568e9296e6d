"""Environments over MCP, with the official SDK: a client's session is a recorded episode.

Over stdio the process is the session. Over HTTP the handshake begins a session (2024-11-05 to
2025-11-25); later versions have no sessions over HTTP, so clients are told to shake hands.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from PIL import Image as Pictures

from agentgym import __version__
from agentgym.installation import missing_extra
from agentgym.records import Action, Effect, Image, Json, ToolSpec
from agentgym.rollout.session import Answer, Session, SessionConfig

try:
    from mcp import MCPError, types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from agentgym.services.mcp import picture_of, tool_of
except ImportError as error:
    raise missing_extra("mcp", "mcp") from error

INSTRUCTION: Final = "agentgym://instruction"
"""The resource that holds the instruction; the prompt `task` holds the same text."""

MAX_PLAYING: Final = 64
"""Largest number of concurrent episodes; each has a sandbox of its own."""

MAX_SESSIONS: Final = 100_000
"""Largest number of sessions of one server, including those that are over."""

_SESSION: Final = "mcp-session-id"
_HOW_IT_ENDS: Final = "You end the task with the tool submit, or with give_up."


class SessionServer:
    """Serves a session config over MCP, and maps each MCP session to its episode.

    Args:
        config: The session config.
        instruction: Instruction for the guests.
        tools: Tools that guests can call.
        tell: Whether guests get their verdict at the end.

    Attributes:
        server: The MCP server.
    """

    def __init__(
        self,
        config: SessionConfig,
        instruction: str,
        tools: Sequence[ToolSpec],
        *,
        tell: bool = False,
    ) -> None:
        self._config, self._instruction, self._tell = config, instruction, tell
        self._tools = [tool_of(tool) for tool in tools]
        self._sessions: dict[str, Session] = {}
        self.server: Server[Any] = Server(
            "agentgym",
            version=__version__,
            instructions=f"{instruction.strip()}\n\n{_HOW_IT_ENDS}",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
        )

    def http_app(self) -> ASGIApp:
        """Return an ASGI application that serves at ``/mcp`` and notices the end of sessions."""
        self.server.add_request_handler("server/discover", types.RequestParams, self._discover)
        app = self.server.streamable_http_app(
            json_response=True, session_idle_timeout=self._config.idle_s * 2
        )

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            await app(scope, receive, send)
            if scope["type"] == "http" and scope["method"] == "DELETE":
                await self._leave(Request(scope).headers.get(_SESSION, ""))

        return watched

    async def close(self, why: str, *, stopped: bool = False) -> None:
        """End every episode that is not over; see `Session.leave`."""
        visits = self._sessions.values()
        await asyncio.gather(*(visit.leave(why, stopped=stopped) for visit in visits))

    async def _leave(self, session: str) -> None:
        if visit := self._sessions.get(session):
            # An episode counts as playing until it is over, because it has a sandbox until then.
            await visit.leave("the client ended its session without submit or give_up")
            self._sessions.pop(session, None)

    # --- requests ---

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        visit = self._session(_session(context))
        arguments = params.arguments or {}
        try:
            json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise MCPError(types.INVALID_PARAMS, f"arguments: expected JSON: {error}") from None
        answer = await visit.call(Action(params.name, arguments), _guest(context))
        return result_of(answer, tell=self._tell)

    def _session(self, session: str) -> Session:
        if session not in self._sessions:
            playing = sum(visit.is_playing for visit in self._sessions.values())
            if playing >= MAX_PLAYING or len(self._sessions) >= MAX_SESSIONS:
                raise MCPError(
                    types.INVALID_REQUEST,
                    f"{playing} episodes are being played; expected fewer than {MAX_PLAYING}: "
                    "end one, or come back later",
                )
            self._sessions[session] = Session(self._config, self._instruction)
        return self._sessions[session]

    async def _list_tools(
        self, context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._tools)

    async def _list_prompts(
        self, context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[types.Prompt(name="task", description="What is to be done.")]
        )

    async def _get_prompt(
        self, context: ServerRequestContext[Any], params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        if params.name != "task":
            raise MCPError(types.INVALID_PARAMS, f"no prompt named {params.name!r}; there is: task")
        told = types.TextContent(type="text", text=self._instruction)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=told)])

    async def _list_resources(
        self, context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        what = types.Resource(name="instruction", uri=INSTRUCTION, mime_type="text/plain")
        return types.ListResourcesResult(resources=[what])

    async def _read_resource(
        self, context: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        if str(params.uri) != INSTRUCTION:
            raise MCPError(
                types.INVALID_PARAMS, f"no resource {params.uri}; there is: {INSTRUCTION}"
            )
        text = types.TextResourceContents(
            uri=INSTRUCTION, mime_type="text/plain", text=self._instruction
        )
        return types.ReadResourceResult(contents=[text])

    async def _discover(
        self, context: ServerRequestContext[Any], params: types.RequestParams
    ) -> types.DiscoverResult:
        return types.DiscoverResult(
            supported_versions=list(HANDSHAKE_PROTOCOL_VERSIONS),
            capabilities=self.server.get_capabilities(),
            instructions=self.server.instructions,
        )


def _session(context: ServerRequestContext[Any]) -> str:
    """Return the session id of a request; stdio has a single session.

    Raises:
        MCPError: The request belongs to no session.
    """
    if not isinstance(context.request, Request):
        return ""
    session = context.request.headers.get(_SESSION)
    if session is None:
        raise MCPError(
            types.INVALID_REQUEST,
            "an episode is a session: begin one with initialize, in a version up to "
            f"{HANDSHAKE_PROTOCOL_VERSIONS[-1]}",
        )
    return session


def _guest(context: ServerRequestContext[Any]) -> str:
    client = context.session.client_params
    name = client.client_info.name if client is not None else ""
    return "".join(c if c.isalnum() or c in "-_. " else "_" for c in name)[:40].strip() or "client"


def result_of(answer: Answer, *, tell: bool = False) -> types.CallToolResult:
    """Return an answer as the result of a tool call.

    Args:
        answer: Answer to the call. A failed call is an error of the tool (``isError``).
        tell: Include the verdict at the end; else only that the episode is over.
    """
    observation = answer.observation
    lines = [observation.text] if observation.text else []
    data: dict[str, Json] = dict(observation.data)
    if answer.over:
        episode: dict[str, Json] = {"over": True}
        told = "The episode is over."
        if tell and answer.verdict is not None:
            episode |= {"score": answer.verdict.score, "outcome": answer.verdict.outcome}
            told += (
                f" Score {answer.verdict.score:.4g}, outcome {str(answer.verdict.outcome).lower()}."
            )
        lines.append(told)
        data["episode"] = episode
    content: list[types.ContentBlock] = [types.TextContent(type="text", text="\n".join(lines))]
    if observation.image is not None:
        content.append(picture_of(_png(observation.image), "image/png"))
    return types.CallToolResult(
        content=content,
        structured_content=_plain(data) if data else None,
        is_error=observation.effect in (Effect.ERROR, Effect.TIMEOUT),
    )


def _plain(data: Mapping[str, Json]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(data, default=dict))
    return plain


def _png(image: Image) -> bytes:
    file = io.BytesIO()
    Pictures.fromarray(image).save(file, "PNG")
    return file.getvalue()
