"""The rubric: a tree of checkpoints read from ``checks/rubric.toml``.

The module owns the file format ``agentgym.rubric/1``. `agentgym.verify.algebra` defines the meaning
of the tree.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field, JsonValue, model_validator

from agentgym.errors import VerifierError, close_matches
from agentgym.manifest import Location, Manifest, load_toml, locate, read_text, show_path
from agentgym.records import Json, Phase

_ID = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
_USE = r"^[a-z][a-z0-9_]*\.[A-Za-z][A-Za-z0-9_]*$"


class Kind(StrEnum):
    """The source of a checkpoint's result: a check, or its children."""

    LEAF = "leaf"
    ALL = "all"
    ANY = "any"
    WEIGHTED = "weighted"
    SEQUENCE = "sequence"


class When(StrEnum):
    """The time of a check: once at the end, or after every step until it first passes."""

    END = "end"
    EVERY_STEP = "every_step"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on which checkpoints depend; it has no weight and no credit.

    Attributes:
        id: Unique in the rubric, checkpoints included.
        title: The question, in words.
        use: ``pack.function``; the condition holds if the check passes.
        arguments: The rubric's arguments of the check, slots not yet filled.
    """

    id: str
    title: str = ""
    use: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One node of a rubric.

    Attributes:
        id: Unique in the rubric.
        title: The demand, in words.
        kind: Leaf, or how the children are combined.
        use: ``pack.function`` of a leaf, else empty.
        arguments: The rubric's arguments of the check, slots not yet filled.
        weight: Share in its group or phase, > 0 and at most a million.
        phase: The phase it counts for, the same as its group's.
        gate: If it fails, the score is 0.
        requires: Ids of checkpoints that must pass for this to apply.
        only_if: Ids of conditions that must all hold for this to apply.
        unless: Ids of conditions; if one holds, this does not apply.
        only_if_judged: It applies only if a judge is set, and does not demand a judge.
        uncontrollable_if: Ids of conditions; if one holds, the agent could not have prevented a
            failure of this.
        bonus: Reported and credited separately; it changes no score. Only at the top level.
        when: A leaf of ``every_step`` is a milestone.
        children: Children of a group; empty for a leaf.
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
    only_if: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    only_if_judged: bool = False
    uncontrollable_if: tuple[str, ...] = ()
    bonus: bool = False
    when: When = When.END
    children: tuple[Checkpoint, ...] = ()

    @property
    def is_for_a_judge(self) -> bool:
        """Whether it is left out completely without a judge."""
        below = self.children
        return self.only_if_judged or (bool(below) and all(c.is_for_a_judge for c in below))


@dataclass(frozen=True, slots=True)
class Rubric:
    """The checkpoints of a task, their conditions, and the score that counts as done."""

    checkpoints: tuple[Checkpoint, ...]
    pass_score: float = 1.0
    conditions: tuple[Condition, ...] = ()

    def leaves(self) -> Iterator[Checkpoint]:
        """Yield the checkpoints that have a check, in the order of the file."""
        return (p.checkpoint for p in self.placed() if p.checkpoint.kind is Kind.LEAF)

    def milestones(self) -> Iterator[Checkpoint]:
        """Yield the leaves that are checked after every step."""
        return (leaf for leaf in self.leaves() if leaf.when is When.EVERY_STEP)

    def checked_at_end(self) -> Iterator[Checkpoint | Condition]:
        """Yield everything whose check runs when the episode is over."""
        yield from self.conditions
        yield from (leaf for leaf in self.leaves() if leaf.when is When.END)

    def placed(self) -> Iterator[PlacedCheckpoint]:
        """Yield every checkpoint in its place, children before parents."""
        return _survey(self.checkpoints, (), (), ())


@dataclass(frozen=True, slots=True)
class PlacedCheckpoint:
    """A checkpoint and the settings that it inherits from its position.

    Attributes:
        around: The groups that contain it, outermost first.
        requires: Everything that it and its groups require.
        earlier: Checkpoints that come before it, or before a group around it, in a sequence.
    """

    checkpoint: Checkpoint
    around: tuple[Checkpoint, ...] = ()
    requires: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        """Number of groups that contain it."""
        return len(self.around)

    @property
    def bonus(self) -> bool:
        """Whether it is a bonus or inside one."""
        return (*self.around, self.checkpoint)[0].bonus


def _survey(
    siblings: Sequence[Checkpoint],
    around: tuple[Checkpoint, ...],
    requires: tuple[str, ...],
    earlier: tuple[str, ...],
) -> Iterator[PlacedCheckpoint]:
    for checkpoint in siblings:
        needs = requires + checkpoint.requires
        yield from _survey(checkpoint.children, (*around, checkpoint), needs, earlier)
        yield PlacedCheckpoint(checkpoint, around, needs, earlier)
        if around and around[-1].kind is Kind.SEQUENCE:
            earlier = (*earlier, checkpoint.id)


# --- the file ------------------------------------------------------------------------------


class ConditionManifest(Manifest):
    """A ``[[condition]]`` table."""

    id: str = Field(pattern=_ID)
    title: str = ""
    use: str = Field(pattern=_USE)
    arguments: dict[str, JsonValue] = Field(default_factory=dict, alias="with")


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
    only_if: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    only_if_judged: bool = False
    uncontrollable_if: tuple[str, ...] = ()
    bonus: bool = False
    when: When | None = None
    checkpoint: tuple[CheckpointManifest, ...] = ()

    @model_validator(mode="after")
    def _leaf_or_group(self) -> CheckpointManifest:
        if self.kind is Kind.LEAF:
            if self.checkpoint:
                raise ValueError("it has checkpoints below it; say how they count: kind = 'all'")
            if self.use is None:
                raise ValueError("a leaf needs use = 'pack.function'")
            return self
        if self.use is not None or self.arguments:
            raise ValueError(f"a group (kind = '{self.kind!s}') has no use and no with of its own")
        if self.when is not None:
            raise ValueError(f"a group (kind = '{self.kind!s}') has no when; its leaves do")
        if not self.checkpoint:
            raise ValueError(f"a group (kind = '{self.kind!s}') needs checkpoints below it")
        return self


class RubricManifest(Manifest):
    """The whole of ``rubric.toml``."""

    schema_version: Literal["agentgym.rubric/1"]
    pass_score: float = Field(default=1.0, gt=0, le=1)
    condition: tuple[ConditionManifest, ...] = ()
    checkpoint: tuple[CheckpointManifest, ...] = Field(min_length=1)


def load_rubric(path: Path) -> Rubric:
    """Read and validate a rubric.

    Raises:
        VerifierError: The message names file, line and field, or the checkpoint and its fault.
    """
    manifest = load_toml(path, RubricManifest, VerifierError)
    rubric = Rubric(
        checkpoints=tuple(_build(item, Phase.OUTCOME) for item in manifest.checkpoint),
        pass_score=manifest.pass_score,
        conditions=tuple(
            Condition(item.id, item.title, item.use, item.arguments) for item in manifest.condition
        ),
    )
    fault = next(_faults(rubric), None)
    if fault is not None:
        raise VerifierError(f"{_place(path, manifest, fault.noun, fault.id)}: {fault.what}")
    return rubric


def show_place(path: Path, asked: Checkpoint | Condition, field_name: str) -> str:
    """Return ``file:line: checkpoint 'id'`` of a field in a rubric that loads, for messages."""
    manifest = load_toml(path, RubricManifest, VerifierError)
    noun: Noun = "condition" if isinstance(asked, Condition) else "checkpoint"
    return _place(path, manifest, noun, asked.id, field_name)


def _place(path: Path, manifest: RubricManifest, noun: Noun, id: str, *fields: str) -> str:
    text = read_text(path, VerifierError)
    # A missing field has the line of its table.
    location = (*dict(_locations(manifest))[noun, id], *fields)
    return f"{show_path(path)}:{locate(text, location)}: {noun} {id!r}"


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
        only_if=manifest.only_if,
        unless=manifest.unless,
        only_if_judged=manifest.only_if_judged,
        uncontrollable_if=manifest.uncontrollable_if,
        bonus=manifest.bonus,
        when=manifest.when or When.END,
        children=tuple(_build(child, phase) for child in manifest.checkpoint),
    )


# --- what cannot be judged -----------------------------------------------------------------

Noun: TypeAlias = Literal["checkpoint", "condition"]


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault of one table of a rubric."""

    id: str
    what: str
    noun: Noun = "checkpoint"


