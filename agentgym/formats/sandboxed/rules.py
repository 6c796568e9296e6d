"""The rules of tasks that bring a sandbox and test scripts, in one record for all such formats.

The terms are Harbor's (task.toml, schema 1.4): steps that share one environment, a verifier that
is shared or separate, artifacts, collect hooks, a healthcheck.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from agentgym.records import TaskSandbox

TESTS = "/tests"
SOLUTION = "/solution"
VERIFIER_LOGS = "/logs/verifier"
ARTIFACTS = "/logs/artifacts"
AGENT_LOGS = "/logs/agent"
TOOLKIT_RECIPE = "verifier"
"""Recipe with the programs of the test scripts."""
LONGEST_S = 7 * 86_400.0
"""Longest time in seconds for an agent, tests or a hook."""
HEALTHY_S = 3_600.0
"""Longest time in seconds until a sandbox is healthy, and so of each part of a health check."""
_MARGIN_S = 300.0
"""Seconds besides the agent's and the tests': to copy the tests and to read the reward."""


class _Time(NamedTuple):
    """A time of a task: whose it is, its seconds, the most that it may be, and whether 0 may be."""

    whose: str
    seconds: float
    most: float = LONGEST_S
    may_be_zero: bool = False


@dataclass(frozen=True, slots=True)
class Healthcheck:
    """A command that must exit with 0 before the agent begins; fields are Docker's HEALTHCHECK."""

    command: str
    interval_s: float = 5.0
    timeout_s: float = 30.0
    start_period_s: float = 0.0
    start_interval_s: float = 5.0
    retries: int = 3

    @property
    def times(self) -> Iterator[_Time]:
        """Its times; see `SandboxRules.times`."""
        yield _Time("a health check", self.timeout_s, HEALTHY_S)
        for pause_s in (self.interval_s, self.start_period_s, self.start_interval_s):
            yield _Time("a pause of a health check", pause_s, HEALTHY_S, may_be_zero=True)


@dataclass(frozen=True, slots=True)
class CollectHook:
    """A command run in the agent's sandbox after the agent, before artifacts are collected."""

    command: str
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Artifact:
    """A path of the agent's sandbox that a separate verifier gets, with globs to exclude."""

    source: str
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """One instruction with its tests and its solution; most tasks have one stage.

    Attributes:
        name: Name of the step; empty if the task has one stage.
        instruction: Instruction for the agent.
        tests: Folders copied to ``/tests``, later ones over earlier ones.
        script: The test script, a path below ``/tests``.
        script_file: Path of the script on the host; None if it is in one of the folders.
        solution: Folder with ``solve.sh``, or a file with the solution; None without a solution.
        workdir_files: Folder copied into the working directory when the stage begins.
        agent_timeout_s: Longest time for the agent, in seconds.
        test_timeout_s: Longest time for the tests, in seconds.
        min_reward: The task ends after this stage if the reward is less.
        healthcheck: Command that must succeed when the stage begins.
    """

    name: str
    instruction: str
    tests: tuple[Path, ...]
    script: str
    solution: Path | None
    script_file: Path | None = None
    workdir_files: Path | None = None
    agent_timeout_s: float = 600.0
    test_timeout_s: float = 600.0
    min_reward: float | None = None
    healthcheck: Healthcheck | None = None


@dataclass(frozen=True, slots=True)
class SandboxRules:
    """The rules of a task that runs in a sandbox and is judged by tests there.

    Attributes:
        format: Name of the format.
        sandbox: The agent's sandbox.
        stages: Stages in order; at least one.
        combine: ``"mean"`` or ``"final"``: combination of the stages' rewards.
        healthcheck: Command that must succeed after the sandbox has started.
        verifier: Sandbox of a separate verifier; None if it shares the agent's sandbox.
        verifier_has_tests: Whether the image of the separate verifier contains ``/tests``; then
            no tests are uploaded.
        verifier_env: Variables of the test script.
        solution_env: Variables of the solution.
        verifier_user: User of the test script; empty for the image's user.
        collect: Commands run after the agent, in order.
        artifacts: Paths that a separate verifier gets.
        parser: Source of the reward: ``"file"`` or, from the tests' output, ``"pytest"``.
    """

    format: str
    sandbox: TaskSandbox
    stages: tuple[Stage, ...]
    combine: str = "mean"
    healthcheck: Healthcheck | None = None
    verifier: TaskSandbox | None = None
    verifier_has_tests: bool = False
    verifier_env: Mapping[str, str] = field(default_factory=dict)
    solution_env: Mapping[str, str] = field(default_factory=dict)
    verifier_user: str = ""
    collect: tuple[CollectHook, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    parser: str = "file"

    @property
    def agent_s(self) -> float:
        """Longest time for the agent in all stages, in seconds."""
        return sum(stage.agent_timeout_s for stage in self.stages)

    @property
    def judging_s(self) -> float:
        """Longest time for hooks and tests of all stages, in seconds."""
        tests_s = sum(stage.test_timeout_s for stage in self.stages)
        return tests_s + sum(hook.timeout_s for hook in self.collect) + _MARGIN_S

    @property
    def times(self) -> Iterator[_Time]:
        """All times."""
        for stage in self.stages:
            yield _Time("the agent", stage.agent_timeout_s)
            yield _Time("the tests", stage.test_timeout_s)
            if stage.healthcheck is not None:
                yield from stage.healthcheck.times
        for hook in self.collect:
            yield _Time("a collect hook", hook.timeout_s)
        if self.healthcheck is not None:
            yield from self.healthcheck.times

    def flaw_of_times(self) -> str:
        """Return what is wrong with a time, so that it would end nothing; empty if nothing is."""
        for whose, seconds, most, may_be_zero in self.times:
            if not (0 < seconds <= most or (may_be_zero and seconds == 0)):
                least = "0" if may_be_zero else "more than 0"
                return f"the time of {whose}: expected {least} to {most:,.0f} s, got {seconds:g}"
        return ""
