"""Tests whether the rubric of a task reads the answer that its `task.toml` asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from agentgym.env.spec import answer_of
from agentgym.manifest import show_path
from agentgym.task.answer import AnswerForm
from agentgym.task.model import Task
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.rubric.tree import Checkpoint

_OF_FIELDS: Final = "answers.fields"
_OF_ENDINGS: Final = ("answers.fields", "answers.gave_up")
_TEXT_SOURCES: Final = ("answer", "final")


def uncompared(task: Task) -> Iterator[str]:
    """Yield the fields that no check compares, and the checks that read an answer as free text."""
    answer = answer_of(task)
    if answer == "text":
        return
    path = task.folder / "checks" / "rubric.toml"
    leaves = list(load_rubric(path).leaves())
    for leaf in leaves:
        if _reads_text(leaf):
            yield (
                f"{show_path(path)}: checkpoint {leaf.id!r} reads an answer in free text, and "
                f"task.toml asks for {'fields' if isinstance(answer, AnswerForm) else 'none'}"
            )
    if not isinstance(answer, AnswerForm):
        return
    own = any(leaf.use.startswith("checks.") for leaf in leaves)
    compared: set[str] = set()
    for leaf in leaves:
        fields = leaf.arguments.get("fields")
        if leaf.use == _OF_FIELDS and isinstance(fields, Mapping):
            compared |= fields.keys()
    names = [field.name for field in answer.field]
    for name in names:
        if name not in compared and not own:
            yield f"{show_path(path)}: no checkpoint compares field {name!r} of the answer"
    for name in sorted(compared - set(names)):
        yield f"{show_path(path)}: the answer has no field {name!r}; it has {', '.join(names)}"


def _reads_text(leaf: Checkpoint) -> bool:
    if leaf.use.startswith("answers."):
        return leaf.use not in _OF_ENDINGS
    sources = leaf.arguments.get("sources", [leaf.arguments.get("source")])
    return leaf.use.startswith("messages.") and any(
        source in _TEXT_SOURCES for source in (sources if isinstance(sources, list | tuple) else ())
    )
