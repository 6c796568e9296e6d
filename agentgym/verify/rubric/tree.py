"""The rubric: a tree of checkpoints. `agentgym.verify.rubric.algebra` defines its meaning.

`agentgym.verify.rubric.file` reads it from ``checks/rubric.toml``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from agentgym.records import Json, Phase


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
