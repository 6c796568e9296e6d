"""Adapts a user's own agent to the engine: a method `act` is enough, sync or async.

Each agent has a thread and an event loop of its own, so that a blocking one delays no other. At its
deadline its thread is left behind, and the episode is judged as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentgym.agents.blame import blame
from agentgym.agents.loading import Source
from agentgym.agents.settled import settled
from agentgym.errors import (
    AgentError,
    AgentGymError,
    ConfigError,
    PolicyError,
    pass_interruptions,
)
from agentgym.records import Action, Briefing, Decision, Observation, Step, ToolSpec
from agentgym.threads import to_thread

_PARTING_S: Final = 5.0
"""Longest wait for a thread whose agent has ended, in seconds."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Outcome of a call: its value, or the failure of the policy or of its transport."""

    value: Any = None
    error: AgentError | None = None


class OwnAgent:
    """An `Agent` around an object of a user's class, which is created when the episode starts.

    The object has ``act(observation, tools, history)``, which returns a `Decision`, an `Action`
    or ``{"tool": …, "arguments": {…}}``, and optionally ``start(briefing)`` and ``close()``.

    Args:
        source: Creates the object.

    Attributes:
        module: The module of its class.
        privileged: Whether it asks for the reference actions.
    """

    def __init__(self, source: Source) -> None:
        self.module, self.privileged = source.module, source.privileged
        self._source = source
        self._agent: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._busy = 0

    def check(self) -> None:
        """Create an object once, as an episode would.

        Raises:
            ConfigError: The object cannot be created, or has no `act`.
            AgentGymError: An installed agent cannot be created.
        """
        spec = self._source.spec
        try:
            made = self._source.make()
        except AgentGymError:
            raise
        except BaseException as error:  # the user's code may raise anything
            pass_interruptions(error)
            told = f"{type(error).__name__}: {error}"
            raise ConfigError(f"agent {spec!r} cannot be made: {told}") from error
        if not callable(getattr(made, "act", None)):
            raise ConfigError(f"agent {spec!r} made a {type(made).__name__} without act()")

    async def start(self, briefing: Briefing) -> None:
        """Create the object and brief it."""

        async def begin() -> None:
            self._agent = self._source.make()
            await _called(self._agent, "start", briefing)

        await self._run(begin)

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Return the object's decision.

        Raises:
            PolicyError: The object raised an exception, or returned something else.
            AgentError: Installed code raised an exception because a connection or a server failed.
        """

        async def choose() -> Any:
            chosen = self._agent.act(observation, tools, history)
            if inspect.isawaitable(chosen):
                chosen = await chosen
            if not isinstance(chosen, Decision):
                chosen = Decision(Action.from_json(chosen))
            return settled(chosen)

        decision: Decision = await self._run(choose)
        return decision

    async def close(self) -> None:
        """Close the object and end its thread; a thread that is still busy is left behind."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        if not self._busy:
            with contextlib.suppress(Exception):
                await self._run(lambda: _called(self._agent, "close"))
        self._loop = self._thread = None
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(loop.stop)
        if not self._busy:
            await to_thread(thread.join, _PARTING_S)

    async def _run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Run a coroutine in the object's own thread, where also its exception is read."""

        async def done() -> _Outcome:
            self._busy += 1
            try:
                return _Outcome(await work())
            except BaseException as error:  # noqa: BLE001 - the agent may raise anything
                return _Outcome(error=self._failure(error))
            finally:
                self._busy -= 1

        outcome = await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(done(), self._open_loop())
        )
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def _failure(self, error: BaseException) -> AgentError:
        """Return the failure that the engine records; no code of the agent runs when it is read."""
        try:
            return blame(error, self)
        except BaseException:  # noqa: BLE001 - its attributes and texts may raise anything
            return PolicyError(f"{type(error).__name__}: (it cannot be read)")

    def _open_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            name = f"agent {self._source.spec}"
            # A daemon: an agent that never returns does not keep the process from ending.
            self._thread = threading.Thread(target=_serve, args=(self._loop,), name=name)
            self._thread.daemon = True
            self._thread.start()
        return self._loop


async def _called(agent: Any, name: str, *arguments: object) -> None:
    """Call a method that an agent may lack."""
    method = getattr(agent, name, None)
    if method is not None:
        result = method(*arguments)
        if inspect.isawaitable(result):
            await result


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run an agent's loop until it is stopped, then end the tasks that it left running."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(_gathered(left))
        loop.run_until_complete(loop.shutdown_asyncgens())
    except Exception:  # noqa: BLE001 - what the agent leaves running may raise anything
        pass
    finally:
        loop.close()


async def _gathered(tasks: set[asyncio.Task[Any]]) -> None:
    async with asyncio.timeout(_PARTING_S):
        await asyncio.gather(*tasks, return_exceptions=True)
