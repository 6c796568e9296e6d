"""The model agent: any endpoint that speaks OpenAI's chat-completions API with tool calls.

Owns one decision: what is sent, what is accepted as an answer, and how often the model is asked
again. Transport is in `endpoint`, the dialogue in `dialogue` and `context`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agentgym.agents.context import compose, text_tokens
from agentgym.chat.completion import Completion, Message
from agentgym.chat.endpoint import Address, ContextLengthError, Endpoint, EndpointError
from agentgym.chat.spec import read_model
from agentgym.chat.toolcalls import (
    ChatMessage,
    UnusableReplyError,
    correction,
    describe,
    first_call,
)
from agentgym.errors import AgentError
from agentgym.records import Briefing, Decision, Observation, Step, TokenUsage, ToolSpec

ASKS = 3
EXAMPLE = "openai:gpt-x?stream=true&temperature=0"


class Options(BaseModel):
    """What may follow the model's name, as in ``openai:gpt-x?stream=true&temperature=0``.

    Attributes:
        stream: Ask for the reply as an event stream, where idle connections are cut.
        temperature: Of sampling; the server's default where absent.
        timeout_s: Seconds one reply may take, retries included.
        retries: Attempts after the first, on 429, 5xx and broken connections.
        context_tokens: Size (estimated) to which the dialogue is trimmed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    stream: bool = False
    temperature: float | None = Field(None, ge=0)
    timeout_s: float = Field(300.0, gt=0)
    retries: int = Field(4, ge=0)
    context_tokens: int = Field(100_000, ge=1)


class OpenAIAgent:
    """Lets a model play, e.g. ``OpenAIAgent("gpt-x?temperature=0")``.

    The endpoint comes from ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``; a local endpoint needs
    no key.

    Raises:
        ConfigError: No model, an unknown option, or no endpoint in the environment.
    """

    def __init__(self, argument: str = "") -> None:
        self._model, self._options = read_model(
            argument, Options, who="agent 'openai'", example=EXAMPLE
        )
        self._address = Address.from_environment("agent 'openai'")
        self._endpoint: Endpoint | None = None

    async def start(self, briefing: Briefing) -> None:
        """Take the instruction."""
        self._briefing = briefing
        self._endpoint = Endpoint(
            self._address, timeout_s=self._options.timeout_s, retries=self._options.retries
        )

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Ask the model for its next tool call.

        Raises:
            AgentError: The endpoint failed, or the model made no usable call in `ASKS` replies.
        """
        usage = TokenUsage()
        corrections: list[ChatMessage] = []
        for _ in range(ASKS):
            try:
                completion = await self._ask(observation, tools, history, corrections)
            except EndpointError as error:
                raise AgentError(str(error)) from error
            message = completion.message
            usage += completion.usage
            try:
                action = first_call(message)
            except UnusableReplyError as problem:
                corrections += correction(message, problem)
                continue
            return Decision(action, _thought(message), usage, message.to_json())
        raise AgentError(
            f"{self._model} made no usable tool call in {ASKS} replies; "
            f"it was last told: {corrections[-1]['content']}"
        )

    async def close(self) -> None:
        """Close the connections."""
        if self._endpoint is not None:
            await self._endpoint.close()

    async def _ask(
        self,
        observation: Observation,
        tools: Sequence[ToolSpec],
        history: Sequence[Step],
        corrections: list[ChatMessage],
    ) -> Completion:
        """Send the dialogue; where the server finds it too long, send half of it."""
        assert self._endpoint is not None, "an agent is started before it acts"
        request: dict[str, Any] = {
            "model": self._model,
            "tools": [describe(tool) for tool in tools],
        }
        if self._options.temperature is not None:
            request["temperature"] = self._options.temperature
        if self._options.stream:
            request |= {"stream": True, "stream_options": {"include_usage": True}}
        first = None if history else observation
        budget = self._options.context_tokens - text_tokens(request["tools"])
        messages, size = compose(self._briefing, first, history, budget)
        try:
            return await self._endpoint.complete({**request, "messages": messages + corrections})
        except ContextLengthError:
            messages, _ = compose(self._briefing, first, history, size // 2)
            return await self._endpoint.complete({**request, "messages": messages + corrections})


def _thought(message: Message) -> str:
    parts = (message.reasoning_content, message.reasoning, message.content)
    return "\n\n".join(part for part in parts if part)
