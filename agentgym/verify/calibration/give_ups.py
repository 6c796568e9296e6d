"""Calibration of how a task judges giving up: statements with known verdicts, without an episode.

They are the `[[give_up]]` tables of ``checks/calibration.toml`` beside a rubric. Those checkpoints
judge them that read the fields of `give_up`: their arguments name the causes that hold, `true`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentgym.errors import ActionError, VerifierError
from agentgym.records import Action, CheckStatus, Decision, Json, Observation, Step, TokenUsage
from agentgym.task.model import Instance
from agentgym.task.template import fill_json
from agentgym.verify.calibration.messages import FILE, LEAST, GiveUpManifest, load_texts
from agentgym.verify.checking import Broken
from agentgym.verify.evidence import EpisodeEvidence
from agentgym.verify.giving_up import GIVE_UP, read_give_up
from agentgym.verify.memory_evidence import evidence
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.worker.host import Answers
from agentgym.verify.worker.runner import CheckRunner

TRUE = "true"
"""Argument of a check that reads the fields: the causes that hold."""

_CHECKS_S = 10.0


@dataclass(frozen=True, slots=True)
class JudgedGiveUp:
    """A statement and its verdict.

    Attributes:
        case: The case.
        fault: Why it was refused; empty if it was accepted.
    """

    case: GiveUpManifest
    fault: str

    @property
    def agrees(self) -> bool:
        """Return whether the verdict is right."""
        return (not self.fault) is (self.case.expect == "pass")


def field_checks(instance: Instance) -> list[str]:
    """Return the ids of the checkpoints that read the fields of `give_up`.

    Raises:
        VerifierError: The rubric is invalid.
    """
    rubric = load_rubric(instance.task.folder / "checks" / "rubric.toml")
    return [leaf.id for leaf in rubric.leaves() if leaf.arguments.get(TRUE)]


def judge_give_ups(instance: Instance) -> list[JudgedGiveUp]:
    """Judge the statements of a task's calibration.

    Raises:
        VerifierError: The file or the rubric cannot be read, or an episode would not accept a
            statement.
    """
    texts = load_texts(instance)
    if not texts.give_up:
        return []
    checks = field_checks(instance)
    judged = []
    for case in texts.give_up:
        fault = _fault(instance, _evidence(instance, case, texts.files), checks)
        judged.append(JudgedGiveUp(case, fault))
    return judged


def give_up_complaints(instance: Instance) -> list[str]:
    """Return the faults in the calibration of how a task judges giving up."""
    judged, found = judge_give_ups(instance), []
    if field_checks(instance):
        for expect, noun in (("fail", "bad"), ("pass", "good")):
            count = sum(one.case.expect == expect for one in judged)
            if count < LEAST:
                found.append(f"expected at least {LEAST} {noun} [[give_up]] in {FILE}, got {count}")
    for one in judged:
        if one.agrees is not bool(one.case.limit):
            continue
        said = f"is refused: {one.fault}" if one.fault else "passes"
        known = ", and the check is said to be wrong about it" if one.case.limit else ""
        named = f"{one.case.category or 'no category'}, {one.case.subject[:40]!r}"
        text = f"{named}, {one.case.reason[:60]!r}"
        found.append(f"give_up ({text}): expected {one.case.expect}{known}; it {said}")
    return found


def _fault(instance: Instance, seen: EpisodeEvidence, checks: Sequence[str]) -> str:
    until_s = time.monotonic() + _CHECKS_S
    with CheckRunner(instance) as runner:  # a runner keeps the steps of its episode
        runner.open()
        runner.see(seen)
        for id in checks:
            found = runner.run(id, Answers(seen), lambda: until_s)
            if isinstance(found, Broken):
                raise VerifierError(f"checkpoint {id!r} breaks on a [[give_up]]: {found.what}")
            if found.status is not CheckStatus.PASS:
                return f"{id}: {found.message}"
    return ""


def _evidence(
    instance: Instance, case: GiveUpManifest, files: Mapping[str, str]
) -> EpisodeEvidence:
    """Return the evidence of an episode in which the agent has seen a text, and gives up."""
    filled = fill_json(dict(_arguments(case)), instance.params, FILE)
    assert isinstance(filled, dict)
    try:
        said = read_give_up(filled)
    except ActionError as error:
        raise VerifierError(f"{FILE}: {error}") from None
    looked = Action("bash", {"command": "true"})
    steps = [_step(1, looked, case.seen), _step(2, Action(GIVE_UP, filled), "")]
    return evidence(files, files, params=instance.params, steps=steps, gave_up=said.reason)


def _arguments(case: GiveUpManifest) -> Iterator[tuple[str, Json]]:
    for name in ("category", "subject", "reason"):
        if value := getattr(case, name):
            yield name, value


def _step(number: int, action: Action, seen: str) -> Step:
    return Step(number, Decision(action, usage=TokenUsage(0, 0)), Observation(seen))
