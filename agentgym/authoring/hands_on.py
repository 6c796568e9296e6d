"""Lets a person act in a task's environment in the agent's place and be judged at any time."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.env.transition import Transition
from agentgym.errors import SandboxEndedError
from agentgym.protocols import SandboxProvider
from agentgym.records import Action, Observation, Verdict
from agentgym.task.model import Task
from agentgym.task.reference_actions import answered, reference
from agentgym.task.reference_policy import ReferencePolicy

_COMMAND_S = 600.0
_GIVE_UP_S = 5.0
_MANY_STEPS = 10**9


class Attempt:
    """A task tried out by hand. Call `open` first and `close` last.

    Args:
        task: The task.
        provider: Starts the sandbox; the attempt closes it.
        seed: Seed of the instance.

    Attributes:
        tools: Tools that can be called.
        verdict: Last verdict, None before the first. A foreign task is judged only at the end.
        over: Whether the episode is over; `verdict` is then final.
        instruction: Instruction that the agent gets.
        cwd: Working directory of the shell; empty if the environment has no shell.
    """

    def __init__(self, task: Task, provider: SandboxProvider, seed: int) -> None:
        self._provider, self._seed = provider, seed
        self._judged_at_end = task.foreign is not None
        self._environment = Environment(task, provider, max_steps=_MANY_STEPS)
        self._begun: Episode | None = None
        self.tools = {tool.name: tool for tool in self._environment.tools}
        self.verdict: Verdict | None = None
        self.over = False
        self.instruction = self.cwd = ""

    async def open(self) -> None:
        """Begin the episode, or begin it anew."""
        self.verdict, self.over = None, False
        if self._begun is not None:
            await self._begun.close()
        self._begun = await self._environment.start(self._seed)
        self.instruction = self._begun.first.text
        self.cwd = self._environment.recipe.workdir if self.has_shell else ""
        await self.judge()

    @property
    def _episode(self) -> Episode:
        assert self._begun is not None, "an attempt is opened first"
        return self._begun

    @property
    def has_shell(self) -> bool:
        """Whether there is a shell to run commands in."""
        return "bash" in self.tools

    async def call(self, action: Action) -> Observation:
        """Make a call as the agent would."""
        return self._take(await self._episode.step(action))

    async def run(self, command: str) -> Observation:
        """Run a command as the agent would; when cancelled, the command is interrupted."""
        before = await self._pids()
        action = Action("bash", {"command": command, "timeout_s": _COMMAND_S})
        running = asyncio.ensure_future(self._episode.step(action))
        try:
            transition = await asyncio.shield(running)
        except asyncio.CancelledError:
            await self._interrupt(before)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GIVE_UP_S):
                    self._take(await running)
            raise
        return self._take(transition)

    async def solve(self) -> list[Observation]:
        """Play the solution up to its last action, which would end the episode."""
        seen: list[Observation] = []
        found = reference(self._episode.instance)
        if isinstance(found, Path):
            policy = ReferencePolicy(found, self._episode.instance.instruction)
            shown = self._episode.first
            while not self.over:
                action = policy.act(shown)
                if policy.over:
                    break
                shown = self._take(await self._episode.step(action))
                seen.append(shown)
            return seen
        for action in found[:-1]:
            seen.append(self._take(await self._episode.step(action)))
            if self.over:
                break
        return seen

    async def judge(self) -> Verdict | None:
        """Judge the present state as if the episode ended here; None if that is not possible."""
        if not self.over and not self._judged_at_end:
            with contextlib.suppress(SandboxEndedError):
                self.verdict = await self._episode.judge_now()
        return self.verdict

    async def submit(self, answer: str | None = None) -> Observation | None:
        """Submit as the agent would and return the observation; None if the episode was over."""
        if self.over:
            return None
        arguments = {} if answer is None else {"answer": answer}
        action = answered(Action("submit", arguments), self._episode.steps)
        return self._take(await self._episode.step(action))

    async def finish(self) -> Verdict:
        """End the episode as the agent would, play its last steps, and return its verdict."""
        while not self.over:
            await self.submit()
        assert self.verdict is not None
        return self.verdict

    async def close(self) -> None:
        """End the sandbox and discard its files."""
        await self._environment.close()
        await self._provider.close()

    def _take(self, transition: Transition) -> Observation:
        cwd = transition.observation.data.get("cwd")
        self.cwd = cwd if isinstance(cwd, str) else self.cwd
        if transition.verdict is not None:
            self.verdict, self.over = transition.verdict, True
        return transition.observation

    async def _pids(self) -> set[int]:
        if self._episode.over:
            return set()
        return {process.pid for process in await self._episode.sandbox.processes()}

    async def _interrupt(self, before: set[int]) -> None:
        pids = [str(pid) for pid in sorted(await self._pids() - before)]
        if pids and not self._episode.over:
            await self._episode.sandbox.exec(["/bin/sh", "-c", 'kill -INT "$@"', "sh", *pids])
