"""Injected faults: the calls of a tool that fail, and the agent's observation of the failure.

Both depend only on the task, the fault, the tool, the number of the call and the seed of the
episode. No generator has a shared state that other code could advance.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentgym.errors import ServiceError
from agentgym.records import Effect, Observation, Reply
from agentgym.task.dynamics import FaultKind, FaultManifest, Point

_DRAW = "agentgym.fault/1"
"""Part of every draw: a new method needs a new name, so that faults never change silently."""

_WHOLE = 2**64
_GARBLED_SHARE = 0.2
_NOISE = "\ufffd#%&?@~^|\\0189aexzQZ"
_QUOTED = 200
_ERROR = "error: {tool}: temporarily unavailable, try again later"
_TIMEOUT = "error: {tool}: no answer in time; it is not known whether the call was carried out"
DELAY_S = 300.0
"""Default delay of a slow answer, in seconds."""


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """A fault and the call in which it is injected."""

    fault: FaultManifest
    call: int
    seed: int
    task: str

    @property
    def detail(self) -> str:
        """Description of the fault for the record, in one line."""
        fault = self.fault
        told = f"{fault.tool} call {self.call}: {fault.kind!s}"
        if fault.kind is FaultKind.SLOW:
            return f"{told}, {self.delay_s:g} s"
        return f"{told} {Point.AFTER if fault.is_executed else Point.BEFORE!s} commit"

    @property
    def delay_s(self) -> float:
        """Extra time of the call on the logical clock, in seconds."""
        if self.fault.kind is not FaultKind.SLOW:
            return 0.0
        return self.fault.delay_s or DELAY_S

    def answer(self, true: Observation | None, message: str = "") -> Observation:
        """Return the agent's observation.

        Args:
            true: Observation of the tool; None if the tool was not called.
            message: Message of the fault, slots filled.
        """
        kind, tool = self.fault.kind, self.fault.tool
        if kind is FaultKind.ERROR:
            return Observation(message or _ERROR.format(tool=tool), effect=Effect.ERROR)
        if kind is FaultKind.TIMEOUT or true is None:
            return Observation(message or _TIMEOUT.format(tool=tool), effect=Effect.TIMEOUT)
        if kind is FaultKind.SLOW:
            gap = "\n" if true.text and not true.text.endswith("\n") else ""
            return replace(true, text=f"{true.text}{gap}[the answer took {self.delay_s:g} s]")
        # The structured parts and the picture would reveal the text that was removed.
        text = self._garbled(true.text) if kind is FaultKind.GARBLED else self._cut(true.text)
        return Observation(text, effect=true.effect)

    def reply(self, true: Reply | None, message: str = "") -> Reply:
        """Return the reply for a surface that calls a service on its own, instead of the agent.

        The reply has a value or an error; a damaged value becomes an error.

        Args:
            true: Reply of the service; None if the service was not called.
            message: Message of the fault, slots filled.
        """
        if self.fault.kind is FaultKind.SLOW and true is not None:
            return true
        seen = self.answer(None if true is None else Observation(true.json), message).text
        if self.fault.kind in (FaultKind.GARBLED, FaultKind.PARTIAL):
            seen = f"the answer came through damaged: {seen[:_QUOTED]}"
        return Reply(error=ServiceError("unavailable", seen.removeprefix("error: ")))

    def _garbled(self, text: str) -> str:
        keys = [self._draw(f"character {place}") for place in range(len(text) or 8)]
        noise = [_NOISE[key % len(_NOISE)] for key in keys]
        if not text:
            return "".join(noise)
        spoilt = [key >> 8 < _GARBLED_SHARE * (_WHOLE >> 8) for key in keys]
        # At least one: a short text could otherwise pass unchanged.
        spoilt[self._draw("first") % len(text)] = True
        return "".join(n if bad else c for c, n, bad in zip(text, noise, spoilt, strict=True))

    def _cut(self, text: str) -> str:
        kept = 0.2 + 0.6 * self._draw("cut") / _WHOLE
        return text[: int(kept * len(text))]

    def _draw(self, what: str) -> int:
        return draw(self.task, self.fault, self.call, self.seed, what)


class Faults:
    """The faults of one episode; counts the calls of every tool.

    Args:
        task: Id of the task.
        faults: Faults of the task; of two that match one call, the earlier in the file wins.
        seed: Seed of the episode.
    """

    def __init__(self, task: str, faults: Sequence[FaultManifest], seed: int) -> None:
        self._task, self._faults, self._seed = task, faults, seed
        self._calls: Counter[str] = Counter()

    def fork(self) -> Faults:
        """Return the faults of a forked episode, with the same counts of calls."""
        other = Faults(self._task, self._faults, self._seed)
        other._calls = self._calls.copy()
        return other

    def next_call(self, tool: str) -> InjectedFault | None:
        """Count one more call of a tool and return the fault to inject, if any."""
        self._calls[tool] += 1
        call = self._calls[tool]
        for fault in self._faults:
            if fault.tool == tool and is_injected(self._task, fault, call, self._seed):
                return InjectedFault(fault, call, self._seed, self._task)
        return None


def is_injected(task: str, fault: FaultManifest, call: int, seed: int) -> bool:
    """Return whether a fault is injected into a call of its tool; the first call is 1.

    `at_most` limits the number of successful draws for earlier calls, whether or not those faults
    took effect.
    """
    if fault.calls is not None:
        return call in fault.calls
    if not _is_drawn(task, fault, call, seed):
        return False
    if fault.at_most is None:
        return True
    earlier = sum(_is_drawn(task, fault, other, seed) for other in range(1, call))
    return earlier < fault.at_most


def _is_drawn(task: str, fault: FaultManifest, call: int, seed: int) -> bool:
    assert fault.rate is not None
    return draw(task, fault, call, seed, "strike") < fault.rate * _WHOLE


def draw(task: str, fault: FaultManifest, call: int, seed: int, what: str) -> int:
    """Return a number below 2**64 for one decision about one call."""
    key = "\0".join([_DRAW, task, fault.id, fault.tool, str(call), str(seed), what])
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
