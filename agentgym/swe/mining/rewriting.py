"""A model writes an issue from the text of a change; the filter of leaks reads its reply, too."""

from __future__ import annotations

from typing import Final

from agentgym.chat.address import Address
from agentgym.chat.endpoint import Endpoint
from agentgym.chat.errors import EndpointError
from agentgym.errors import AgentError
from agentgym.swe.mining.mine import Rewrite

_TIMEOUT_S: Final = 120.0
_RETRIES: Final = 3
_MOST_TEXT: Final = 12_000
_PROMPT: Final = """\
You get the text of a merged change and the patch of its tests. Write the issue that a user \
would have reported before the change: what they did, what they saw, what they expected. State \
every name, message and value that the tests depend on. Do not say how to fix it, do not name \
files or functions that only the fix touches, and do not mention the tests or the change. \
Reply with the issue alone: a title, an empty line, the text."""


def rewriter(model: str) -> Rewrite:
    """Return a function that asks a model of the endpoint in the environment variables.

    Raises:
        ConfigError: No endpoint is set.
    """
    address = Address.from_environment("task mine --model")

    async def rewrite(source: str, test_patch: str) -> str:
        endpoint = Endpoint(address, timeout_s=_TIMEOUT_S, retries=_RETRIES)
        told = f"Change:\n{source[:_MOST_TEXT]}\n\nTests:\n{test_patch[:_MOST_TEXT]}"
        messages = [{"role": "system", "content": _PROMPT}, {"role": "user", "content": told}]
        try:
            reply = await endpoint.complete({"model": model, "messages": messages})
        except EndpointError as error:
            raise AgentError(f"task mine --model {model}: {error}") from error
        finally:
            await endpoint.close()
        return reply.message.content or ""

    return rewrite