def _faults(rubric: Rubric) -> Iterator[_Fault]:
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
        yield _Fault(cycle[0], f"waits for itself: {' <- '.join(cycle)}")
    outcome = [c for c in rubric.checkpoints if c.phase is Phase.OUTCOME and not c.bonus]
    first = rubric.checkpoints[0].id
    if not outcome:
        yield _Fault(first, "the rubric needs at least one of phase outcome that is no bonus")
    elif all(checkpoint.is_for_a_judge for checkpoint in outcome):
        what = "without a judge nothing of phase outcome is left; one needs no only_if_judged"
        yield _Fault(outcome[0].id, what)


def _twice(rubric: Rubric, places: Sequence[PlacedCheckpoint]) -> Iterator[_Fault]:
    ids: set[str] = set()
    for place in places:
        if place.checkpoint.id in ids:
            yield _Fault(place.checkpoint.id, "another checkpoint has the same id")
        ids.add(place.checkpoint.id)
    for condition in rubric.conditions:
        if condition.id in ids:
            what = "a checkpoint, or another condition, has the same id"
            yield _Fault(condition.id, what, "condition")
        ids.add(condition.id)


def _dangling(rubric: Rubric, places: Sequence[PlacedCheckpoint]) -> Iterator[_Fault]:
    """Find names that do not exist, and conditions that nothing uses."""
    checkpoints = {place.checkpoint.id for place in places}
    conditions = {condition.id for condition in rubric.conditions}
    named: set[str] = set()
    for checkpoint in (place.checkpoint for place in places):
        for other in checkpoint.requires:
            if other not in checkpoints:
                instead = "a condition; say only_if" if other in conditions else ""
                what = _missing("requires", other, "checkpoint", checkpoints, instead)
                yield _Fault(checkpoint.id, what)
        for field_name in ("only_if", "unless", "uncontrollable_if"):
            names: tuple[str, ...] = getattr(checkpoint, field_name)
            named.update(names)
            for other in names:
                if other not in conditions:
                    instead = "a checkpoint; say requires" if other in checkpoints else ""
                    if instead and field_name != "only_if":
                        instead = "a checkpoint; it takes a [[condition]]"
                    what = _missing(field_name, other, "condition", conditions, instead)
                    yield _Fault(checkpoint.id, what)
    for condition in rubric.conditions:
        if condition.id not in named:
            what = "nothing depends on it; name it in only_if, unless or uncontrollable_if"
            yield _Fault(condition.id, what, "condition")


