"""Samples completions of many dialogues at a time from one model (continuous batching).

A dialogue keeps a row of the model's cache from turn to turn, so each turn reads only what is new.
A thread runs the model; requests join and leave its batch between tokens (Yu et al. 2022, "Orca").
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agentgym.errors import AgentError
from agentgym.protocols.training import CausalModel
from agentgym.train.sampling.draws import draw


class SamplingError(AgentError):
    """The model cannot sample, such as for want of memory: what it played so far is no result."""


@dataclass(frozen=True, slots=True)
class Completion:
    """Tokens that were sampled.

    Attributes:
        ids: The tokens, with the one that stopped it.
        logprobs: Their natural log-probabilities under the distribution they were drawn from.
        finish_reason: ``"stop"``, ``"length"`` (as many as were asked for) or ``"context"`` (the
            dialogue has no room for more).
        version: Which weights sampled it.
    """

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    finish_reason: str
    version: int


@dataclass(eq=False)
class Dialogue:
    """The tokens of one dialogue so far. `Sampler.generate` appends to it.

    Attributes:
        ids: Everything the model has read and sampled.
    """

    ids: list[int] = field(default_factory=list)
    row: int | None = None
    read_after: int = -1
    """Number of updates of the weights after which its row was read."""


@dataclass(eq=False)
class _Request:
    dialogue: Dialogue
    new_ids: Sequence[int]
    limit: int
    stop_ids: frozenset[int]
    temperature: float
    generator: random.Random
    done: asyncio.Future[Completion]
    sampled: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class Sampler:
    """See the module.

    Args:
        model: The model; nothing else may change its weights but within `updating`.
        rows: Dialogues whose tokens stay in the cache; more take turns and are read again.
        batch_invariant: Run each row by itself, so that what is sampled does not depend, to the
            last bit, on what else is being sampled. Slower; for exact repetition on a CPU.

    Attributes:
        version: Version of the weights.
    """

    def __init__(
        self, model: CausalModel, *, rows: int = 64, batch_invariant: bool = False
    ) -> None:
        if rows < 1:
            raise ValueError(f"rows: expected a positive number, got {rows}")
        self.version = self._updates = 0
        self._model, self._batch_invariant = model, batch_invariant
        self._cache = model.start_cache(rows)
        self._held: dict[int, Dialogue | None] = dict.fromkeys(range(rows))
        self._waiting: list[_Request] = []
        self._running: list[_Request] = []
        self._arrived = False
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="agentgym-sampler")
        self._loop: asyncio.Task[None] | None = None
        self._updating = asyncio.Lock()
        self._idle = asyncio.Event()
        self._idle.set()

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
        """Append tokens to a dialogue, then sample until a stop token, the limit or the context.

        Args:
            dialogue: It is not being continued elsewhere.
            new_ids: Tokens to read before sampling; at least one for a new dialogue.
            limit: Largest number of tokens to sample.
            stop_ids: A completion ends with the first of these.
            temperature: 0 takes the likeliest token.
            seed: Seed of this completion's draws.

        Raises:
            ValueError: There is nothing to read, or `limit` or `temperature` is out of range.
            SamplingError: The model failed, or its logits are no finite numbers.
        """
        if limit < 1 or temperature < 0:
            raise ValueError(f"limit {limit} and temperature {temperature}: out of range")
        if not dialogue.ids and not new_ids:
            raise ValueError("a new dialogue needs at least one token to read")
        async with self._updating:  # An update waits for what is being sampled, and comes first.
            done: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
            request = _Request(
                *(dialogue, list(new_ids), limit, frozenset(stop_ids), temperature),
                *(random.Random(seed), done),
            )
            self._waiting.append(request)
            self._arrived = True
            self._idle.clear()
            if self._loop is None or self._loop.done():
                self._loop = asyncio.create_task(self._run())
        return await done

    def end(self, dialogue: Dialogue) -> None:
        """Free a dialogue's row, at once or when its token is sampled; it may be continued."""
        for request in self._running:
            if request.dialogue is dialogue:
                request.done.cancel()
                return
        self._release(dialogue)

    @asynccontextmanager
    async def updating(self, version: int | None = None) -> AsyncIterator[None]:
        """Wait until nothing is being sampled, and let nothing begin until the block ends.

        The block changes the weights. Dialogues that go on are read again with the new ones.

        Args:
            version: Version of the new weights, None for the next one.
        """
        async with self._updating:
            await self._idle.wait()
            yield
            self._updates += 1
            self.version = self.version + 1 if version is None else version

    async def close(self) -> None:
        """End what is being sampled."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)
        self._worker.shutdown()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting or self._running:
                self._admit()
                batch = list(self._running)
                await loop.run_in_executor(self._worker, self._advance, batch)
                for request in batch:
                    self._settle(request)
        except BaseException as error:
            failure = _failure(error) if isinstance(error, Exception) else error
            for request in (*self._waiting, *self._running):
                if not request.done.done():
                    request.done.set_exception(failure)
            if failure is error:
                raise
        finally:
            self._waiting, self._running = [], []
            self._idle.set()

    def _admit(self) -> None:
        """Let waiting requests join the batch as far as there are rows."""
        self._arrived = False
        self._waiting = [request for request in self._waiting if not request.done.done()]
        while self._waiting and self._place(self._waiting[0].dialogue):
            request = self._waiting.pop(0)
            request.dialogue.ids += request.new_ids
            if len(request.dialogue.ids) < self._model.context:
                self._running.append(request)
            else:
                self._finish(request, "context")

    def _place(self, dialogue: Dialogue) -> bool:
        """Give a dialogue a row that holds the beginning of its tokens, or nothing."""
        if dialogue.row is None:
            busy = {id(request.dialogue) for request in self._running}
            free = (row for row, held in self._held.items() if held is None or id(held) not in busy)
            row = next(free, None)
            if row is None:
                return False
            if (held := self._held[row]) is not None:
                held.row = None
            self._cache.clear(row)
            dialogue.row = row
        elif dialogue.read_after != self._updates:
            self._cache.clear(dialogue.row)
        dialogue.read_after = self._updates
        # The row that was used longest ago stands first.
        del self._held[dialogue.row]
        self._held[dialogue.row] = dialogue
        return True

    def _advance(self, batch: Sequence[_Request]) -> None:
        """Sample tokens until a completion ends or a request arrives; in the worker's thread.

        The event loop, which other episodes keep busy, is not asked after each token.
        """
        while True:
            for request, (token, logprob) in zip(batch, self._step(batch), strict=True):
                request.dialogue.ids.append(token)
                request.sampled.append(token)
                request.logprobs.append(logprob)
            changed = any(self._ending(each) or each.done.done() for each in batch)
            if changed or self._arrived or not batch:
                return

    def _step(self, batch: Sequence[_Request]) -> list[tuple[int, float]]:
        """Read what each dialogue has unread, and draw its next token."""
        unread = [request.dialogue.ids[self._cache.length(_row(request)) :] for request in batch]
        found: dict[int, tuple[int, float]] = {}
        for part in self._parts(unread):
            rows = [_row(batch[index]) for index in part]
            logits = self._model.extend([unread[index] for index in part], rows, self._cache)
            generators = [batch[index].generator for index in part]
            temperatures = [batch[index].temperature for index in part]
            drawn = zip(*draw(logits, generators, temperatures), strict=True)
            found.update(zip(part, drawn, strict=True))
        return [found[index] for index in range(len(batch))]

    def _parts(self, unread: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return which requests run together: many tokens are not padded to by one."""
        if self._batch_invariant:
            return [[index] for index in range(len(unread))]
        one = [index for index, ids in enumerate(unread) if len(ids) == 1]
        more = [index for index, ids in enumerate(unread) if len(ids) > 1]
        return [part for part in (one, more) if part]

    def _settle(self, request: _Request) -> None:
        """End a completion whose last token was sampled, or whose caller was cancelled."""
        if request.done.done():
            self._running.remove(request)
            self._release(request.dialogue)
        elif reason := self._ending(request):
            self._finish(request, reason)

    def _ending(self, request: _Request) -> str:
        """Return why a completion ends with its last token; empty if it goes on."""
        if request.sampled[-1] in request.stop_ids:
            return "stop"
        if len(request.sampled) == request.limit:
            return "length"
        return "context" if len(request.dialogue.ids) == self._model.context else ""

    def _finish(self, request: _Request, reason: str) -> None:
        if request in self._running:
            self._running.remove(request)
        if request.done.done():
            return
        if not all(map(math.isfinite, request.logprobs)):
            request.done.set_exception(SamplingError("the model's logits are no finite numbers"))
            return
        told = (tuple(request.sampled), tuple(request.logprobs), reason, self.version)
        request.done.set_result(Completion(*told))

    def _release(self, dialogue: Dialogue) -> None:
        if dialogue.row is not None:
            self._held[dialogue.row] = None
            dialogue.row = None


def _row(request: _Request) -> int:
    assert request.dialogue.row is not None  # A running request has one.
    return request.dialogue.row


def _failure(error: Exception) -> SamplingError:
    failure = SamplingError(f"the model failed: {type(error).__name__}: {error!s:.500}")
    failure.__cause__ = error
    return failure
