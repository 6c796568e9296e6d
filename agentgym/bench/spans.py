"""Measures the time that each phase of an episode takes, also with many concurrent episodes.

A span is a call's own time, without the time of watched calls inside it. Spans that are open at
the same time in other tasks are kept apart by their context.
"""

from __future__ import annotations

import inspect
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass
class _Span:
    inner_s: float = 0.0


_open: ContextVar[_Span | None] = ContextVar("_open", default=None)


class Spans:
    """Seconds by phase, for everything that happens inside a root call.

    Attributes:
        spent_s: Phase to seconds.
    """

    def __init__(self) -> None:
        self.spent_s: defaultdict[str, float] = defaultdict(float)
        self._restore: list[tuple[object, str, object]] = []

    def watch(self, owner: object, names: str, phase: str, *, root: bool = False) -> None:
        """Count the time of functions and methods for a phase.

        Args:
            owner: A module, a class or an object.
            names: Names of its functions, separated by blanks.
            phase: Phase that their time counts for.
            root: Whether an episode begins here; calls outside an episode are not counted.
        """
        for name in names.split():
            original = getattr(owner, name)
            self._restore.append((owner, name, original))
            setattr(owner, name, self._timed(original, phase, root))

    def stop(self) -> None:
        """Put the original functions back."""
        for owner, name, original in self._restore:
            setattr(owner, name, original)

    def _timed(self, call: Callable[..., Any], phase: str, root: bool) -> Callable[..., Any]:
        async def waited(*args: object, **kwargs: object) -> object:
            with self._span(phase, root):
                return await call(*args, **kwargs)

        def called(*args: object, **kwargs: object) -> object:
            with self._span(phase, root):
                return call(*args, **kwargs)

        return waited if inspect.iscoroutinefunction(call) else called

    @contextmanager
    def _span(self, phase: str, root: bool) -> Iterator[None]:
        around, span = _open.get(), _Span()
        if around is None and not root:
            yield
            return
        token = _open.set(span)
        started = time.perf_counter()
        try:
            yield
        finally:
            whole_s = time.perf_counter() - started
            _open.reset(token)
            self.spent_s[phase] += whole_s - span.inner_s
            if around is not None and not root:
                around.inner_s += whole_s
