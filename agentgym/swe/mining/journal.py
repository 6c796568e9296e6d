"""The journal of a mining: one line per candidate that is decided, so that it can be resumed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

from pydantic import TypeAdapter

from agentgym.errors import TaskError
from agentgym.record.result_files import ResultFiles

_NAME: Final = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a candidate.

    Attributes:
        commit: Its commit.
        subject: Its title.
        quarter: The quarter of its environment.
        kept: Whether it is a task.
        reason: Why it was dropped; empty if it is kept.
        detail: More of the reason.
        tried: Whether it ran in a sandbox.
        fail_to_pass: Number of tests that it fixes.
        pass_to_pass: Number of tests that pass before and after.
        duration_s: Time that it took, in seconds.
    """

    commit: str
    subject: str
    quarter: str
    kept: bool
    reason: str = ""
    detail: str = ""
    tried: bool = False
    fail_to_pass: int = 0
    pass_to_pass: int = 0
    duration_s: float = 0.0


_ADAPTER: Final = TypeAdapter(Decision)


class Journal:
    """The decisions of a mining, in a file that only grows.

    Args:
        files: The files of the mining; the first decision makes this one.

    Raises:
        TaskError: The file is no journal.
        RecordError: It is no regular file.
    """

    def __init__(self, files: ResultFiles) -> None:
        self._files = files
        self.decisions = {one.commit: one for one in _read(files)}

    def add(self, decision: Decision) -> None:
        """Write a decision down."""
        self.decisions[decision.commit] = decision
        self._files.add(_NAME, json.dumps(asdict(decision), ensure_ascii=False))

    def reasons(self) -> dict[str, int]:
        """Return how many candidates were dropped for each reason, most first."""
        counted = Counter(one.reason for one in self.decisions.values() if not one.kept)
        return dict(counted.most_common())


def _read(files: ResultFiles) -> Iterator[Decision]:
    for number, line in enumerate(files.lines(_NAME), 1):
        try:
            yield _ADAPTER.validate_python(json.loads(line))
        except (ValueError, RecursionError) as error:
            told = f"{files.path(_NAME)}:{number}: no line of a journal: {error!s:.2000}"
            raise TaskError(told) from error
