"""The judge: any model behind an OpenAI-compatible endpoint, with cache, votes and deadline."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from agentgym.chat.address import Address
from agentgym.chat.endpoint import Endpoint
from agentgym.chat.spec import read_model
from agentgym.errors import VerifierError
from agentgym.records import Criterion, Exhibit, Json, Judgement, Vote
from agentgym.verify.judge.answer import UnusableAnswerError, read_relevance, read_vote
from agentgym.verify.judge.cache import AnswerCache, cache_key
from agentgym.verify.judge.client import Client, Forms
from agentgym.verify.judge.prompt import (
    VERSION,
    answer_schema,
    judge_messages,
    relevance_messages,
    relevance_schema,
)
from agentgym.verify.judge.question import check_question
from agentgym.verify.judge.quoting import fingerprint
from agentgym.verify.judge.relevance import BATCH, best, fit
from agentgym.verify.judge.unanswered import (
    CONTROL,
    WITHHELD_CHARS,
    FailedAnswerError,
    LateAnswerError,
    UnansweredError,
    blamed,
    reduced,
    withheld,
)
from agentgym.verify.judge.votes import count
from agentgym.verify.thread import run_cancellable

EXAMPLE = "openai:gpt-x?temperature=0"
CHARS_PER_TOKEN = 4

PROMPT_SHARE = 1 / 4
"""Share of the time of a reply in which a judge that is not slow answers the empty control."""

POLL_SHARE = 0.45
"""Share of the time for a criterion after which a judge is asked about less."""
_SLACK_S = 1.0
_REPLIES = 2 + 2 * PROMPT_SHARE
"""Late replies, in times of one, after which the exhibits are found to blame; with some room."""

T = TypeVar("T")


class Options(BaseModel):
    """The options after the model's name, as in ``openai:gpt-x?temperature=0&timeout_s=300``.

    Attributes:
        temperature: Sampling temperature; None for the server's default.
        max_tokens: Tokens of one reply, its reasoning included; None for the server's limit. A
            reply that is cut off does not count as an answer.
        timeout_s: Seconds one reply may take, retries included.
        retries: Attempts after the first, on 429, 5xx and broken connections.
        context_tokens: Size (estimated) to which the texts of exhibits are shortened.
        grading_s: Seconds that one criterion may take, beside the time of grading; at least what
            late replies take until it is known why they are late.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
    temperature: float | None = Field(None, ge=0)
    max_tokens: int | None = Field(None, ge=1)
    timeout_s: float = Field(120.0, gt=0)
    retries: int = Field(4, ge=0)
    context_tokens: int = Field(60_000, ge=500)
    grading_s: float = Field(600.0, gt=0)

    @property
    def sampling(self) -> Mapping[str, Json]:
        """The sampling fields of a request."""
        fields = {"temperature": self.temperature, "max_completion_tokens": self.max_tokens}
        return {name: value for name, value in fields.items() if value is not None}


