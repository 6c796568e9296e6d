"""The calls of one session: each call number is done once, and its answer can be had again.

A caller numbers its calls 1, 2, 3, … and repeats a call whose answer it did not receive. A call
without a number is done whenever it arrives; its answer cannot be had again.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import weakref
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from agentgym.session.answers import Answer, Failure, FailureCode, Reply
from agentgym.session.kept_answers import KeptAnswers

# The context of a task would keep the task, and both would stay until a garbage collection.
_DETACHED: ContextVar[weakref.ref[asyncio.Task[Any]] | None] = ContextVar("detached", default=None)

WINDOW: Final = 256
"""Number of the latest call numbers whose answers are kept."""

KEPT_BYTES: Final = 32 * 2**20
"""Largest size of the kept answers of one session; above it the older ones are forgotten."""


# OpenSSL looks up the algorithm for each new hash, which takes longer than to hash a call.
_EMPTY: Final = hashlib.sha256()


def detach() -> None:
    """Declare that the running task is not cancelled if its caller gives up.

    Its calls then need no tasks of their own. This does not hold for the tasks that it starts.
    """
    task = asyncio.current_task()
    _DETACHED.set(None if task is None else weakref.ref(task))


def detached_task() -> asyncio.Task[Any] | None:
    """Return the running task if it goes on when its caller gives up, else None."""
    detached = _DETACHED.get()
    if detached is None:
        return None
    task = asyncio.current_task()
    return task if detached() is task else None


@dataclass(eq=False, slots=True)
class _Numbered:
    """A call with a number.

    Attributes:
        digest: Digest of the call, which tells a repetition from another call.
        work: The running or finished call; None if its answer is forgotten.
        size: Bytes of its answer, 0 until it is there.
    """

    digest: bytes
    work: asyncio.Future[Answer] | None
    size: int = 0


class Calls:
    """Does the calls of one session.

    Args:
        max_waiting: Largest number of pending calls.
        reply_s: Seconds that a caller waits for an answer, None without a limit.
        kept: Counts the answers that all sessions of a server keep.

    Attributes:
        last: Largest number of a call that was accepted, 0 before the first.
        quiet_since_s: Time at which the last call ended, by `time.monotonic`.
    """

    def __init__(
        self, max_waiting: int, reply_s: float | None, kept: KeptAnswers | None = None
    ) -> None:
        self.last = 0
        self.quiet_since_s = time.monotonic()
        self._max_waiting, self._reply_s = max_waiting, reply_s
        self._pending: set[asyncio.Future[Answer]] = set()
        self._numbered: dict[int, _Numbered] = {}
        self._kept_bytes = 0
        self._all_kept = KeptAnswers() if kept is None else kept

    @property
    def kept_bytes(self) -> int:
        """Size of the kept answers."""
        return self._kept_bytes

    @property
    def pending(self) -> int:
        """Number of calls that are not answered yet."""
        return len(self._pending)

    async def do(self, number: object, call: str, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Do a call, or return the answer of the call that had its number before.

        Args:
            number: Number of the call, None for a call that is never repeated.
            call: The whole call as text, to tell a repetition from another call.
            work: Does the call; must not raise.
        """
        if number is None:
            return await self._once(work)
        if type(number) is not int or not 1 <= number <= self.last + WINDOW:
            told = f"1 to {self.last + WINDOW}"
            return Failure(
                FailureCode.INVALID, f"call number {number!r:.40}: expected an integer from {told}"
            )
        hashed = _EMPTY.copy()
        hashed.update(call.encode(errors="surrogatepass"))
        digest = hashed.digest()
        known = self._numbered.get(number)
        if known is None:
            if number <= self.last - WINDOW:
                return _forgotten(number)
            if refusal := self._refusal():
                return refusal
            if self._reply_s is None and detached_task() is not None:
                return await self._inline(number, digest, work)
            task = self._start(work)
            known = self._accept(number, digest, task)
        elif known.digest != digest:
            told = f"call number {number} was another call; expected the number {self.last + 1}"
            return Failure(FailureCode.NUMBER_TAKEN, told)
        running = known.work
        if running is None:
            return _forgotten(number)
        # The work is a task of its own, so it goes on if the caller gives up.
        await asyncio.wait({running}, timeout=self._reply_s)
        return _result(running, "send it again with its number to get its answer")

    async def _once(self, work: Callable[[], Awaitable[Answer]]) -> Answer:
        if refusal := self._refusal():
            return refusal
        task = self._start(work)
        try:
            await asyncio.wait({task}, timeout=self._reply_s)
        finally:
            # This stops a call that waits for its turn; one that has begun goes on.
            if not task.done():
                task.cancel()
        return _result(task, "it has no number, so its answer cannot be had")

    async def _inline(
        self, number: int, digest: bytes, work: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Do a call in the running task, which goes on if its caller gives up."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._pending.add(future)
        known = self._accept(number, digest, None)
        known.work = future
        try:
            answer = await work()
        except asyncio.CancelledError:  # The episode was cut short.
            future.cancel()
            return _result(future, "")
        except BaseException:
            future.cancel()
            raise
        else:
            future.set_result(answer)
            self._weigh(known, future)
            return answer
        finally:
            self._end(future)

    def _accept(self, number: int, digest: bytes, task: asyncio.Task[Answer] | None) -> _Numbered:
        known = self._numbered[number] = _Numbered(digest, task)
        before, self.last = self.last, max(self.last, number)
        for old in range(before - WINDOW + 1, self.last - WINDOW + 1):
            if (forgotten := self._numbered.pop(old, None)) is not None:
                self._keep(-forgotten.size)
                forgotten.work = None
        if task is not None:
            task.add_done_callback(lambda done: self._weigh(known, done))
        return known

    def _start(self, work: Callable[[], Awaitable[Answer]]) -> asyncio.Task[Answer]:
        async def run() -> Answer:
            return await work()

        task = asyncio.create_task(run())
        self._pending.add(task)
        task.add_done_callback(self._end)
        return task

    def _end(self, task: asyncio.Future[Answer]) -> None:
        self._pending.discard(task)
        self.quiet_since_s = time.monotonic()

    def _weigh(self, known: _Numbered, task: asyncio.Future[Answer]) -> None:
        """Note the size of an answer, and forget the oldest answers if all are too large."""
        if known.work is None:  # Its number is out of the window by now.
            return
        known.size = 0 if task.cancelled() else _size(task.result())
        self._keep(known.size)
        self._forget_down_to(KEPT_BYTES, known)

    def forget_half(self) -> None:
        """Forget the older half of the kept answers, at least one."""
        self._forget_down_to(self._kept_bytes // 2, None)

    def _forget_down_to(self, most_bytes: int, latest: _Numbered | None) -> None:
        if self._kept_bytes <= most_bytes:
            return
        for number in sorted(self._numbered):
            if self._kept_bytes <= most_bytes:
                break
            call = self._numbered[number]
            if call.size and call is not latest:
                size, call.work, call.size = call.size, None, 0
                self._keep(-size)

    def _keep(self, more_bytes: int) -> None:
        self._kept_bytes += more_bytes
        self._all_kept.add(self, more_bytes)

    def _refusal(self) -> Failure | None:
        if self.pending < self._max_waiting:
            return None
        told = f"{self._max_waiting} calls wait for their turn already; this one was not done"
        return Failure(FailureCode.TOO_MANY, told)


def _result(task: asyncio.Future[Answer], hint: str) -> Answer:
    if not task.done():
        return Failure(FailureCode.LATE, f"the call takes longer than a caller waits; {hint}")
    if task.cancelled():
        return Failure(FailureCode.SESSION_OVER, "the session ended during the call")
    return task.result()


def _forgotten(number: int) -> Failure:
    told = f"call number {number} was done, and its answer is not kept any more; go on without it"
    return Failure(FailureCode.FORGOTTEN, told)


def _size(answer: Answer) -> int:
    """Return about how many bytes of memory an answer takes."""
    if not isinstance(answer, Reply):
        return len(answer.message)
    seen = answer.observation
    image = 0 if seen.image is None else seen.image.nbytes
    return 1 + 4 * len(seen.text) + image + len(repr(seen.data))
