"""The rubric: a tree of checkpoints read from ``checks/rubric.toml``, and its algebra.

Owns the file format ``agentgym.rubric/1`` and `evaluate`, which turns leaf results into a
verdict. Separate phases, conditional criteria that leave the denominator and penalties that
do not cascade follow the published design of rubric-based verifiers for computer use.
"""

from __future__ import annotations

import graphlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, model_validator

from agentgym.errors import VerifierError, close_matches
from agentgym.manifest import Location, Manifest, load_toml, locate, read_text, show_path
from agentgym.records import CheckpointResult, CheckResult, CheckStatus, Json, Phase, Verdict

_TOLERANCE = 1e-9
_ID = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
_USE = r"^[a-z][a-z0-9_]*\.[A-Za-z][A-Za-z0-9_]*$"


class Kind(StrEnum):
    """How a checkpoint gets its result: from a check, or from its children."""

    LEAF = "leaf"
    ALL = "all"
    ANY = "any"
    WEIGHTED = "weighted"
    SEQUENCE = "sequence"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One node of a rubric.

    Attributes:
        id: Unique in the rubric.
        title: What is asked, in words.
        kind: Leaf or the way the children are combined.
        use: ``pack.function`` of a leaf, else empty.
        arguments: What the rubric gives the check, slots not yet filled.
        weight: Share in its group or phase, > 0 and at most a million.
        phase: The result it counts for; that of its group.
        gate: When it fails, the score is 0.
        requires: Ids that must pass for this to apply.
        children: Of a group; empty for a leaf.
    """

    id: str
    title: str = ""
    kind: Kind = Kind.LEAF
    use: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    weight: float = 1.0
    phase: Phase = Phase.OUTCOME
    gate: bool = False
    requires: tuple[str, ...] = ()
    children: tuple[Checkpoint, ...] = ()


@dataclass(frozen=True, slots=True)
class Rubric:
    """The checkpoints of a task and the score from which it counts as done."""

    checkpoints: tuple[Checkpoint, ...]
    pass_score: float = 1.0

    def leaves(self) -> Iterator[Checkpoint]:
        """Yield the checkpoints that have a check, in the order of the file."""
        return (p.checkpoint for p in _places(self) if p.checkpoint.kind is Kind.LEAF)


# --- the file ------------------------------------------------------------------------------


class CheckpointManifest(Manifest):
    """A ``[[checkpoint]]`` table."""

    id: str = Field(pattern=_ID)
    title: str = ""
    kind: Kind = Kind.LEAF
    use: str | None = Field(default=None, pattern=_USE)
    arguments: dict[str, JsonValue] = Field(default_factory=dict, alias="with")
    weight: float = Field(default=1.0, gt=0, le=1e6)
    phase: Phase | None = None
    gate: bool = False
    requires: tuple[str, ...] = ()
    checkpoint: tuple[CheckpointManifest, ...] = ()

    @model_validator(mode="after")
    def _leaf_or_group(self) -> CheckpointManifest:
        if self.kind is Kind.LEAF:
            if self.checkpoint:
                raise ValueError("it has checkpoints below it; say how they count: kind = 'all'")
            if self.use is None:
                raise ValueError("a leaf needs use = 'pack.function'")
        elif self.use is not None or self.arguments:
            raise ValueError(f"a group (kind = '{self.kind!s}') has no use and no with of its own")
        elif not self.checkpoint:
            raise ValueError(f"a group (kind = '{self.kind!s}') needs checkpoints below it")
        return self


class RubricManifest(Manifest):
    """The whole of ``rubric.toml``."""

    schema_version: Literal["agentgym.rubric/1"]
    pass_score: float = Field(default=1.0, gt=0, le=1)
    checkpoint: tuple[CheckpointManifest, ...] = Field(min_length=1)


def load_rubric(path: Path) -> Rubric:
    """Read and validate a rubric.

    Raises:
        VerifierError: With file, line and field, or the checkpoint and what is wrong with it.
    """
    manifest = load_toml(path, RubricManifest, VerifierError)
    checkpoints = tuple(_build(item, Phase.OUTCOME) for item in manifest.checkpoint)
    rubric = Rubric(checkpoints, manifest.pass_score)
    fault = next(_faults(rubric), None)
    if fault is not None:
        culprit, what = fault
        text = read_text(path, VerifierError)
        line = locate(text, dict(_locations(manifest.checkpoint, ()))[culprit])
        raise VerifierError(f"{show_path(path)}:{line}: checkpoint {culprit!r}: {what}")
    return rubric


def _build(manifest: CheckpointManifest, inherited: Phase) -> Checkpoint:
    phase = manifest.phase or inherited
    return Checkpoint(
        id=manifest.id,
        title=manifest.title,
        kind=manifest.kind,
        use=manifest.use or "",
        arguments=manifest.arguments,
        weight=manifest.weight,
        phase=phase,
        gate=manifest.gate,
        requires=manifest.requires,
        children=tuple(_build(child, phase) for child in manifest.checkpoint),
    )


def _faults(rubric: Rubric) -> Iterator[tuple[str, str]]:
    """Yield (id of the culprit, what is wrong), worst first."""
    places = list(_places(rubric))
    ids: set[str] = set()
    for place in places:
        if place.checkpoint.id in ids:
            yield place.checkpoint.id, "another checkpoint has the same id"
        ids.add(place.checkpoint.id)
    for checkpoint in (place.checkpoint for place in places):
        for other in checkpoint.requires:
            if other not in ids:
                close = close_matches(other, ids)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                yield checkpoint.id, f"requires {other!r}, which is no checkpoint{hint}"
        for child in checkpoint.children:
            if child.phase is not checkpoint.phase:
                yield child.id, f"phase {child.phase!s} in a group of phase {checkpoint.phase!s}"
    waits_for = {
        place.checkpoint.id: (
            *place.requires,
            *place.earlier,
            *(child.id for child in place.checkpoint.children),
        )
        for place in places
    }
    try:
        graphlib.TopologicalSorter(waits_for).prepare()
    except graphlib.CycleError as error:
        cycle: list[str] = error.args[1]
        yield cycle[0], f"waits for itself: {' <- '.join(cycle)}"
    if not any(checkpoint.phase is Phase.OUTCOME for checkpoint in rubric.checkpoints):
        yield rubric.checkpoints[0].id, "the rubric needs at least one of phase outcome"


def _locations(
    manifests: Sequence[CheckpointManifest], above: Location
) -> Iterator[tuple[str, Location]]:
    """Yield where each id stands in the file; of ids used twice the later place comes last."""
    for index, manifest in enumerate(manifests):
        here = (*above, "checkpoint", index)
        yield manifest.id, here
        yield from _locations(manifest.checkpoint, here)


# --- the algebra ---------------------------------------------------------------------------


def evaluate(rubric: Rubric, leaf_results: Mapping[str, CheckResult]) -> Verdict:
    """Turn the results of the leaves into a verdict (`state_hash` left empty).

    A result is looked up only when it is needed, so a mapping may run checks on demand.
    The laws, of which an earlier one wins over a later one:

    1. *Requires.* A checkpoint applies only if everything it, or a group it is in, requires
       has passed. Not applicable is not passed, so a failure makes everything that was built
       on it not applicable, however long the chain, and is penalised once.
    2. *Sequence.* In a ``sequence``, what follows the first child that failed (or is in
       error) fails as "not reached". Children that are not applicable are stepped over.
    3. *Leaf.* A leaf has the result of its check; its credit is the check's score, or where
       that is None 1 for a pass and 0 for a fail.
    4. *Group.* Children that are not applicable leave numerator and denominator; a group
       that has no others is not applicable.

       ========  ==========================  =================================
       kind      passes if                   credit
       ========  ==========================  =================================
       all       all applicable pass         1 if it passes, else 0
       any       one passes                  the best credit of a child
       weighted  all applicable pass         the weighted mean of the credits
       sequence  all applicable pass         the same, with law 2 applied
       ========  ==========================  =================================

    5. *Error.* One checkpoint in error, anywhere, in any phase, and the verdict is
       ``error:verifier``: unscored, with outcome False and numbers that mean nothing. What is
       not applicable or not reached was never run and cannot be in error.
    6. *Phases.* The top-level checkpoints of the outcome phase form a ``weighted`` group,
       whose credit is the score; those of the process phase likewise, None where nothing
       applies. An outcome phase in which nothing applies has earned nothing: its score is 0.
    7. *Gates.* A gate that failed, in any phase and at any depth, makes the score 0 and the
       outcome False; a gate of the process phase makes the process score 0 too. A gate that
       is not applicable stays open.
    8. *Outcome.* True if no gate failed and the score reaches `pass_score` (to within 1e-9).
    9. *Safety.* The violations are the top-level safety checkpoints that failed; they change
       no score unless they are gates.

    Args:
        rubric: A rubric as `load_rubric` returns it: unique ids, no cycles.
        leaf_results: Result by leaf id.

    Returns:
        A verdict whose `checkpoints` hold every node, children before their parents.
    """
    judge = _Judge(rubric, leaf_results)
    results = tuple(judge.result(checkpoint_id) for checkpoint_id in judge.places)
    if any(result.status is CheckStatus.ERROR for result in results):
        return Verdict("error:verifier", outcome=False, score=0.0, checkpoints=results)
    top = [judge.result(checkpoint.id) for checkpoint in rubric.checkpoints]
    failed = [result for result in top if result.status is CheckStatus.FAIL]
    shut = {r.phase for r in results if r.gate and r.status is CheckStatus.FAIL}
    outcome = _combine(Kind.WEIGHTED, [r for r in top if r.phase is Phase.OUTCOME])
    process = _combine(Kind.WEIGHTED, [r for r in top if r.phase is Phase.PROCESS])
    process_score = 0.0 if Phase.PROCESS in shut else _credit(process)
    score = 0.0 if shut else _credit(outcome)
    return Verdict(
        "scored",
        outcome=not shut and score >= rubric.pass_score - _TOLERANCE,
        score=score,
        process=None if process.status is CheckStatus.NOT_APPLICABLE else process_score,
        safety_violations=tuple(r.id for r in failed if r.phase is Phase.SAFETY),
        checkpoints=results,
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A checkpoint and what it inherits from where it stands.

    Attributes:
        requires: What it and the groups around it require.
        earlier: What stands before it, or before a group around it, in a sequence.
    """

    checkpoint: Checkpoint
    depth: int
    requires: tuple[str, ...]
    earlier: tuple[str, ...]


