"""Samples from an inference server, token ids in and token ids out (vLLM, SGLang).

The server speaks OpenAI's ``/v1/completions`` with a prompt of token ids, ``return_token_ids`` and
``logprobs``. Weights are not sent to it; set `version` after loading new weights there.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from agentgym.chat.address import Address
from agentgym.chat.answers import ErrorAnswer
from agentgym.chat.connections import give_back, lend
from agentgym.errors import AgentError
from agentgym.train.sampling.answers import sampled
from agentgym.train.sampling.sampler import Completion, Dialogue

_MAY_PASS: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_FIRST_WAIT_S: Final = 0.5


class ServerSampler:
    """See the module; a `TokenSampler`.

    The log-probabilities that are learnt from must be those of the distribution that tokens were
    drawn from. A server that tells those of temperature 1 needs a setting for any other
    temperature (vLLM: ``--logprobs-mode processed_logprobs``).

    Args:
        address: The server's address, such as ``http://localhost:8000/v1``, and its key.
        model: The model's name there.
        context: Largest number of tokens of a dialogue.
        timeout_s: Seconds one completion may take, retries included.
        retries: Attempts after the first, where another may pass.

    Attributes:
        version: Number of the server's weights, recorded with each completion.
    """

    def __init__(
        self,
        address: Address,
        model: str,
        *,
        context: int,
        timeout_s: float = 600.0,
        retries: int = 4,
    ) -> None:
        self.version = 0
        self._address, self._model, self._context = address, model, context
        self._timeout_s, self._retries = timeout_s, retries
        self._client: Any = None
        # A password in the address must not reach error messages, which are recorded.
        self._shown = re.sub(r"//[^/@]*@", "//", f"{address.url}/completions")

    async def generate(
        self,
        dialogue: Dialogue,
        new_ids: Sequence[int],
        *,
        limit: int,
        stop_ids: Sequence[int],
        temperature: float = 1.0,
        seed: int = 0,
    ) -> Completion:
        """Append tokens to a dialogue, then sample; see `TokenSampler.generate`.

        Raises:
            ValueError: There is nothing to read, or `limit` or `temperature` is out of range.
            AgentError: The server cannot be reached, or its reply is not that of a server that
                takes and returns token ids.
        """
        if limit < 1 or temperature < 0:
            raise ValueError(f"limit {limit} and temperature {temperature}: out of range")
        if not dialogue.ids and not new_ids:
            raise ValueError("a new dialogue needs at least one token to read")
        version = self.version
        prompt = [*dialogue.ids, *new_ids]
        room = self._context - len(prompt)
        if room < 1:
            dialogue.ids = prompt
            return Completion((), (), "context", version)
        body = {
            "model": self._model,
            "prompt": prompt,
            "max_tokens": min(limit, room),
            "temperature": temperature,
            "seed": seed % 2**63,
            "stop_token_ids": list(stop_ids),
            "logprobs": 1,
            "return_token_ids": True,
            "skip_special_tokens": False,
        }
        answer = self._read(await self._post(body), prompt)
        asked = min(limit, room)
        ids, logprobs = sampled(self._shown, *answer, limit=asked, stop_ids=stop_ids)
        dialogue.ids = [*prompt, *ids]
        # A server may leave out the token that stopped it; the template appends it then.
        stopped = bool(ids) and ids[-1] in stop_ids
        reason = "stop" if stopped else "length" if limit <= room else "context"
        return Completion(tuple(ids), tuple(logprobs), reason, version)

    def end(self, dialogue: Dialogue) -> None:
        """Do nothing: the server frees what it does not need."""

    async def close(self) -> None:
        """Give back the connections."""
        client, self._client = self._client, None
        if client is not None:
            await give_back(self._address.url, self._address.key)

    async def _post(self, body: Mapping[str, Any]) -> Any:
        """Return the server's answer, after further attempts where another may pass."""
        wait_s = _FIRST_WAIT_S
        if self._client is None:
            self._client = lend(self._address.url, self._address.key)
        try:
            async with asyncio.timeout(self._timeout_s):
                for attempt in range(self._retries + 1):
                    try:
                        return await self._attempt(body)
                    except _FailedError as failure:
                        if not failure.may_pass or attempt == self._retries:
                            raise AgentError(f"{self._shown}: {failure}") from failure
                    await asyncio.sleep(wait_s)
                    wait_s *= 2
        except TimeoutError as error:
            raise AgentError(
                f"{self._shown}: no completion within {self._timeout_s:g} s"
            ) from error
        raise AssertionError("the last attempt returns or raises")

    async def _attempt(self, body: Mapping[str, Any]) -> Any:
        headers = {"Authorization": f"Bearer {self._address.key}"}
        try:
            url = f"{self._address.url}/completions"
            # The deadline is that of all attempts.
            response = await self._client.post(url, json=body, headers=headers, timeout=None)
            return json.loads(response.content)
        except ErrorAnswer as answer:
            told = f"answered {answer.status}: {answer.said}"
            raise _FailedError(told, answer.status in _MAY_PASS) from answer
        except (ValueError, RecursionError) as error:
            raise _FailedError(f"its answer is not JSON: {error}", False) from error
        except Exception as error:  # The HTTP library has many ways to fail.
            told = f"the connection failed: {type(error).__name__}: {error}"
            raise _FailedError(told, True) from error

    def _read(self, answer: Any, prompt: Sequence[int]) -> tuple[Any, Any]:
        """Return the token ids and log-probabilities of an answer.

        Raises:
            AgentError: It has none, or the server read another prompt.
        """
        try:
            (choice,) = answer["choices"]
            ids, logprobs = choice["token_ids"], choice["logprobs"]["token_logprobs"]
            read = choice.get("prompt_token_ids", answer.get("prompt_token_ids"))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise AgentError(
                f"{self._shown}: the completion of {self._model} has no token ids and "
                f"log-probabilities ({error!r}); use a server that knows return_token_ids, such as "
                "vLLM 0.10 or later"
            ) from error
        if read is not None and read != list(prompt):
            raise AgentError(f"{self._shown}: the server read other tokens than were sent")
        return ids, logprobs


class _FailedError(Exception):
    """One attempt failed; `may_pass` tells whether another may succeed."""

    def __init__(self, message: str, may_pass: bool) -> None:
        self.may_pass = may_pass
        super().__init__(message)