class ModelJudge:
    """Lets a model judge, e.g. ``ModelJudge("gpt-x?temperature=0")``.

    The endpoint comes from ``AGENTGYM_JUDGE_BASE_URL`` and ``AGENTGYM_JUDGE_API_KEY``, else from
    ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``.

    Args:
        argument: The model and its options.
        cache: Store of the answers.

    Attributes:
        name: The model's name.
        grading_s: Seconds that one criterion may take.

    Raises:
        ConfigError: The model or the endpoint is missing, or an option is unknown.
    """

    def __init__(self, argument: str, cache: AnswerCache | None = None) -> None:
        self.name, self._options = read_model(
            argument, Options, who="judge 'openai'", example=EXAMPLE
        )
        self._address = Address.from_environment("judge 'openai'", "AGENTGYM_JUDGE")
        least_s = _REPLIES * (self._options.timeout_s + _SLACK_S)
        self.grading_s = max(self._options.grading_s, least_s)
        self._cache = cache or AnswerCache()
        self._forms = Forms()
        self._answers_control: set[Criterion] = set()
        self._slow: set[frozenset[str]] = set()
        """Digests of the long texts that were shown together when it wrote without end."""

    def decide(
        self,
        criterion: Criterion,
        exhibits: Sequence[Exhibit],
        *,
        votes: int = 1,
        top_k: int = 5,
        timeout_s: float | None = None,
    ) -> Judgement:
        """Decide a criterion; see `agentgym.protocols.Judge`."""
        check_question(criterion, votes, top_k)
        try:
            return run_cancellable(self._decide(criterion, exhibits, votes, top_k, timeout_s))
        except asyncio.CancelledError as error:
            raise VerifierError(f"judge {self.name}: the grading was cancelled") from error

    async def _decide(
        self,
        criterion: Criterion,
        exhibits: Sequence[Exhibit],
        votes: int,
        top_k: int,
        timeout_s: float | None,
    ) -> Judgement:
        options = self._options
        endpoint = Endpoint(self._address, timeout_s=options.timeout_s, retries=options.retries)
        client = Client(endpoint, self.name, self._forms, options.sampling)
        try:
            async with asyncio.timeout(timeout_s):
                poll_s = None if timeout_s is None else timeout_s * POLL_SHARE
                return await self._answered(client, criterion, exhibits, votes, top_k, poll_s)
        except TimeoutError as error:
            raise VerifierError(
                f"judge {self.name}: no answer in the time for a criterion; give it more "
                f"with openai:{self.name}?grading_s=1800"
            ) from error
        finally:
            await endpoint.close()

    async def _answered(
        self,
        client: Client,
        criterion: Criterion,
        exhibits: Sequence[Exhibit],
        votes: int,
        top_k: int,
        poll_s: float | None,
    ) -> Judgement:
        """Ask about all exhibits, then about fewer, then test whether they are the cause."""
        began_s, slow = time.monotonic(), self._slow_in(exhibits)
        exhibits = [withheld(e) if _digest(e) in slow else e for e in exhibits]
        try:
            return await self._timed_poll(client, criterion, exhibits, votes, top_k, poll_s)
        except UnansweredError as error:
            first = error
        if isinstance(first, FailedAnswerError):
            # A server that is down fails now as well, and one that was down reads all of it now.
            await self._ask_control(client, criterion, first)
            # Both questions about all of it take no more time than one may.
            left_s = None if poll_s is None else began_s + poll_s - time.monotonic()
            if left_s is None or left_s > self._options.timeout_s + _SLACK_S:
                with suppress(UnansweredError):
                    return await self._timed_poll(client, criterion, exhibits, votes, top_k, left_s)
        fewer = reduced(exhibits)
        try:
            found = await self._timed_poll(client, criterion, fewer, votes, 1, poll_s)
            return replace(found, reasons=f"{found.reasons} (Shown less, because: {first})")
        except UnansweredError as error:
            again = error
        was_late = isinstance(first, LateAnswerError) or isinstance(again, LateAnswerError)
        has_failed = isinstance(again, FailedAnswerError)
        if was_late or has_failed or criterion not in self._answers_control:
            # A server that is slow just now answers this late as well.
            prompt_s = self._options.timeout_s * PROMPT_SHARE if was_late else None
            await self._ask_control(client, criterion, first, prompt_s)
        if was_late:
            long = [exhibit for exhibit in exhibits if len(exhibit.text) >= WITHHELD_CHARS]
            if long:
                self._slow.add(frozenset(map(_digest, long)))
        return blamed(criterion, votes, self.name, again)

    def _slow_in(self, exhibits: Sequence[Exhibit]) -> frozenset[str]:
        """Return the digests of texts that made it late together, where all are shown again.

        One of them alone may be innocent, and be shown in the episodes of other agents.
        """
        shown = {_digest(exhibit) for exhibit in exhibits} if self._slow else set[str]()
        return frozenset().union(*(texts for texts in self._slow if texts <= shown))

    async def _ask_control(
        self,
        client: Client,
        criterion: Criterion,
        first: UnansweredError,
        prompt_s: float | None = None,
    ) -> None:
        """Ask about an empty exhibit, to which a model that works has an answer.

        Args:
            client: Asks the model.
            criterion: The criterion.
            first: What kept it from answering about the exhibits.
            prompt_s: Seconds in which a server that is not slow answers.

        Raises:
            VerifierError: It gave none, so the exhibits are not to blame.
        """
        try:
            async with asyncio.timeout(prompt_s):
                await self._vote(client, criterion, CONTROL, 0, kept=False)
        except VerifierError as error:
            raise VerifierError(f"{first}; about an empty exhibit: {error}") from error
        except TimeoutError as error:
            told = f"no answer within {prompt_s:g} s either"
            raise VerifierError(f"{first}; about an empty exhibit: {told}") from error
        self._answers_control.add(criterion)

    async def _timed_poll(
        self,
        client: Client,
        criterion: Criterion,
        exhibits: Sequence[Exhibit],
        votes: int,
        top_k: int,
        limit_s: float | None,
    ) -> Judgement:
        """Ask about exhibits, and leave time for what follows.

        Raises:
            LateAnswerError: The replies, each of them in time, took too long together.
        """
        if limit_s is not None:
            limit_s = max(limit_s, self._options.timeout_s + _SLACK_S)
        try:
            async with asyncio.timeout(limit_s) as limit:
                return await self._poll(client, criterion, exhibits, votes, top_k)
        except TimeoutError as error:
            if not limit.expired():
                raise
            told = f"judge {self.name}: its answers took more than {limit_s:g} s together"
            raise LateAnswerError(told) from error

    async def _poll(
        self,
        client: Client,
        criterion: Criterion,
        exhibits: Sequence[Exhibit],
        votes: int,
        top_k: int,
    ) -> Judgement:
        shown = await self._select(client, criterion, exhibits, top_k)
        ballots = [self._vote(client, criterion, shown, i) for i in range(votes)]
        found = count(criterion, await _all(ballots), self.name)
        return replace(found, left_out=tuple(exhibit.id for exhibit in shown if exhibit.left_out))

    async def _select(
        self, client: Client, criterion: Criterion, exhibits: Sequence[Exhibit], top_k: int
    ) -> list[Exhibit]:
        """Return the exhibits to show: the most relevant screenshots, and shortened texts."""
        screens = [exhibit for exhibit in exhibits if exhibit.image is not None]
        if len(screens) > top_k > 0:
            batches = [screens[i : i + BATCH] for i in range(0, len(screens), BATCH)]
            scored = await _all([self._relevance(client, criterion, batch) for batch in batches])
            relevance = {screen: score for batch in scored for screen, score in batch.items()}
            screens = best(screens, relevance, top_k)
        kept = {exhibit.id for exhibit in screens[:top_k]}
        shown = [e for e in exhibits if e.image is None or e.id in kept]
        chars = self._options.context_tokens * CHARS_PER_TOKEN
        return fit(criterion.text, shown, chars)

    async def _relevance(
        self, client: Client, criterion: Criterion, screens: Sequence[Exhibit]
    ) -> dict[str, int]:
        key = self._key("relevance", criterion, screens, 0)
        asked = relevance_messages(criterion, screens), relevance_schema(screens)
        read = functools.partial(read_relevance, screens=screens)
        found, _ = await self._answer(client, key, *asked, read)
        return found

    async def _vote(
        self,
        client: Client,
        criterion: Criterion,
        exhibits: Sequence[Exhibit],
        index: int,
        *,
        kept: bool = True,
    ) -> Vote:
        key = self._key("decision", criterion, exhibits, index)
        asked = judge_messages(criterion, exhibits), answer_schema(criterion, exhibits)
        read = functools.partial(read_vote, criterion=criterion, exhibits=exhibits)
        if not kept:
            return (await client.ask(*asked, read))[0]
        vote, cached = await self._answer(client, key, *asked, read)
        return replace(vote, cached=cached)

    async def _answer(
        self,
        client: Client,
        key: str,
        messages: Sequence[Mapping[str, Json]],
        schema: Mapping[str, Json],
        read: Callable[[object], T],
    ) -> tuple[T, bool]:
        """Return an answer, and whether it came from the cache."""
        kept = self._cache.read(key)
        if kept is not None:
            with suppress(UnusableAnswerError):
                return read(kept), True
        found, given = await client.ask(messages, schema, read)
        self._cache.write(key, given)
        return found, False

    def _key(self, kind: str, criterion: Criterion, exhibits: Sequence[Exhibit], vote: int) -> str:
        levels: list[Json] = [[x.name, x.score, x.meaning] for x in criterion.levels]
        parts: Mapping[str, Json] = {
            "prompt": VERSION,
            "kind": kind,
            "endpoint": self._address.url,
            "model": self.name,
            "temperature": self._options.temperature,
            "criterion": criterion.text,
            "levels": levels,
            "exhibits": [fingerprint(exhibit) for exhibit in exhibits],
            "vote": vote,
        }
        return cache_key(parts)


def _digest(exhibit: Exhibit) -> str:
    return hashlib.sha256(exhibit.text.encode(errors="surrogatepass")).hexdigest()


async def _all(asked: Sequence[Awaitable[T]]) -> list[T]:
    """Wait for all at once; the first failure cancels the others and is raised unchanged."""
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
