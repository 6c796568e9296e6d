"""Later judgements of an episode, printed in a terminal: step grades and earlier verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from agentgym.eval.printable import clean
from agentgym.record.history import PastVerdict
from agentgym.records import CheckStatus, Grading, StepGrade

_SIGNS = {
    CheckStatus.PASS: ("✓", "green"),
    CheckStatus.FAIL: ("✗", "red"),
    CheckStatus.ERROR: ("!", "yellow"),
}


def remarks(gradings: Sequence[Grading]) -> dict[int, list[tuple[str, StepGrade]]]:
    """Return the grades to show, by step: bad steps, errors, and milestones."""
    found: dict[int, list[tuple[str, StepGrade]]] = {}
    for one in gradings:
        for grade in one.grades:
            silent = grade.status is CheckStatus.NOT_APPLICABLE
            if not silent and (grade.status is not CheckStatus.PASS or grade.value is not None):
                found.setdefault(grade.step, []).append((one.grader, grade))
    return found


def print_grades(console: Console, grades: Sequence[tuple[str, StepGrade]]) -> None:
    """Print the remarks of graders on one step."""
    for grader, grade in grades:
        sign, style = _SIGNS[grade.status]
        line = Text(f"{sign} ", style).append(f"{clean(grader)}: {clean(grade.label)}")
        if grade.message:
            line.append(f"  {clean(grade.message)}".replace("\n", " "), "dim")
        console.print(line, soft_wrap=True)


def print_past_verdicts(console: Console, verdicts: Sequence[PastVerdict]) -> None:
    """Print the earlier verdicts of an episode, oldest first."""
    if verdicts:
        console.print("\nearlier verdicts", style="dim")
    for past in verdicts:
        old = past.verdict
        if old.scored:
            word = f"{'passed' if old.outcome else 'failed'}  score {old.score:.3f}"
        else:
            word = f"{old.status}  {past.error}".rstrip()
        told = f"{word}  verifier {old.verifier or 'unknown'}, until {past.at}: {past.why}"
        console.print(Text(clean(told.replace("\n", " "))), soft_wrap=True)
