"""The journal of a mining: one line per candidate that is decided, so that it can be resumed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from agentgym.errors import TaskError


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


class Journal:
    """The decisions of a mining, in a file that only grows.

    Args:
        path: The file; made by the first decision.

    Raises:
        TaskError: The file is no journal.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.decisions = {one.commit: one for one in _read(path)}

    def add(self, decision: Decision) -> None:
        """Write a decision down."""
        self.decisions[decision.commit] = decision
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(decision), ensure_ascii=False) + "\n")

    def reasons(self) -> dict[str, int]:
        """Return how many candidates were dropped for each reason, most first."""
        counted = Counter(one.reason for one in self.decisions.values() if not one.kept)
        return dict(counted.most_common())


def _read(path: Path) -> Iterator[Decision]:
    if not path.exists():
        return
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        # A kill cut the last line; its candidate is tried again.
        path.write_bytes(whole)
    for number, line in enumerate(whole.decode("utf-8", "replace").splitlines(), 1):
        try:
            yield Decision(**json.loads(line))
        except (ValueError, TypeError, RecursionError) as error:
            raise TaskError(f"{path}:{number}: no line of a journal: {error}") from error
