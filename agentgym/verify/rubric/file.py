"""Reads a rubric from ``checks/rubric.toml``, the file format ``agentgym.rubric/1``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, model_validator

from agentgym.errors import VerifierError
from agentgym.manifest import Location, Manifest, load_toml, locate, read_text, show_path
from agentgym.records import Phase
from agentgym.verify.rubric.faults import Noun, faults_of
from agentgym.verify.rubric.tree import Checkpoint, Condition, Kind, Rubric, When

_ID = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
_USE = r"^[a-z][a-z0-9_]*\.[A-Za-z][A-Za-z0-9_]*$"


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
    fault = next(faults_of(rubric), None)
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
