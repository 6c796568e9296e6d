"""Calibration of a task's message checks: texts with known verdicts, judged without an episode.

Owns the file format ``agentgym.message-cases/1``, ``checks/calibration.toml`` beside a rubric.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field, model_validator

from agentgym.errors import NotFoundError, VerifierError
from agentgym.manifest import Manifest, load_toml, show_path
from agentgym.task.model import Instance
from agentgym.task.template import fill_json
from agentgym.verify.calibration.rates import Rate
from agentgym.verify.messages.readers import Fault, fault_reader
from agentgym.verify.rubric.file import load_rubric

FILE: Final = "calibration.toml"
LEAST: Final = 3
"""Number of texts of each kind that a message check needs."""


class MessageManifest(Manifest):
    """A ``[[message]]`` table.

    Attributes:
        check: Id of the checkpoint that judges the text.
        expect: The right verdict.
        text: The message, slots of the task filled.
        subject: Subject of a mail; absent if the subject is right.
        heard: What the reader had said before.
        limit: Why the check is known to give another verdict, which counts as its mistake.
    """

    check: str
    expect: Literal["pass", "fail"]
    text: str = Field(min_length=1)
    subject: str = ""
    heard: tuple[str, ...] = ()
    limit: str = ""


class GiveUpManifest(Manifest):
    """A ``[[give_up]]`` table.

    Attributes:
        expect: The right verdict.
        category: The category; empty for a text alone.
        subject: The subject, slots of the task filled, as in the reason.
        reason: The reason.
        seen: A text that the agent has seen before; empty if no check asks for one.
        limit: Why the checks are known to give another verdict, which counts as their mistake.
    """

    expect: Literal["pass", "fail"]
    category: str = ""
    subject: str = ""
    reason: str = Field(min_length=1)
    seen: str = ""
    limit: str = ""


class TextsManifest(Manifest):
    """A task's ``calibration.toml``.

    Attributes:
        files: Files of the world of each `[[give_up]]`, by path: texts, the same before and after.
    """

    schema_version: Literal["agentgym.message-cases/1"]
    message: tuple[MessageManifest, ...] = ()
    give_up: tuple[GiveUpManifest, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_some(self) -> TextsManifest:
        if not self.message and not self.give_up:
            raise ValueError("expected at least one [[message]] or [[give_up]]")
        return self


@dataclass(frozen=True, slots=True)
class Judged:
    """A text and the verdict of its check.

    Attributes:
        text: The case; the slots of its text, its subject and what was heard are filled.
        fault: The fault that the check finds; empty if the text passes.
    """

    case: MessageManifest
    fault: str
    text: str = ""
    subject: str = ""
    heard: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """Return whether the check is right."""
        return (not self.fault) is (self.case.expect == "pass")


def message_checks(instance: Instance) -> dict[str, Fault]:
    """Return the message checks of a rubric by the id of their checkpoint.

    Raises:
        VerifierError: The rubric is invalid, or a check does not accept its arguments.
    """
    rubric = load_rubric(instance.task.folder / "checks" / "rubric.toml")
    found = {}
    for leaf in rubric.leaves():
        arguments = fill_json(leaf.arguments, instance.params, leaf.use)
        assert isinstance(arguments, Mapping)
        reader = fault_reader(leaf.use, arguments)
        if reader is not None:
            found[leaf.id] = reader
    return found


def load_texts(instance: Instance) -> TextsManifest:
    """Return a task's calibration; it is empty if the task has no such file.

    Raises:
        VerifierError: The file cannot be read.
    """
    path = instance.task.folder / "checks" / FILE
    if not path.exists():
        return TextsManifest.model_construct()
    return load_toml(path, TextsManifest, VerifierError)


def judge_texts(instance: Instance) -> list[Judged]:
    """Judge the texts of a task's calibration; the list is empty if the task has no such file.

    Raises:
        VerifierError: The file or the rubric cannot be read, or a text names no message check.
    """
    path = instance.task.folder / "checks" / FILE
    checks = message_checks(instance)
    judged = []
    for case in load_texts(instance).message:
        if case.check not in checks:
            hint = NotFoundError("message check", case.check, checks)
            raise VerifierError(f"{show_path(path)}: {hint}")
        text, subject, *heard = (
            str(fill_json(one, instance.params, "text"))
            for one in (case.text, case.subject, *case.heard)
        )
        fault = checks[case.check](text, subject, heard)
        judged.append(Judged(case, fault, text, subject, tuple(heard)))
    return judged


def complaints(instance: Instance) -> list[str]:
    """Return the faults in the calibration of a task's message checks."""
    judged, found = judge_texts(instance), []
    for name in message_checks(instance):
        for expect, noun in (("fail", "bad"), ("pass", "good")):
            count = sum(1 for one in judged if (one.case.check, one.case.expect) == (name, expect))
            if count < LEAST:
                found.append(
                    f"{name}: expected at least {LEAST} {noun} texts in {FILE}, got {count}"
                )
    for one in judged:
        if one.agrees is not bool(one.case.limit):
            continue
        said = f"fails it: {one.fault}" if one.fault else "passes it"
        known = " and is said to be wrong about it" if one.case.limit else ""
        text = f"{one.case.text[:80]!r}"
        found.append(f"{one.case.check}: expected {one.case.expect}{known}; it {said}: {text}")
    return found


def rates(judged: Iterable[Judged]) -> tuple[Rate, Rate]:
    """Return the rate of bad texts that passed and the rate of good texts that failed."""
    some = list(judged)
    bad = [one.agrees for one in some if one.case.expect == "fail"]
    good = [one.agrees for one in some if one.case.expect == "pass"]
    return Rate(bad.count(False), len(bad)), Rate(good.count(False), len(good))