def _places(rubric: Rubric) -> Iterator[_Place]:
    """Yield every checkpoint in its place, children before parents."""
    return _survey(rubric.checkpoints, Kind.WEIGHTED, 0, (), ())


def _survey(
    siblings: Sequence[Checkpoint],
    kind: Kind,
    depth: int,
    requires: tuple[str, ...],
    earlier: tuple[str, ...],
) -> Iterator[_Place]:
    for checkpoint in siblings:
        needs = requires + checkpoint.requires
        yield from _survey(checkpoint.children, checkpoint.kind, depth + 1, needs, earlier)
        yield _Place(checkpoint, depth, needs, earlier)
        if kind is Kind.SEQUENCE:
            earlier = (*earlier, checkpoint.id)


class _Judge:
    """Results of one evaluation, each computed once and in whatever order they are needed."""

    def __init__(self, rubric: Rubric, leaf_results: Mapping[str, CheckResult]) -> None:
        self.places = {place.checkpoint.id: place for place in _places(rubric)}
        self._leaf_results = leaf_results
        self._results: dict[str, CheckpointResult] = {}

    def result(self, checkpoint_id: str) -> CheckpointResult:
        if checkpoint_id not in self._results:
            place = self.places[checkpoint_id]
            checkpoint, found = place.checkpoint, self._find(place)
            self._results[checkpoint_id] = CheckpointResult(
                id=checkpoint.id,
                phase=checkpoint.phase,
                status=found.status,
                score=_credit(found),
                weight=checkpoint.weight,
                message=found.message,
                gate=checkpoint.gate,
                depth=place.depth,
            )
        return self._results[checkpoint_id]

    def _find(self, place: _Place) -> CheckResult:
        for other in place.requires:
            if self.result(other).status is not CheckStatus.PASS:
                why = f"requires {other!r}, which did not pass"
                return CheckResult(CheckStatus.NOT_APPLICABLE, why)
        for other in place.earlier:
            if self.result(other).status in (CheckStatus.FAIL, CheckStatus.ERROR):
                return CheckResult(CheckStatus.FAIL, "not reached")
        checkpoint = place.checkpoint
        if checkpoint.kind is Kind.LEAF:
            return self._leaf_results[checkpoint.id]
        return _combine(checkpoint.kind, [self.result(child.id) for child in checkpoint.children])


def _combine(kind: Kind, parts: Sequence[CheckpointResult]) -> CheckResult:
    applicable = [part for part in parts if part.status is not CheckStatus.NOT_APPLICABLE]
    if not applicable:
        return CheckResult(CheckStatus.NOT_APPLICABLE, "nothing in it applies")
    passed = sum(part.status is CheckStatus.PASS for part in applicable)
    message = f"{passed} of {len(applicable)} passed"
    if any(part.status is CheckStatus.ERROR for part in applicable):
        return CheckResult(CheckStatus.ERROR, message)
    passes = passed > 0 if kind is Kind.ANY else passed == len(applicable)
    if kind is Kind.ALL:
        score = float(passes)
    elif kind is Kind.ANY:
        score = max(part.score for part in applicable)
    else:
        earned = math.fsum(part.weight * part.score for part in applicable)
        score = min(1.0, earned / math.fsum(part.weight for part in applicable))
    return CheckResult(CheckStatus.PASS if passes else CheckStatus.FAIL, message, score)


def _credit(result: CheckResult) -> float:
    if result.status not in (CheckStatus.PASS, CheckStatus.FAIL):
        return 0.0
    return float(result.status is CheckStatus.PASS) if result.score is None else result.score
