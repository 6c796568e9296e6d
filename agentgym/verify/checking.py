"""Run the checks of a rubric: bind them to their arguments and classify how they end.

The module decides whether a check failed or is broken.
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
    pass_interruptions,
)
from agentgym.protocols import Evidence
from agentgym.records import CheckResult, CheckStatus, Json
from agentgym.task.model import Instance
from agentgym.task.template import fill_json
from agentgym.verify.evidence import WatchedEvidence
from agentgym.verify.rubric.dry_run import dry_run
from agentgym.verify.rubric.file import load_rubric, show_place
from agentgym.verify.rubric.packs import check_arguments, find_check
from agentgym.verify.rubric.tree import Checkpoint, Condition, Rubric

_MESSAGE_CHARS = 600

OWN = "checks."
_GRADERS_OWN = (ImportError, NameError)


@dataclass(frozen=True, slots=True)
class Broken:
    """Raised when a check ends without a result.

    Attributes:
        what: How the check ended.
        by_grader: The cause cannot be anything that the agent left.
        spent: The process must not run another check.
        channels: The evidence channels that the check had looked at.
    """

    what: str
    by_grader: bool = False
    spent: bool = False
    channels: tuple[str, ...] = ()

    def as_error(self) -> CheckResult:
        """Return the result of a check that is itself broken."""
        return CheckResult(CheckStatus.ERROR, self.what, channels=self.channels)


def blame_grader(error: BaseException) -> BaseException:
    """Mark an exception whose cause cannot be anything that the agent left."""
    vars(error)["of_grader"] = True
    return error


class BoundCheck:
    """A check with its arguments.

    Args:
        leaf: The rubric's leaf or condition that asks for the check.
        check: The function with its arguments filled in.
    """

    def __init__(self, leaf: Checkpoint | Condition, check: Callable[[Evidence], object]) -> None:
        self._leaf, self._check = leaf, check

    def scope(self) -> Mapping[str, object]:
        """Return the names defined in the check's module."""
        scope: Mapping[str, object] = getattr(self._check, "func").__globals__  # noqa: B009
        return scope

    def attempt(self, evidence: object) -> CheckResult | Broken:
        """Run the check, classify how it ended and note what it looked at."""
        seen = WatchedEvidence(evidence)
        try:
            result = _read_result(self._leaf, self._check(cast(Evidence, seen)))
        except (GuestFileError, SandboxEndedError, SandboxLimitError) as error:
            # The file that the agent should have left is missing or wrong, or its content used up a
            # clean room.
            result = CheckResult(CheckStatus.FAIL, str(error))
        except BaseException as error:  # noqa: BLE001 - an author's function may raise anything
            pass_interruptions(error)
            what = traceback.format_exception_only(error)[-1].strip()
            return Broken(
                tidy(f"{self._leaf.use}: {what} ({_raised_at(error, self.scope())})"),
                by_grader=_is_graders(error),
                spent=isinstance(error, (MemoryError, RecursionError)),
                channels=seen.channels,
            )
        return dataclasses.replace(
            result, message=tidy(str(result.message)), channels=seen.channels
        )

    def __call__(self, evidence: object) -> CheckResult:
        """Run the check in this process; an exception in it becomes an error."""
        found = self.attempt(evidence)
        return found.as_error() if isinstance(found, Broken) else found


def bind_checks(instance: Instance) -> tuple[Rubric, dict[str, BoundCheck]]:
    """Return a task's rubric, and its checks with their arguments by id of leaf or condition.

    Raises:
        VerifierError: The rubric is broken, a check does not exist, or it does not take the
            arguments that the rubric gives it.
    """
    return bind_folder(instance.task.folder / "checks", instance.params)


def bind_folder(folder: Path, params: Mapping[str, Json]) -> tuple[Rubric, dict[str, BoundCheck]]:
    """Bind checks as `bind_checks` does, from a task's ``checks`` folder and its parameters."""
    rubric = load_rubric(folder / "rubric.toml")
    return rubric, {one.id: _bind(one, folder, params) for one in asked_of(rubric)}


def asked_of(rubric: Rubric) -> list[Checkpoint | Condition]:
    """Return the leaves and conditions of a rubric, which have a check each."""
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
            # A pack's check looks at its arguments first. An author's own check may do anything.
            dry_run(leaf.use, check, arguments)
    except (VerifierError, TaskError) as error:
        # Search only now: this reads the file again, and most rubrics can be bound.
        where = show_place(folder / "rubric.toml", leaf, field)
        raise VerifierError(f"{where}: {error}") from None
    return BoundCheck(leaf, functools.partial(check, **arguments))


class LeafResults(dict[str, CheckResult]):
    """The results by id of leaf or condition; a check runs when its result is first looked up.

    Args:
        run: Runs the check with an id.
        known: Results that need no check any more, those of the milestones.
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
        """Stop running checks; every check without a result is then in error."""
        self._stopped = why


def _is_graders(error: BaseException) -> bool:
    """Return whether the cause of an exception cannot be anything that the agent left."""
    if isinstance(error, _GRADERS_OWN) and not isinstance(error, UnboundLocalError):
        return True
    raised: BaseException | None = error
    while raised is not None:
        if "of_grader" in vars(raised):
            return True
        raised = raised.__cause__ or raised.__context__
    return False


def _raised_at(error: BaseException, scope: Mapping[str, object]) -> str:
    """Return the innermost line that an exception passed through in the folder of a check."""
    folder = Path(str(scope.get("__file__"))).parent
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent == folder]
    frame = (own or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _read_result(leaf: Checkpoint | Condition, value: object) -> CheckResult:
    """Turn the return value of a check into a valid result.

    Raises:
        VerifierError: The value is neither a bool nor a CheckResult with a score in 0..1.
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
    """Make a message short and encodable; it may quote any text of the agent's."""
    text = message.encode("utf-8", "backslashreplace").decode()
    if len(text) <= _MESSAGE_CHARS:
        return text
    half = _MESSAGE_CHARS // 2
    return f"{text[:half]} […] {text[-half:]}"
