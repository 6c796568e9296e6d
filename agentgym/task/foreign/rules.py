"""The rules a foreign task folder comes with, whatever its format: one record for all of them.

The words are Harbor's (task.toml, schema 1.4): steps that share one environment, a verifier that
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
    """A command that must exit with 0 before the agent begins; Docker's HEALTHCHECK terms."""

    command: str
    interval_s: float = 5.0
    timeout_s: float = 30.0
    start_period_s: float = 0.0
    start_interval_s: float = 5.0
    retries: int = 3


@dataclass(frozen=True, slots=True)
class Packages:
    """Packages of Debian and of PyPI, as `apt-get install` and `pip install` take them."""

    apt: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Computer:
    """What a sandbox of the task is made of.

    Attributes:
        context: Folder with the Dockerfile, None where `image` alone says what to begin with.
        image: A registry's image; used where there is no Dockerfile.
        network: ``"none"``, ``"allowlist"`` or ``"open"``.
        allow: Host patterns of an allowlist.
        env: Variables of every command.
        workdir: Overrides the image's working directory; empty: the image's.
        memory_mb: Upper bound, as the three below; None: ours.
        disk_mb: Upper bound.
        cpus: Upper bound.
        build_timeout_s: What a build may take.
        healthcheck: Waited for once the sandbox runs.
        prepared: What is in the image beside what its author put there.
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
    """A command run in the agent's sandbox after it, before its artifacts are taken."""

    command: str
    timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Artifact:
    """A path of the agent's sandbox that goes to a separate verifier; globs left out of it."""

    source: str
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """One instruction with its tests and its solution; most tasks have one stage.

    Attributes:
        name: Of a step; empty where the task has one stage.
        instruction: What the agent is told.
        tests: Folders put into ``/tests``, later ones over earlier ones.
        script: The test script, a path below ``/tests``.
        script_file: Where it is on the host, None where it is in one of the folders.
        solution: Folder with ``solve.sh``, or a file with the solution; None: there is none.
        workdir_files: Folder put into the working directory when the stage begins.
        agent_timeout_s: What the agent may take.
        test_timeout_s: What the tests may take.
        min_reward: The task ends after this stage where the reward is less.
        healthcheck: Waited for when the stage begins.
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
    """What decides how a foreign task runs and is judged; each kind of task has its own.

    Attributes:
        format: Of whom: ``"harbor"``, ``"terminal-bench"``, ``"tau2"``.
    """

    format: str


@dataclass(frozen=True, slots=True)
class SandboxRules(ForeignRules):
    """The rules of a task that happens in a sandbox and is judged by tests there.

    Attributes:
        computer: The agent's sandbox.
        stages: In order; at least one.
        combine: ``"mean"`` or ``"final"``: how rewards of stages become one.
        verifier: The sandbox of a separate verifier, None where it shares the agent's.
        verifier_has_tests: The separate verifier's image brings ``/tests``; none are uploaded.
        verifier_env: Variables of the test script.
        solution_env: Variables of the solution.
        agent_user: Who the agent is; empty: the image's user.
        verifier_user: Who the test script runs as; empty: the image's user.
        collect: Run after the agent, in order.
        artifacts: What a separate verifier gets.
        parser: How a reward is had: ``"file"`` or, from the tests' output, ``"pytest"``.
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
