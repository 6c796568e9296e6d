"""Sessions over MCP, with the official SDK: a client's session has one recorded episode.

Over stdio the process is the session. Over HTTP the handshake begins a session (2024-11-05 to
2025-11-25); later versions have no sessions over HTTP, so clients are told to shake hands.

The tools are those of the task, because MCP clients offer every tool to their model. Resets and
forks are not offered: with them a model could undo what it did.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from agentgym import __version__
from agentgym.errors import ActionError, PolicyError
from agentgym.installation import missing_extra
from agentgym.record.codec import png_from_image
from agentgym.records import Action, Decision, Effect, Json, Observation
from agentgym.session.answers import Answer, Failure, FailureCode, Reply
from agentgym.session.decisions import read_decision
from agentgym.session.server import SessionServer
from agentgym.session.session import Session

try:
    from mcp import MCPError, types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from agentgym.services.mcp import picture_of, tool_of
except ImportError as error:
    raise missing_extra("mcp", "mcp") from error

INSTRUCTION: Final = "agentgym://instruction"
"""The resource that holds the instruction; the prompt `task` holds the same text."""

CALL_NUMBER: Final = "agentgym/call"
"""Key in ``_meta`` of a tool call: the number by which the call can be repeated."""

_KEPT: Final = 10_000
"""Number of MCP sessions that are remembered, as many as the SDK lets be open."""

_PROGRESS_S: Final = 5.0
"""Seconds between two notifications of a call's progress."""

_SESSION: Final = "mcp-session-id"
_ENDED: Final = 200
"""Status of the answer to a DELETE that ended a session."""

_LEFT: Final = "the client left without submit or give_up"
_HOW_IT_ENDS: Final = "You end the task with the tool submit, or with give_up."


@dataclass(eq=False)
class _Played:
    """The episode of one MCP session.

    Attributes:
        session: The session behind it.
        episode: Id of its episode.
        news: Text that the world added to the instruction at the start.
        told: Whether a reply has told it.
        told_to: Number of the call whose reply tells it; None if that call had no number.
    """

    session: Session
    episode: str
    news: str
    told: bool = False
    told_to: int | None = None

    def with_news(self, answer: Answer, number: int | None) -> Answer:
        """Return an answer with the news, if it is the first or repeats the first."""
        if not self.news or not isinstance(answer, Reply):
            return answer
        if self.told and (number is None or number != self.told_to):
            return answer
        self.told, self.told_to = True, number
        seen = answer.observation
        return replace(answer, observation=replace(seen, text=f"{self.news}\n{seen.text}"))


