"""Compares labels that people gave to recorded checkpoints with the verifier's results.

It defines the format of a labels file: JSON lines, each with ``run`` (a folder, relative to the
file), ``episode``, ``checkpoint`` and ``label``, ``pass`` or ``fail``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from agentgym.errors import ConfigError
from agentgym.eval.settings import read_settings
from agentgym.record.store import RunStore
from agentgym.records import CheckStatus
from agentgym.verify.judge.agreement import Agreement, agreement


class Label(BaseModel):
    """One line of a labels file."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    run: str
    episode: int
    checkpoint: str
    label: Literal["pass", "fail"]


def read_labels(path: Path) -> list[Label]:
    """Return the labels of a file, with their runs as paths from here.

    Raises:
        ConfigError: The file cannot be read, a line is invalid, or two label the same checkpoint.
    """
    labels: dict[tuple[str, int, str], Label] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            label = Label.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "the line"
            raise ConfigError(f"{path}:{number}: {field}: {first['msg']}") from None
        key = label.run, label.episode, label.checkpoint
        if key in labels:
            raise ConfigError(f"{path}:{number}: a line before it is about the same checkpoint")
        labels[key] = label.model_copy(update={"run": str(path.parent / label.run)})
    return list(labels.values())


def compare(labels: Sequence[Label]) -> tuple[dict[str, Agreement], list[str]]:
    """Compare labels with recorded verdicts.

    Returns:
        The agreement by spec of the run's judge (empty if the run had no judge), and remarks on
        results that were left out because they were neither a pass nor a fail.

    Raises:
        RecordError: A run or an episode cannot be read.
        ConfigError: An episode is not over, or has no such checkpoint.
    """
    pairs: dict[str, list[tuple[str, str]]] = {}
    left_out: list[str] = []
    with ExitStack() as stack:

        @functools.cache
        def run(folder: str) -> RunStore:
            store = RunStore.open(Path(folder))
            stack.callback(store.close)
            return store

        for label in labels:
            where = f"{label.run}: episode {label.episode}"
            verdict = run(label.run).episode(label.episode).verdict
            if verdict is None:
                raise ConfigError(f"{where} is not over; finish the run first")
            status = {c.id: c.status for c in verdict.checkpoints}.get(label.checkpoint)
            if status is None:
                known = ", ".join(c.id for c in verdict.checkpoints) or "none"
                raise ConfigError(f"{where} has no checkpoint {label.checkpoint!r}; it has {known}")
            if status not in (CheckStatus.PASS, CheckStatus.FAIL):
                left_out.append(f"{where}: {label.checkpoint}: {status}")
                continue
            judge = read_settings(run(label.run)).judge
            pairs.setdefault(judge, []).append((label.label, status.value))
    return {judge: agreement(found) for judge, found in sorted(pairs.items())}, left_out
