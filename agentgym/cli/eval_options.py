"""The arguments and options of `agentgym eval`, with their help texts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


class KeptStates(StrEnum):
    """Values of --keep-states (those of `agentgym.env.kept_states.Policy`, which loads late)."""

    ALL = "all"
    FAILED = "failed"
    NONE = "none"


Patterns: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATTERN",
        help="Suites, task ids, globs like '*git*', or paths of task folders (./PATH): "
        "agentgym's own, or of an installed task format.",
    ),
]
Agents: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        "-a",
        help="An agent, e.g. oracle, openai:MODEL or ./my_agent.py:MyAgent; repeatable.",
    ),
]
Trials: TypeAlias = Annotated[
    int | None,
    typer.Option("--trials", "-k", min=1, help="Episodes of every task. Default: 1."),
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Concurrent episodes. Default: the processors."),
]
Pool: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--pool",
        min=0,
        help="Sandboxes started before they are needed; each takes memory (bubblewrap: about "
        "10 MB) while it waits; 0 starts none early. Default: as many as --jobs.",
    ),
]
SandboxName: TypeAlias = Annotated[
    str | None, typer.Option("--sandbox", help="Sandbox provider. Default: bubblewrap.")
]
Seed: TypeAlias = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed of the first trial. Default: 0.")
]
MaxSteps: TypeAlias = Annotated[
    int | None,
    typer.Option("--max-steps", min=1, help="Steps for an agent. Default: the task's."),
]
TimeoutS: TypeAlias = Annotated[
    float | None,
    typer.Option("--timeout", min=0.1, help="Seconds for an episode. Default: the task's."),
]
JudgeSpec: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="openai:MODEL",
        help="Judge for checks that need one. Default: $AGENTGYM_JUDGE.",
    ),
]
UserSpec: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="openai:MODEL",
        help="Simulates the users of tasks. Default: $AGENTGYM_USER, else the task's script.",
    ),
]
Offline: TypeAlias = Annotated[
    bool | None,
    typer.Option("--offline", help="Give sandboxes no network, whatever a task allows."),
]
Surfaces: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--surface",
        metavar="NAME",
        help="A surface that agents act through, instead of those of the environment; repeatable.",
    ),
]
StepTests: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--step-tests",
        help="Score each step that changes a repository by the hidden tests; the agent sees none.",
    ),
]
KeepStates: TypeAlias = Annotated[
    KeptStates | None,
    typer.Option(
        "--keep-states",
        help="Final states kept in the run, for agentgym regrade. Default: all.",
    ),
]
KeepStatesMb: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--keep-states-mb", min=0, help="Megabytes of final states in the run. Default: 1024."
    ),
]
Group: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="NAME",
        help="Group of the episodes in the record; {task}, {seed}, {trial} and {agent} stand "
        "for those of each episode.",
    ),
]
Metadata: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--metadata", metavar="JSON", help="A JSON object in the record of every episode."
    ),
]
RunFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Run folder. Default: runs/TIME-SUITE."),
]
Resume: TypeAlias = Annotated[
    bool, typer.Option("--resume", help="Resume the run in --out and retry its errors.")
]
AllowUnscored: TypeAlias = Annotated[
    bool,
    typer.Option("--allow-unscored", help="Exit with 0 instead of 3 if episodes have no score."),
]
