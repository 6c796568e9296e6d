"""The rules of a foreign task folder, in one record for all formats.

The terms are Harbor's (task.toml, schema 1.4): steps that share one environment, a verifier that
is shared or separate, artifacts, collect hooks, a healthcheck.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

TESTS = "/tests"
SOLUTION = "/solution"
VERIFIER_LOGS = "/logs/verifier"
ARTIFACTS = "/logs/artifacts"
AGENT_LOGS = "/logs/agent"


@dataclass(frozen=True, slots=True)
class Healthcheck:
    """A command that must exit with 0 before the agent begins; fields are Docker's HEALTHCHECK."""

    command: str
    interval_s: float = 5.0
    timeout_s: float = 30.0
    start_period_s: float = 0.0
    start_interval_s: float = 5.0
    retries: int = 3


@dataclass(frozen=True, slots=True)
class Packages:
    """Packages of Debian and PyPI, in the form of `apt-get install` and `pip install`."""

    apt: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Computer:
    """The configuration of a task's sandbox.

    Attributes:
        context: Folder with the Dockerfile; None if the sandbox starts from `image`.
        image: Image of a registry; used if the task has no Dockerfile.
        network: ``"none"``, ``"allowlist"`` or ``"open"``.
        allow: Host patterns of an allowlist.
        env: Variables of every command.
        workdir: Working directory; empty for the image's.
        memory_mb: Upper limit, as the three below; None for agentgym's default.
        disk_mb: Upper limit in megabytes.
        cpus: Upper limit, in processors.
        build_timeout_s: Longest time for a build, in seconds.
        healthcheck: Command that must succeed after the sandbox has started.
        prepared: Packages in the image beside those of its author.
    """

    context: Path | None
    image: str = ""
    network: str = "open"
    allow: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = ""
    memory_mb: int | None = None
    disk_mb: int | None = None
    cpus: float | None = None
    build_timeout_s: float = 600.0
    healthcheck: Healthcheck | None = None
    prepared: Packages = Packages()


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
class ForeignRules:
    """The rules for running and judging a foreign task; each kind of task has its own.

    Attributes:
        format: Name of the format: ``"harbor"``, ``"terminal-bench"``, ``"tau2"``.
    """

    format: str


@dataclass(frozen=True, slots=True)
class SandboxRules(ForeignRules):
    """The rules of a task that runs in a sandbox and is judged by tests there.

    Attributes:
        computer: The agent's sandbox.
        stages: Stages in order; at least one.
        combine: ``"mean"`` or ``"final"``: combination of the stages' rewards.
        verifier: Sandbox of a separate verifier; None if it shares the agent's sandbox.
        verifier_has_tests: Whether the image of the separate verifier contains ``/tests``; then
            no tests are uploaded.
        verifier_env: Variables of the test script.
        solution_env: Variables of the solution.
        agent_user: User of the agent; empty for the image's user.
        verifier_user: User of the test script; empty for the image's user.
        collect: Commands run after the agent, in order.
        artifacts: Paths that a separate verifier gets.
        parser: Source of the reward: ``"file"`` or, from the tests' output, ``"pytest"``.
    """

    computer: Computer
    stages: tuple[Stage, ...]
    combine: str = "mean"
    verifier: Computer | None = None
    verifier_has_tests: bool = False
    verifier_env: Mapping[str, str] = field(default_factory=dict)
    solution_env: Mapping[str, str] = field(default_factory=dict)
    agent_user: str = ""
    verifier_user: str = ""
    collect: tuple[CollectHook, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    parser: str = "file"
