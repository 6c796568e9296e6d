"""The model agent: any endpoint that speaks OpenAI's chat-completions API with tool calls.

This module makes one decision: it builds the request, validates the answer, asks again, and tells
which failure is the model's own. Transport is in `endpoint`, the dialogue in `dialogue` and
`context`, several calls of one reply in `batch`.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, Json

from agentgym.agents.batch import next_call
from agentgym.agents.context import compose, text_tokens
from agentgym.chat.address import Address
from agentgym.chat.completion import Completion, Message
from agentgym.chat.endpoint import Endpoint
from agentgym.chat.errors import (
    ContextLengthError,
    DialogueError,
    EndpointError,
    LateReplyError,
    UnreadableReplyError,
    is_server_failure,
)
from agentgym.chat.picture import RecentPictures
from agentgym.chat.spec import read_model
from agentgym.chat.toolcalls import (
    UNREADABLE,
    ChatMessage,
    UnusableReplyError,
    correction,
    said,
    usable_calls,
)
from agentgym.errors import AgentError, ConfigError, PolicyError
from agentgym.records import (
    Briefing,
    Decision,
    Generation,
    Nudge,
    Observation,
    Step,
    TokenUsage,
    ToolSpec,
)
from agentgym.surfaces.selection import picked
from agentgym.threads import COMPUTING

ASKS = 3
CONTROLS = 2
"""Answers to another dialogue that show that a server works which keeps failing at one."""
EXAMPLE = "openai:gpt-x?stream=true&temperature=0"

_SAID_CHARS = 2_000
_KEPT = ("submit", "give_up", "message_user")
"""Tools of every episode, which the option `tools` does not take away."""

_REASON_CHARS = 200
_CONTROL = "Say OK."
_CONTROL_TOKENS = 16
_CONTROL_S = 60.0
_REFUSED = (400, 413, 422)
"""Statuses with which a server refuses the content of a request."""


class Options(BaseModel):
    """The options after the model's name, as in ``openai:gpt-x?stream=true&temperature=0``.

    Attributes:
        stream: Ask for the reply as an event stream, for networks that cut idle connections.
        temperature: Sampling temperature; the server's default if absent.
        max_tokens: Largest number of tokens in one reply.
        reasoning_effort: Amount of reasoning, e.g. ``low``; sent unchanged.
        seed: Sampling seed, for servers that accept one.
        parallel_tool_calls: Whether a reply may make several calls; sent unchanged. They are
            executed in order, each as a step. False: only the first is.
        logprobs: Ask for the log-probabilities of the reply's tokens, which the record then holds.
        token_ids: Ask for token ids of prompt and reply (``return_token_ids``), as vLLM returns.
        extra_body: A JSON object whose fields are added to every request, URL-encoded.
        token_budget: Tokens an episode may cost; it ends once they are spent.
        timeout_s: Seconds one reply may take, retries included.
        retries: Attempts after the first, on 429, 5xx and broken connections.
        context_tokens: Estimated size in tokens to which the dialogue is trimmed.
        tools: Names or globs of the tools that the model gets, separated by commas; `submit` and
            `give_up` are always among them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    stream: bool = False
    temperature: float | None = Field(None, ge=0)
    max_tokens: int | None = Field(None, ge=1)
    reasoning_effort: str | None = Field(None, min_length=1)
    seed: int | None = None
    parallel_tool_calls: bool | None = None
    logprobs: bool = False
    token_ids: bool = False
    extra_body: Json[dict[str, Any]] | None = None
    token_budget: int | None = Field(None, ge=1)
    timeout_s: float = Field(300.0, gt=0)
    retries: int = Field(4, ge=0)
    context_tokens: int = Field(100_000, ge=1)
    tools: str | None = Field(None, min_length=1)

    def request(self) -> dict[str, Any]:
        """Return the request fields that the options set; the server chooses its defaults."""
        names = ("temperature", "reasoning_effort", "seed", "parallel_tool_calls", "extra_body")
        request = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.stream:
            request |= {"stream": True, "stream_options": {"include_usage": True}}
        if self.logprobs:
            request["logprobs"] = True
        if self.token_ids:
            request["extra_body"] = {"return_token_ids": True, **(self.extra_body or {})}
        return request

    def sampling(self) -> dict[str, Any]:
        """Return what requests say of sampling, fields of `extra_body` included."""
        names = ("temperature", "max_tokens", "reasoning_effort", "seed")
        said = {name: value for name in names if (value := getattr(self, name)) is not None}
        return {**said, **(self.extra_body or {})}


