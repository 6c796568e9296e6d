"""The options that the commands of `agentgym dataset` share, with their help texts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


class Forms(StrEnum):
    """Values of --form (those of `agentgym.train.datasets.supervised.Form`, which loads late)."""

    MESSAGES = "messages"
    TRL = "trl"
    TRL_TOKENS = "trl-tokens"
    NATIVE = "native"


class Faults(StrEnum):
    """Values of --drop (those of `agentgym.train.datasets.faults.StepFault`)."""

    ERROR = "error"
    NO_EFFECT = "no-effect"
    REPEATED = "repeated"
    REJECTED = "rejected"
    BAD_GRADE = "bad-grade"
    NOTHING = "nothing"


class Pictures(StrEnum):
    """Values of --pictures."""

    FILES = "files"
    REFUSE = "refuse"


class Spans(StrEnum):
    """Values of --span (those of `agentgym.train.datasets.pairs.Span`)."""

    REPLY = "reply"
    REST = "rest"


class Patches(StrEnum):
    """Values of --patch (those of `agentgym.train.datasets.semi_online.Patch`)."""

    THOUGHT_FREE = "thought-free"
    EXPERT = "expert"


Runs: TypeAlias = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")]
Out: TypeAlias = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="The file to write.")
]
Tasks: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--tasks", metavar="PATTERN", help="Suites or globs of task ids; repeatable."),
]
AgentNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--agents", metavar="PATTERN", help="Globs of recorded agents; repeatable."),
]
MinScore: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--min-score",
        min=0.0,
        max=1.0,
        help="Smallest score of an episode. Default: only episodes that passed.",
    ),
]
Limit: TypeAlias = Annotated[
    int | None, typer.Option("--limit", min=1, help="Largest number of examples. Default: all.")
]
Seed: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="Shuffle the episodes. Default: the order of the runs and their plans.",
    ),
]
FormOption: TypeAlias = Annotated[
    Forms,
    typer.Option(
        "--form",
        help="messages: OpenAI's fine-tuning lines; trl: conversational prompt and completion; "
        "trl-tokens: input_ids with assistant_masks; native: arrays of token ids (.npz).",
    ),
]
Template: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--template",
        metavar="CONFIG",
        help="A training configuration whose template encodes the calls, for runs without token "
        "ids.",
    ),
]
Drop: TypeAlias = Annotated[
    list[Faults] | None,
    typer.Option(
        "--drop",
        help="Steps that are read and not trained; repeatable. Default: error, repeated, rejected.",
    ),
]
Grader: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--grader", "-g", help="A recorded step grader for --drop bad-grade. Default: all."
    ),
]
PictureOption: TypeAlias = Annotated[
    Pictures,
    typer.Option("--pictures", help="Write pictures as files, or refuse episodes with one."),
]