class McpAdapter:
    """Offers a server's sessions over MCP: each MCP session is a session with one episode.

    Args:
        sessions: The sessions, with one environment and a fixed seed.
        instruction: Instruction for the clients.

    Attributes:
        server: The MCP server.
    """

    def __init__(self, sessions: SessionServer, instruction: str) -> None:
        (environment,) = sessions.config.environments.values()
        self._sessions, self._instruction = sessions, instruction
        self._tools = [tool_of(tool) for tool in environment.tools]
        self._played: dict[str, asyncio.Task[_Played | Failure]] = {}
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
            json_response=True, session_idle_timeout=self._sessions.config.idle_s * 2
        )

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            status = 0

            async def noted(message: Message) -> None:
                nonlocal status
                status = message.get("status", status)
                await send(message)

            await app(scope, receive, noted)
            # After a refused DELETE the session goes on, and so does its episode.
            if scope["type"] == "http" and scope["method"] == "DELETE" and status == _ENDED:
                await self._leave(
                    Request(scope).headers.get(_SESSION, ""),
                    "the client ended its session without submit or give_up",
                )

        return watched

    async def leave_stdio(self, hurry: asyncio.Event) -> None:
        """End the episode of the client on standard input, which has left; it is judged.

        Args:
            hurry: Event from which on a call that runs is cut short. A client that has closed its
                end soon terminates the server, then kills it.
        """
        leaving = asyncio.create_task(self._leave("", _LEFT))
        hurrying = asyncio.create_task(hurry.wait())
        await asyncio.wait({leaving, hurrying}, return_when=asyncio.FIRST_COMPLETED)
        hurrying.cancel()
        if not leaving.done():
            await self._sessions.cut_short(PolicyError(_LEFT))
        await leaving

    async def stop(self) -> None:
        """End every session because the server ends."""
        await self._sessions.stop()

    async def _leave(self, key: str, why: str) -> None:
        if beginning := self._played.pop(key, None):
            played = await asyncio.shield(beginning)
            if isinstance(played, _Played):
                await played.session.leave(why)

    # --- requests ---

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        key = _session(context)
        try:
            decision = read_decision(Action(params.name, params.arguments or {}))
        except ActionError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        number = (params.meta or {}).get(CALL_NUMBER)
        calling = asyncio.create_task(self._call(key, _name(context), decision, number))
        began_s = time.monotonic()
        try:
            while not (await asyncio.wait({calling}, timeout=_PROGRESS_S))[0]:
                # Does nothing unless the client asked for it.
                await context.session.report_progress(time.monotonic() - began_s)
        finally:
            calling.cancel()
        return result_of(calling.result())

    async def _call(self, key: str, name: str, decision: Decision, number: Any) -> Answer:
        played = await self._find(key, name)
        answer = await played.session.step(played.episode, decision, call=number)
        if isinstance(answer, Failure) and answer.code is FailureCode.INVALID:
            raise MCPError(types.INVALID_PARAMS, answer.message)
        return played.with_news(answer, number)

    async def _find(self, key: str, name: str) -> _Played:
        """Return the episode of an MCP session; the first call begins it.

        Raises:
            MCPError: No episode can begin.
        """
        if key not in self._played:
            self._played[key] = asyncio.create_task(self._begin(name))
        beginning = self._played[key]
        # It goes on if this call is given up, because others may wait for it.
        played = await asyncio.shield(beginning)
        if isinstance(played, _Played):
            return played
        if self._played.get(key) is beginning:
            del self._played[key]
        raise MCPError(types.INVALID_REQUEST, played.message)

    async def _begin(self, name: str) -> _Played | Failure:
        for key, played in list(self._played.items())[:-_KEPT]:
            if played.done():
                del self._played[key]
        session = self._sessions.open("mcp", name)
        if isinstance(session, Failure):
            return session
        first = await session.reset()
        if isinstance(first, Reply):
            news = first.observation.text.removeprefix(self._instruction).strip()
            return _Played(session, first.episode, news)
        if first.episode:  # it could not be started, and further calls are told so
            return _Played(session, first.episode, "")
        await session.leave(first.message)
        return first

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


def _name(context: ServerRequestContext[Any]) -> str:
    client = context.session.client_params
    return client.client_info.name if client is not None else ""


def result_of(answer: Answer) -> types.CallToolResult:
    """Return an answer as the result of a tool call; a failed call has ``isError``."""
    observation = answer.observation if isinstance(answer, Reply) else _complaint(answer)
    lines = [observation.text] if observation.text else []
    data: dict[str, Json] = dict(observation.data)
    if answer.over:
        episode: dict[str, Json] = {"over": True}
        told = "The episode is over."
        if (end := answer.score) is not None:
            episode |= {"score": end.score, "outcome": end.outcome}
            told += f" Score {end.score:.4g}, outcome {str(end.outcome).lower()}."
        lines.append(told)
        data["episode"] = episode
    content: list[types.ContentBlock] = [types.TextContent(type="text", text="\n".join(lines))]
    if observation.image is not None:
        content.append(picture_of(png_from_image(observation.image), "image/png"))
    return types.CallToolResult(
        content=content,
        structured_content=_plain(data) if data else None,
        is_error=observation.effect in (Effect.ERROR, Effect.TIMEOUT),
    )


def _complaint(failure: Failure) -> Observation:
    told = failure.message
    if failure.code is FailureCode.EPISODE_OVER:
        told = "the episode is over; a new session begins another one"
    return Observation(f"error: {told}", effect=Effect.ERROR)


def _plain(data: Mapping[str, Json]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(data, default=dict))
    return plain