def _missing(field_name: str, name: str, noun: Noun, known: set[str], instead: str) -> str:
    close = close_matches(name, known)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{field_name} {name!r}, which is {instead or f'no {noun}{hint}'}"


def _misplaced(places: Sequence[PlacedCheckpoint]) -> Iterator[_Fault]:
    bonuses = {place.checkpoint.id for place in places if place.bonus}
    for place in places:
        checkpoint = place.checkpoint
        for child in checkpoint.children:
            if child.phase is not checkpoint.phase:
                what = f"phase {child.phase!s} in a group of phase {checkpoint.phase!s}"
                yield _Fault(child.id, what)
        if checkpoint.bonus and place.depth:
            yield _Fault(checkpoint.id, "a bonus stands at the top of the rubric, in no group")
        if place.bonus and checkpoint.gate:
            yield _Fault(checkpoint.id, "a bonus, or what is in one, cannot be a gate")
        for other in checkpoint.requires:
            if other in bonuses and not place.bonus:
                what = f"requires {other!r}, a bonus or in one; no score depends on a bonus"
                yield _Fault(checkpoint.id, what)
        chain = (*place.around, checkpoint)
        for other in checkpoint.only_if + checkpoint.unless:
            if any(other in a.only_if for a in chain) and any(other in a.unless for a in chain):
                yield _Fault(checkpoint.id, f"only_if and unless {other!r}: it can never apply")


def _locations(manifest: RubricManifest) -> Iterator[tuple[tuple[Noun, str], Location]]:
    """Yield the place of each id in the file; for an id used twice, the later place comes last."""
    for index, condition in enumerate(manifest.condition):
        yield ("condition", condition.id), ("condition", index)
    waiting: list[tuple[CheckpointManifest, Location]]
    waiting = [(item, ("checkpoint", i)) for i, item in enumerate(manifest.checkpoint)]
    while waiting:
        item, here = waiting.pop(0)
        yield ("checkpoint", item.id), here
        waiting[:0] = [(c, (*here, "checkpoint", i)) for i, c in enumerate(item.checkpoint)]
