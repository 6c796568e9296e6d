"""Running the checks of a rubric: binding them to their arguments, classifying how they end.

Owns the line between a check that failed and a check that is broken.
"""

from __future__ import annotations

import dataclasses
import functools
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias, cast

from agentgym.errors import (
    GuestFileError,
    SandboxEndedError,
    SandboxLimitError,
    TaskError,
    VerifierError,
)
from agentgym.protocols import Evidence
from agentgym.records import CheckResult, CheckStatus
from agentgym.task.model import Instance
from agentgym.task.template import fill_json
from agentgym.verify.evidence import CommonEvidence, WatchedEvidence
from agentgym.verify.packs import check_arguments, find_check
from agentgym.verify.rehearsal import rehearse
from agentgym.verify.rubric import Checkpoint, Condition, Rubric, load_rubric, show_place

_MESSAGE_CHARS = 600

OWN = "checks."
BoundCheck: TypeAlias = Callable[[CommonEvidence], CheckResult]


def bind_checks(instance: Instance) -> tuple[Rubric, dict[str, BoundCheck]]:
    """Return a task's rubric and, by id of leaf or condition, its checks with their arguments.

    Raises:
        VerifierError: The rubric is broken, a check does not exist, or it does not take the
            arguments that the rubric gives it.
    """
    folder = instance.task.folder / "checks"
    path = folder / "rubric.toml"
    rubric = load_rubric(path)
    asked: list[Checkpoint | Condition] = [*rubric.conditions, *rubric.leaves()]
    return rubric, {one.id: _bind(one, folder, instance) for one in asked}


def _bind(leaf: Checkpoint | Condition, folder: Path, instance: Instance) -> BoundCheck:
    field = "use"
    try:
        check = find_check(leaf.use, folder)
        field = "with"
        check_arguments(leaf.use, check, leaf.arguments)
        arguments = fill_json(leaf.arguments, instance.params, leaf.use)
        assert isinstance(arguments, Mapping)
        if not leaf.use.startswith(OWN):
            # A pack's check looks at its arguments first; what an author's own does is anybody's
            # guess.
            rehearse(leaf.use, check, arguments)
    except (VerifierError, TaskError) as error:
        # Looked up only now: it reads the file once more, and most rubrics can be bound.
        where = show_place(folder / "rubric.toml", leaf, field)
        raise VerifierError(f"{where}: {error}") from None
    return functools.partial(_run, leaf, functools.partial(check, **arguments))


class LeafResults(dict[str, CheckResult]):
    """Results by id of leaf or condition; a check runs when its result is first looked up.

    Args:
        checks: Check by id.
        evidence: What they look at.
        known: What needs no check any more: the milestones.
        after_check: Called after every check that ran.
    """

    def __init__(
        self,
        checks: Mapping[str, BoundCheck],
        evidence: CommonEvidence,
        known: Mapping[str, CheckResult] = MappingProxyType({}),
        after_check: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(known)
        self._after_check = after_check
        self._checks, self._evidence = checks, evidence
        self._stopped = ""

    def __missing__(self, leaf_id: str) -> CheckResult:
        result = None
        if not self._stopped:
            result = self._checks[leaf_id](self._evidence)
            self._after_check()
        if result is None or self._stopped:
            result = CheckResult(CheckStatus.ERROR, self._stopped)
        self[leaf_id] = result
        return result

    def stop(self, why: str) -> None:
        """Run no more checks: what has no result yet is in error."""
        self._stopped = why


def _run(
    leaf: Checkpoint | Condition, check: Callable[[Evidence], object], evidence: CommonEvidence
) -> CheckResult:
    """Run one check, classify how it ended and note what it looked at."""
    seen = WatchedEvidence(evidence)
    try:
        result = _read_result(leaf, check(cast(Evidence, seen)))
    except (GuestFileError, SandboxEndedError, SandboxLimitError) as error:
        # The file the agent should have left is not there or not what it should be, or what it
        # left used up a clean room: were that an error, an agent could unscore its failures.
        result = CheckResult(CheckStatus.FAIL, str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - an author's function may raise anything
        what = traceback.format_exception_only(error)[-1].strip()
        result = CheckResult(CheckStatus.ERROR, f"{leaf.use}: {what} ({_raised_at(error)})")
    return dataclasses.replace(result, message=tidy(result.message), channels=seen.channels)


def _raised_at(error: BaseException) -> str:
    """Name the innermost line of a check module that an exception passed through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).name == "checks.py"]
    frame = (own or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _read_result(leaf: Checkpoint | Condition, value: object) -> CheckResult:
    """Turn what a check returned into a valid result.

    Raises:
        VerifierError: It is neither a bool nor a CheckResult with a score in 0..1.
    """
    if isinstance(value, bool):
        if value:
            return CheckResult(CheckStatus.PASS)
        return CheckResult(CheckStatus.FAIL, f"not so: {leaf.title}" if leaf.title else "")
    if not isinstance(value, CheckResult):
        raise VerifierError(f"expected a bool or a CheckResult, got {value!r}")
    status, score = CheckStatus(value.status), value.score
    if score is not None and not 0 <= score <= 1:
        raise VerifierError(f"expected a score in 0..1, got {score!r}")
    if score == 1 and status is CheckStatus.FAIL:
        raise VerifierError("a failed check cannot give full credit; got score 1")
    return CheckResult(status, value.message, score, value.controllable is not False)


def tidy(message: str) -> str:
    """Make a message short and encodable: it may quote whatever the agent wrote."""
    text = message.encode("utf-8", "backslashreplace").decode()
    if len(text) <= _MESSAGE_CHARS:
        return text
    half = _MESSAGE_CHARS // 2
    return f"{text[:half]} […] {text[-half:]}"