class OpenAIAgent:
    """Lets a model play, e.g. ``OpenAIAgent("gpt-x?temperature=0")``.

    The endpoint comes from ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``; a local endpoint needs
    no key.

    Raises:
        ConfigError: The model or the endpoint is missing, or an option is unknown.
    """

    def __init__(self, argument: str = "") -> None:
        self._model, self._options = read_model(
            argument, Options, who="agent 'openai'", example=EXAMPLE
        )
        self._address = Address.from_environment("agent 'openai'")
        self._endpoint: Endpoint | None = None
        self._length_name = "max_tokens"
        self._pictures = RecentPictures()
        self._first: Observation | None = None

    async def start(self, briefing: Briefing) -> None:
        """Take the instruction."""
        self._briefing = briefing
        self._endpoint = Endpoint(
            self._address, timeout_s=self._options.timeout_s, retries=self._options.retries
        )

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Return the next call of the last reply, or ask the model for another reply.

        Raises:
            PolicyError: The model made no usable call in `ASKS` replies, its dialogue is too long
                or refused, it talks without end, or the token budget is spent.
            AgentError: The endpoint failed.
        """
        tools = self._offered(tools)
        if not history:
            self._first = observation
        offered = {tool.name for tool in tools}
        call = None if self._options.parallel_tool_calls is False else next_call(history)
        if call and (self._options.tools is None or call.action.tool in offered):
            return call
        usage = TokenUsage()
        corrections: list[ChatMessage] = []
        nudges: list[Nudge] = []
        made: list[Generation] = []
        for _ in range(ASKS):
            try:
                self._check_budget(history, usage)
                completion = await self._asked(observation, tools, history, corrections)
            except UnreadableReplyError as error:
                corrections.append({"role": "user", "content": UNREADABLE})
                nudges.append(Nudge(str(error)[:_SAID_CHARS], UNREADABLE))
                continue
            except AgentError as error:
                error.usage = usage  # of the earlier replies, which no step counts
                error.generations = tuple(made)
                raise
            message = completion.message
            usage += completion.usage
            try:
                first, *_ = usable_calls(message, completion.finish_reason)
                if self._options.tools is not None and first.tool not in offered:
                    raise UnusableReplyError(f"There is no tool {first.tool!r}.")
            except UnusableReplyError as problem:
                corrections += correction(message, problem)
                nudges.append(Nudge(said(message)[:_SAID_CHARS], str(problem)))
                made.append(self._generation(completion, rejected=True))
                continue
            made.append(self._generation(completion, rejected=False))
            reply = message.to_json()
            return Decision(first, _thought(message), usage, reply, tuple(nudges), tuple(made))
        failure = _unusable(self._model, nudges, usage)
        failure.generations = tuple(made)
        raise failure

    def _offered(self, tools: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
        """Return the tools that the option `tools` leaves to the model.

        Raises:
            AgentError: One of its globs fits no tool of the environment.
        """
        if self._options.tools is None:
            return tools
        globs = self._options.tools.split(",")
        try:
            chosen = picked("agent 'openai': option tools", tools, globs)
        except ConfigError as error:
            raise AgentError(str(error)) from error
        return [tool for tool in tools if tool in chosen or tool.name in _KEPT]

    def _generation(self, completion: Completion, *, rejected: bool) -> Generation:
        return Generation(
            completion.tokens,
            completion.finish_reason[:_REASON_CHARS] or None,
            completion.version,
            self._options.sampling(),
            rejected,
        )

    async def close(self) -> None:
        """Close the connections."""
        if self._endpoint is not None:
            await self._endpoint.close()

    def _check_budget(self, history: Sequence[Step], usage: TokenUsage) -> None:
        budget = self._options.token_budget
        spent = sum((step.decision.usage for step in history), usage).total
        if budget is not None and spent >= budget:
            raise PolicyError(f"the token budget is spent: {spent} of {budget} tokens")

    async def _asked(
        self,
        observation: Observation,
        tools: Sequence[ToolSpec],
        history: Sequence[Step],
        corrections: list[ChatMessage],
    ) -> Completion:
        """Ask the model; if that fails, classify whose failure it is."""
        ask = functools.partial(self._ask, observation, tools, history, corrections)
        try:
            return await self._provoked(ask, tools)
        except UnreadableReplyError:
            raise
        except DialogueError as error:
            raise PolicyError(str(error)) from error
        except EndpointError as error:
            # The first request contains nothing from the model; its refusal is a fault of the
            # set-up. A later request contains what the model has said.
            if error.status in _REFUSED and (history or corrections):
                raise PolicyError(str(error)) from error
            raise AgentError(str(error)) from error

    async def _provoked(
        self, ask: Callable[[], Awaitable[Completion]], tools: Sequence[ToolSpec]
    ) -> Completion:
        """Ask; if the server keeps failing at it alone, the model is at fault.

        A server fails at a reply that it cannot parse, a gateway at one that does not end, and a
        firewall refuses a text. It is asked for a word, then once more for a reply. One that is
        down or hangs fails at both, and one that fails now and then has to answer each word at
        once and to fail in every attempt. For a late reply it is not asked again.

        Raises:
            DialogueError: Only the dialogue, or the reply to it, makes the server fail.
            EndpointError: The request failed for another reason.
        """
        for controls in range(CONTROLS + 1):
            try:
                return await ask()
            except EndpointError as error:
                late = isinstance(error, LateReplyError)
                if not late and not is_server_failure(error):
                    raise
                if isinstance(error, LateReplyError) and error.streaming:
                    # A server with a single place may go on with it, and answer nothing else.
                    raise
                if controls < CONTROLS and not await self._answers(tools):
                    raise EndpointError(str(error), error.status) from error
                if late:
                    raise
                failure = error
        told = f"{failure}; it answers another dialogue at once"
        raise DialogueError(told, failure.status) from failure

    async def _answers(self, tools: Sequence[ToolSpec]) -> bool:
        """Return whether the server answers at once what has no words of the task and the model.

        A picture is that of the reset, because others may show what the model has done.
        """
        briefing = replace(self._briefing, instruction=_CONTROL)
        messages, _ = compose(briefing, self._first, (), 0, pictures=self._pictures.part)
        request = self._request(tools)
        timeout_s = min(self._options.timeout_s, _CONTROL_S)
        endpoint = Endpoint(self._address, timeout_s=timeout_s, retries=0, reached=True)
        try:
            bound = {self._length_name: _CONTROL_TOKENS}
            await endpoint.complete({**request, "messages": messages, **bound})
        except LateReplyError:
            return False
        except DialogueError:
            return True
        except EndpointError as error:
            return error.status in _REFUSED
        finally:
            await endpoint.close()
        return True

    async def _ask(
        self,
        observation: Observation,
        tools: Sequence[ToolSpec],
        history: Sequence[Step],
        corrections: list[ChatMessage],
    ) -> Completion:
        """Send the dialogue; if the server finds it too long, send half of it."""
        request = self._request(tools)
        first = None if history else observation
        several = self._options.parallel_tool_calls is True
        budget = self._options.context_tokens - text_tokens(request["tools"])
        composing = functools.partial(
            compose,
            self._briefing,
            first,
            history,
            several=several,
            pictures=self._pictures.part,
        )
        # Pictures are compressed, and other episodes share the loop.
        messages, size = await COMPUTING.run(composing, budget)
        try:
            return await self._send({**request, "messages": messages + corrections})
        except ContextLengthError:
            messages, _ = await COMPUTING.run(composing, size // 2)
            return await self._send({**request, "messages": messages + corrections})

    def _request(self, tools: Sequence[ToolSpec]) -> dict[str, Any]:
        return {
            "model": self._model,
            "tools": [tool.to_openai() for tool in tools],
            **self._options.request(),
        }

    async def _send(self, request: dict[str, Any]) -> Completion:
        """Send a request, with the limit on the reply under the name that the server expects."""
        assert self._endpoint is not None, "an agent is started before it acts"
        bound = self._options.max_tokens
        if bound is None:
            return await self._endpoint.complete(request)
        try:
            return await self._endpoint.complete({**request, self._length_name: bound})
        except EndpointError as error:
            other = "max_completion_tokens"
            if error.status != 400 or self._length_name == other or other not in str(error):
                raise
            self._length_name = other
            return await self._endpoint.complete({**request, other: bound})


def _unusable(model: str, nudges: Sequence[Nudge], usage: TokenUsage) -> PolicyError:
    error = PolicyError(
        f"{model} made no usable tool call in {len(nudges)} replies ({usage.total} tokens); "
        f"it was last told: {nudges[-1].told}"
    )
    error.usage = usage
    error.detail = "\n".join(f"reply: {n.said or '(empty)'}\ntold: {n.told}" for n in nudges)
    return error


def _thought(message: Message) -> str:
    thoughts = (message.thinking, message.reasoning_content, message.reasoning)
    parts = (*thoughts, message.content, message.refusal)
    return "\n\n".join(part for part in parts if part)
