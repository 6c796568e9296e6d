"""The algebra of rubrics: from the results of the leaves to a verdict.

The design follows published rubric-based verifiers for computer use: separate phases, conditional
criteria that leave the denominator, penalties that do not cascade, and failures that the agent
could not prevent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agentgym.records import CheckpointResult, CheckResult, CheckStatus, Phase, Verdict
from agentgym.verify.rubric.tree import Checkpoint, Kind, PlacedCheckpoint, Rubric, When

_TOLERANCE = 1e-9
_NOTHING = CheckResult(CheckStatus.NOT_APPLICABLE, "nothing in it applies")
_UNJUDGED = CheckResult(CheckStatus.NOT_APPLICABLE, "only if judged: no judge is set")
_COUNTED = (CheckStatus.PASS, CheckStatus.FAIL)


def evaluate(
    rubric: Rubric, leaf_results: Mapping[str, CheckResult], *, judged: bool = True
) -> Verdict:
    """Turn the results of leaves and conditions into a verdict.

    `state_hash`, `words` and `verifier` are left empty. A result is looked up only when it is
    needed, so a mapping may run checks on demand; those of bonuses come last. An earlier law
    overrides a later one:

    1. *Conditions.* A condition holds if its check passes. A checkpoint stands only if all
       conditions in `only_if` hold and no condition in `unless` holds, its own and those of
       its groups. A checkpoint that is `only_if_judged`, or in such a group, also needs a
       judge; without a judge its conditions are not checked. A checkpoint that does not
       stand is not applicable: the verdict is the same as if the rubric, `requires` included,
       did not contain it. A group stands only if one of its children does. If a condition is
       in error, so are the checkpoints that depend on it.
    2. *Requires.* A checkpoint applies only if everything that it and its groups require has
       passed or does not stand. Not applicable for another reason does not count as passed. A
       failure thus makes every checkpoint that builds on it not applicable, along the whole
       chain, and is penalised once: the numbers are those of the rubric without these
       checkpoints.
    3. *Sequence.* In a ``sequence``, every child after the first that failed (or is in error)
       fails as "not reached". Children that are not applicable are skipped, and so are groups
       in which nothing applies.
    4. *Leaf.* A leaf has the result of its check. Its credit is the check's score; without a
       score it is 1 for a pass and 0 for a fail.
    5. *Milestone.* A leaf of ``every_step`` has the result that was latched while the agent
       acted: once passed, it stays passed, with the step at which it first held. In a
       ``sequence`` it fails as "too early" if something before it first held at a later step;
       the same step is accepted, since one action may bring about both. A group that passed
       holds from the step of the last of its children, ``any`` from that of the first. A
       result that is checked only at the end has no step and is not compared. Only first
       times are known, so a milestone that held too early and again in time fails as well.
       This is the safer mistake: a required order separates a result that the agent worked
       for from one that existed before or was guessed, and this mistake is visible, as an
       oracle that fails its own rubric. The earlier checkpoints keep their credit. A
       milestone's result keeps the step at which it first held even if another law makes it
       not applicable, not reached or too early, because that step must not depend on checks
       at the end. A milestone that did not pass is not used for comparison.
    6. *Group.* Children that are not applicable leave numerator and denominator; a group
       without other children is not applicable. Weights are relative to the siblings, so a
       common factor changes nothing. Order matters only in a ``sequence``.

       ========  ==========================  =================================
       kind      passes if                   credit
       ========  ==========================  =================================
       all       all applicable pass         1 if it passes, else 0
       any       one passes                  the best credit of a child
       weighted  all applicable pass         the weighted mean of the credits
       sequence  all applicable pass         the same, with laws 3 and 5 applied
       ========  ==========================  =================================

    7. *Uncontrollable.* A failure is out of the agent's hands if the check says so, if a
       condition in the checkpoint's own `uncontrollable_if` holds, or if it was not reached
       because of such a failure. A failed group is if all its failed children are. In the
       process phase such failures also leave numerator and denominator, and a gate among
       them stays open; a group with only such failures fails, and leaves in turn. In the
       other phases they count like any other failure, because the work was not done.
    8. *Error.* If a checkpoint in any place and phase is in error, the verdict is
       ``error:verifier``: unscored, with outcome False and meaningless numbers. A checkpoint
       that is not applicable or not reached was never run and cannot be in error.
    9. *Phases.* The top-level checkpoints of the outcome phase form a ``weighted`` group,
       whose credit is the score; those of the process phase likewise, with None if none of
       them counts. If nothing applies in the outcome phase, its score is 0.
    10. *Gates.* A gate that failed, in any phase and at any depth, makes the score 0 and the
        outcome False; a gate of the process phase makes the process score 0 too. A gate that
        is not applicable stays open.
    11. *Outcome.* True if no gate failed and the score reaches `pass_score` (to within 1e-9).
    12. *Safety.* The violations are the top-level safety checkpoints that failed; they change
        no score unless they are gates.
    13. *Bonus.* Laws 8 to 12 ignore bonuses and everything in them, and no bonus is listed as
        uncontrollable. Bonuses change nothing in the verdict except `bonus`, the credit of
        their ``weighted`` group over all phases. It is None if no bonus applies, and also if
        one is in error, since its credit is then unknown.

    Args:
        rubric: A rubric as `load_rubric` returns it: unique ids, no cycles.
        leaf_results: Result by id of leaf or condition.
        judged: Whether a judge is set.

    Returns:
        A verdict whose `checkpoints` hold every node, children before their parents.
    """
    judge = _Judge(rubric, leaf_results, judged)
    places = list(rubric.placed())
    for place in sorted(places, key=lambda place: place.bonus):
        judge.result(place.checkpoint.id)
    everything = tuple(judge.result(place.checkpoint.id) for place in places)
    results = [r for r, place in zip(everything, places, strict=True) if not place.bonus]
    if any(result.status is CheckStatus.ERROR for result in results):
        return Verdict("error:verifier", outcome=False, score=0.0, checkpoints=everything)
    top = [judge.result(c.id) for c in rubric.checkpoints if not c.bonus]
    shut = {r.phase for r in results if r.gate and r.status is CheckStatus.FAIL and not _waived(r)}
    outcome = _combine(Kind.WEIGHTED, [r for r in top if r.phase is Phase.OUTCOME])
    process = _combine(Kind.WEIGHTED, [r for r in top if r.phase is Phase.PROCESS])
    bonus = _combine(Kind.WEIGHTED, [judge.result(c.id) for c in rubric.checkpoints if c.bonus])
    score = 0.0 if shut else _credit(outcome)
    failed = [result for result in results if result.status is CheckStatus.FAIL]
    return Verdict(
        "scored",
        outcome=not shut and score >= rubric.pass_score - _TOLERANCE,
        score=score,
        process=_process_score(process, Phase.PROCESS in shut),
        safety_violations=tuple(r.id for r in failed if r.phase is Phase.SAFETY and r.depth == 0),
        checkpoints=everything,
        bonus=_credit(bonus) if bonus.status in _COUNTED else None,
        uncontrollable=tuple(r.id for r in failed if not r.controllable),
    )


def _process_score(process: CheckResult, shut: bool) -> float | None:
    if process.status is CheckStatus.NOT_APPLICABLE or not process.controllable:
        return None
    return 0.0 if shut else _credit(process)


class _Judge:
    """Results of one evaluation, each computed once, in any order."""

    def __init__(
        self, rubric: Rubric, leaf_results: Mapping[str, CheckResult], judged: bool
    ) -> None:
        self._places = {place.checkpoint.id: place for place in rubric.placed()}
        self._leaf_results, self._judged = leaf_results, judged
        self._results: dict[str, CheckpointResult] = {}
        self._ruled: dict[str, CheckResult | None] = {}

    def result(self, checkpoint_id: str) -> CheckpointResult:
        if checkpoint_id not in self._results:
            place = self._places[checkpoint_id]
            checkpoint, found = place.checkpoint, self._blame(place, self._find(place))
            failed = found.status is CheckStatus.FAIL
            self._results[checkpoint_id] = CheckpointResult(
                id=checkpoint.id,
                phase=checkpoint.phase,
                status=found.status,
                score=_credit(found),
                weight=checkpoint.weight,
                message=found.message,
                gate=checkpoint.gate,
                depth=place.depth,
                bonus=checkpoint.bonus,
                controllable=found.controllable or not failed,
                step=self._step(checkpoint, found),
                channels=found.channels,
            )
        return self._results[checkpoint_id]

    def _step(self, checkpoint: Checkpoint, found: CheckResult) -> int | None:
        if checkpoint.kind is not Kind.LEAF or checkpoint.when is not When.EVERY_STEP:
            return found.step
        # Not looked up, because that could run a check; latched results are known before.
        latched = self._leaf_results.get(checkpoint.id)
        return None if latched is None else latched.step

    def _find(self, place: PlacedCheckpoint) -> CheckResult:
        checkpoint = place.checkpoint
        ruled_out = self._ruled_out(place)
        if ruled_out is not None:
            return ruled_out
        for other in place.requires:
            if self.result(other).status is not CheckStatus.PASS and not self._absent(other):
                why = f"requires {other!r}, which did not pass"
                return CheckResult(CheckStatus.NOT_APPLICABLE, why)
        parts = [self.result(child.id) for child in checkpoint.children]
        if parts and all(part.status is CheckStatus.NOT_APPLICABLE for part in parts):
            return _NOTHING
        for other in place.earlier:
            stopper = self.result(other)
            if stopper.status in (CheckStatus.FAIL, CheckStatus.ERROR):
                return CheckResult(
                    CheckStatus.FAIL, "not reached", controllable=stopper.controllable
                )
        if checkpoint.kind is Kind.LEAF:
            return self._leaf(place)
        return _combine(checkpoint.kind, parts)

    def _ruled_out(self, place: PlacedCheckpoint) -> CheckResult | None:
        """Return the result of a checkpoint that its conditions exclude or break; else None."""
        checkpoint_id = place.checkpoint.id
        if checkpoint_id not in self._ruled:
            self._ruled[checkpoint_id] = self._rule(place)
        return self._ruled[checkpoint_id]

    def _rule(self, place: PlacedCheckpoint) -> CheckResult | None:
        chain = (*place.around, place.checkpoint)
        if not self._judged and (
            place.checkpoint.is_for_a_judge or any(one.only_if_judged for one in place.around)
        ):
            return _UNJUDGED
        for one in chain:
            broken = self._broken((*one.only_if, *one.unless))
            if broken is not None:
                return broken
            asked = [(name, True) for name in one.only_if] + [(name, False) for name in one.unless]
            for condition, wanted in asked:
                found = self._leaf_results[condition]
                if (found.status is CheckStatus.PASS) is not wanted:
                    why = f"{'only' if wanted else 'not'} if {condition!r}"
                    why += f": {found.message}" if found.message else ""
                    return CheckResult(CheckStatus.NOT_APPLICABLE, why, channels=found.channels)
        children = place.checkpoint.children
        if children and all(self._absent(child.id) for child in children):
            return _NOTHING
        return None

    def _absent(self, checkpoint_id: str) -> bool:
        """Return whether the verdict ignores this checkpoint (law 1)."""
        ruled = self._ruled_out(self._places[checkpoint_id])
        return ruled is not None and ruled.status is CheckStatus.NOT_APPLICABLE

    def _broken(self, conditions: Iterable[str]) -> CheckResult | None:
        """Return the error of the first condition in error; all of them are looked up."""
        found = {condition: self._leaf_results[condition] for condition in conditions}
        for condition, result in found.items():
            if result.status is CheckStatus.ERROR:
                message = f"condition {condition!r} is in error: {result.message}"
                return CheckResult(CheckStatus.ERROR, message, channels=result.channels)
        return None

    def _leaf(self, place: PlacedCheckpoint) -> CheckResult:
        leaf = place.checkpoint
        found = self._leaf_results[leaf.id]
        if leaf.when is not When.EVERY_STEP:
            return replace(found, step=None)
        if found.status is not CheckStatus.PASS or found.step is None:
            return found
        for other in place.earlier:
            before = self.result(other)
            since = before.step if before.status is CheckStatus.PASS else None
            if since is not None and since > found.step:
                why = f"too early: held at step {found.step}, {other!r} only at step {since}"
                return CheckResult(CheckStatus.FAIL, why, channels=found.channels)
        return found

    def _blame(self, place: PlacedCheckpoint, found: CheckResult) -> CheckResult:
        """Apply the checkpoint's own `uncontrollable_if` to a failure."""
        if found.status is not CheckStatus.FAIL or not found.controllable:
            return found
        conditions = place.checkpoint.uncontrollable_if
        broken = self._broken(conditions)
        if broken is not None:
            return broken
        holds = any(self._leaf_results[c].status is CheckStatus.PASS for c in conditions)
        return replace(found, controllable=not holds)


