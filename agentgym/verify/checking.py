"""Running the checks of a rubric: binding them to their arguments, classifying how they end.

Owns the line between a check that failed and a check that is broken.
"""

from __future__ import annotations

import dataclasses
import functools
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import cast

from agentgym.errors import (
    GuestFileError,
    SandboxEndedError,
    SandboxLimitError,
    TaskError,
    VerifierError,
)
from agentgym.protocols import Evidence
from agentgym.records import CheckResult, CheckStatus, Json
from agentgym.task.model import Instance
from agentgym.task.template import fill_json
from agentgym.verify.dry_run import dry_run
from agentgym.verify.evidence import WatchedEvidence
from agentgym.verify.packs import check_arguments, find_check
from agentgym.verify.rubric import Checkpoint, Condition, Rubric, load_rubric, show_place

_MESSAGE_CHARS = 600

OWN = "checks."
_GRADERS_OWN = (ImportError, NameError)


@dataclass(frozen=True, slots=True)
class Broken:
    """A check that came to no result.

    Attributes:
        what: How it ended.
        by_grader: Nothing that an agent left can be the reason.
        spent: The process it ran in is no place for another check.
        channels: What it had looked at.
    """

    what: str
    by_grader: bool = False
    spent: bool = False
    channels: tuple[str, ...] = ()

    def as_error(self) -> CheckResult:
        """Return the result of a check that is itself at fault."""
        return CheckResult(CheckStatus.ERROR, self.what, channels=self.channels)


def blame_grader(error: BaseException) -> BaseException:
    """Mark an exception that a check may meet: nothing that an agent left is the reason."""
    vars(error)["of_grader"] = True
    return error


class BoundCheck:
    """A check with its arguments.

    Args:
        leaf: Where the rubric asks for it.
        check: The function, arguments filled in.
    """

    def __init__(self, leaf: Checkpoint | Condition, check: Callable[[Evidence], object]) -> None:
        self._leaf, self._check = leaf, check

    def scope(self) -> Mapping[str, object]:
        """Return the names of the module that the check is from."""
        scope: Mapping[str, object] = getattr(self._check, "func").__globals__  # noqa: B009
        return scope

    def attempt(self, evidence: object) -> CheckResult | Broken:
        """Run the check, classify how it ended and note what it looked at."""
        seen = WatchedEvidence(evidence)
        try:
            result = _read_result(self._leaf, self._check(cast(Evidence, seen)))
        except (GuestFileError, SandboxEndedError, SandboxLimitError) as error:
            # The file the agent should have left is not there or not what it should be, or what
            # it left used up a clean room.
            result = CheckResult(CheckStatus.FAIL, str(error))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an author's function may raise anything
            what = traceback.format_exception_only(error)[-1].strip()
            return Broken(
                tidy(f"{self._leaf.use}: {what} ({_raised_at(error)})"),
                by_grader=_is_graders(error),
                spent=isinstance(error, (MemoryError, RecursionError)),
                channels=seen.channels,
            )
        return dataclasses.replace(
            result, message=tidy(str(result.message)), channels=seen.channels
        )

    def __call__(self, evidence: object) -> CheckResult:
        """Run the check in this process; one that breaks is in error."""
        found = self.attempt(evidence)
        return found.as_error() if isinstance(found, Broken) else found


def bind_checks(instance: Instance) -> tuple[Rubric, dict[str, BoundCheck]]:
    """Return a task's rubric and, by id of leaf or condition, its checks with their arguments.

    Raises:
        VerifierError: The rubric is broken, a check does not exist, or it does not take the
            arguments that the rubric gives it.
    """
    return bind_folder(instance.task.folder / "checks", instance.params)


def bind_folder(folder: Path, params: Mapping[str, Json]) -> tuple[Rubric, dict[str, BoundCheck]]:
    """Do as `bind_checks` with a task's ``checks`` folder and parameters."""
    rubric = load_rubric(folder / "rubric.toml")
    return rubric, {one.id: _bind(one, folder, params) for one in asked_of(rubric)}


def asked_of(rubric: Rubric) -> list[Checkpoint | Condition]:
    """Return what has a check in a rubric."""
    return [*rubric.conditions, *rubric.leaves()]


def _bind(leaf: Checkpoint | Condition, folder: Path, params: Mapping[str, Json]) -> BoundCheck:
    field = "use"
    try:
        check = find_check(leaf.use, folder)
        field = "with"
        check_arguments(leaf.use, check, leaf.arguments)
        arguments = fill_json(leaf.arguments, params, leaf.use)
        assert isinstance(arguments, Mapping)
        if not leaf.use.startswith(OWN):
            # A pack's check looks at its arguments first; what an author's own does is anybody's
            # guess.
            dry_run(leaf.use, check, arguments)
    except (VerifierError, TaskError) as error:
        # Looked up only now: it reads the file once more, and most rubrics can be bound.
        where = show_place(folder / "rubric.toml", leaf, field)
        raise VerifierError(f"{where}: {error}") from None
    return BoundCheck(leaf, functools.partial(check, **arguments))


class LeafResults(dict[str, CheckResult]):
    """Results by id of leaf or condition; a check runs when its result is first looked up.

    Args:
        run: Runs the check of an id.
        known: What needs no check any more: the milestones.
        after_check: Called after every check that ran.
    """

    def __init__(
        self,
        run: Callable[[str], CheckResult],
        known: Mapping[str, CheckResult] = MappingProxyType({}),
        after_check: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(known)
        self._run, self._after_check = run, after_check
        self._stopped = ""

    def __missing__(self, leaf_id: str) -> CheckResult:
        result = None
        if not self._stopped:
            result = self._run(leaf_id)
            self._after_check()
        if result is None or self._stopped:
            result = CheckResult(CheckStatus.ERROR, self._stopped)
        self[leaf_id] = result
        return result

    def stop(self, why: str) -> None:
        """Run no more checks: what has no result yet is in error."""
        self._stopped = why


def _is_graders(error: BaseException) -> bool:
    """Whether nothing that an agent left can have raised this."""
    if isinstance(error, _GRADERS_OWN) and not isinstance(error, UnboundLocalError):
        return True
    raised: BaseException | None = error
    while raised is not None:
        if "of_grader" in vars(raised):
            return True
        raised = raised.__cause__ or raised.__context__
    return False


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
