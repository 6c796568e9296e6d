"""Faults that make a rubric meaningless: cycles, names that do not exist, nothing to judge."""

from __future__ import annotations

import graphlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentgym.errors import close_matches
from agentgym.records import Phase
from agentgym.verify.rubric.tree import PlacedCheckpoint, Rubric

Noun: TypeAlias = Literal["checkpoint", "condition"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one table of a rubric."""

    id: str
    what: str
    noun: Noun = "checkpoint"


def faults_of(rubric: Rubric) -> Iterator[Fault]:
    """Yield the faults that make a rubric meaningless, worst first."""
    places = list(rubric.placed())
    yield from _twice(rubric, places)
    yield from _dangling(rubric, places)
    yield from _misplaced(places)
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
        yield Fault(cycle[0], f"waits for itself: {' <- '.join(cycle)}")
    outcome = [c for c in rubric.checkpoints if c.phase is Phase.OUTCOME and not c.bonus]
    first = rubric.checkpoints[0].id
    if not outcome:
        yield Fault(first, "the rubric needs at least one of phase outcome that is no bonus")
    elif all(checkpoint.is_for_a_judge for checkpoint in outcome):
        what = "without a judge nothing of phase outcome is left; one needs no only_if_judged"
        yield Fault(outcome[0].id, what)


def _twice(rubric: Rubric, places: Sequence[PlacedCheckpoint]) -> Iterator[Fault]:
    ids: set[str] = set()
    for place in places:
        if place.checkpoint.id in ids:
            yield Fault(place.checkpoint.id, "another checkpoint has the same id")
        ids.add(place.checkpoint.id)
    for condition in rubric.conditions:
        if condition.id in ids:
            what = "a checkpoint, or another condition, has the same id"
            yield Fault(condition.id, what, "condition")
        ids.add(condition.id)


def _dangling(rubric: Rubric, places: Sequence[PlacedCheckpoint]) -> Iterator[Fault]:
    """Find names that do not exist, and conditions that nothing uses."""
    checkpoints = {place.checkpoint.id for place in places}
    conditions = {condition.id for condition in rubric.conditions}
    named: set[str] = set()
    for checkpoint in (place.checkpoint for place in places):
        for other in checkpoint.requires:
            if other not in checkpoints:
                instead = "a condition; say only_if" if other in conditions else ""
                what = _missing("requires", other, "checkpoint", checkpoints, instead)
                yield Fault(checkpoint.id, what)
        for field_name in ("only_if", "unless", "uncontrollable_if"):
            names: tuple[str, ...] = getattr(checkpoint, field_name)
            named.update(names)
            for other in names:
                if other not in conditions:
                    instead = "a checkpoint; say requires" if other in checkpoints else ""
                    if instead and field_name != "only_if":
                        instead = "a checkpoint; it takes a [[condition]]"
                    what = _missing(field_name, other, "condition", conditions, instead)
                    yield Fault(checkpoint.id, what)
    for condition in rubric.conditions:
        if condition.id not in named:
            what = "nothing depends on it; name it in only_if, unless or uncontrollable_if"
            yield Fault(condition.id, what, "condition")


def _missing(field_name: str, name: str, noun: Noun, known: set[str], instead: str) -> str:
    close = close_matches(name, known)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{field_name} {name!r}, which is {instead or f'no {noun}{hint}'}"


def _misplaced(places: Sequence[PlacedCheckpoint]) -> Iterator[Fault]:
    bonuses = {place.checkpoint.id for place in places if place.bonus}
    for place in places:
        checkpoint = place.checkpoint
        for child in checkpoint.children:
            if child.phase is not checkpoint.phase:
                what = f"phase {child.phase!s} in a group of phase {checkpoint.phase!s}"
                yield Fault(child.id, what)
        if checkpoint.bonus and place.depth:
            yield Fault(checkpoint.id, "a bonus stands at the top of the rubric, in no group")
        if place.bonus and checkpoint.gate:
            yield Fault(checkpoint.id, "a bonus, or what is in one, cannot be a gate")
        for other in checkpoint.requires:
            if other in bonuses and not place.bonus:
                what = f"requires {other!r}, a bonus or in one; no score depends on a bonus"
                yield Fault(checkpoint.id, what)
        chain = (*place.around, checkpoint)
        for other in checkpoint.only_if + checkpoint.unless:
            if any(other in a.only_if for a in chain) and any(other in a.unless for a in chain):
                yield Fault(checkpoint.id, f"only_if and unless {other!r}: it can never apply")