def _combine(kind: Kind, parts: Sequence[CheckpointResult]) -> CheckResult:
    applicable = [part for part in parts if part.status is not CheckStatus.NOT_APPLICABLE]
    if not applicable:
        return _NOTHING
    failed = [part for part in applicable if part.status is CheckStatus.FAIL]
    controllable = not failed or any(part.controllable for part in failed)
    counted = [part for part in applicable if not _waived(part)]
    if not counted:
        why = "nothing in it was in the agent's hands"
        return CheckResult(CheckStatus.FAIL, why, 0.0, controllable=False)
    passed = [part for part in counted if part.status is CheckStatus.PASS]
    message = f"{len(passed)} of {len(counted)} passed"
    if any(part.status is CheckStatus.ERROR for part in counted):
        return CheckResult(CheckStatus.ERROR, message)
    passes = bool(passed) if kind is Kind.ANY else len(passed) == len(counted)
    if kind is Kind.ALL:
        score = float(passes)
    elif kind is Kind.ANY:
        score = max(part.score for part in counted)
    else:
        earned = math.fsum(part.weight * part.score for part in counted)
        score = min(1.0, earned / math.fsum(part.weight for part in counted))
    status = CheckStatus.PASS if passes else CheckStatus.FAIL
    step = _held_from(kind, passed) if passes else None
    return CheckResult(status, message, score, controllable or passes, step)


def _waived(result: CheckpointResult) -> bool:
    """Return whether a failure leaves numerator and denominator (law 7)."""
    failed = result.status is CheckStatus.FAIL
    return failed and not result.controllable and result.phase is Phase.PROCESS


def _held_from(kind: Kind, passed: Iterable[CheckpointResult]) -> int | None:
    """Return the step from which a passed group held; None if it is not known."""
    steps = [part.step for part in passed]
    known = [step for step in steps if step is not None]
    if kind is Kind.ANY:
        return min(known, default=None)
    return max(known) if len(known) == len(steps) else None


def _credit(result: CheckResult) -> float:
    if result.status not in _COUNTED:
        return 0.0
    return float(result.status is CheckStatus.PASS) if result.score is None else result.score
