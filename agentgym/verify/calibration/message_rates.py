"""Rates: how often the message checks of tasks misjudge texts with known verdicts.

The page shows them with and without a judge. If a rubric gives a message to a judge (a gate that
is ``only_if_judged``), the judge reviews the texts that pass the deterministic check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentgym.protocols import Judge
from agentgym.records import Criterion, Json, Met
from agentgym.task.model import Instance
from agentgym.task.template import fill_json
from agentgym.verify.calibration.messages import Judged, judge_texts, rates
from agentgym.verify.calibration.rates import Rate
from agentgym.verify.calibration.reference import show_rate
from agentgym.verify.judge.exhibits import message_exhibits, sources_of
from agentgym.verify.messages.sources import Written
from agentgym.verify.rubric.file import load_rubric

GATE: Final = "judge.criterion"
_NARROW: Final = ("alone", "answers", "internal", "last")
COMMAND: Final = "agentgym verifier rates tools --markdown docs/calibration.md"


@dataclass(frozen=True, slots=True)
class TaskRates:
    """The error rates of a task's message checks.

    Attributes:
        task: Id of the task.
        bad_passed: Rate of bad texts that passed without a judge.
        good_failed: Rate of good texts that failed without a judge.
        given: Number of its message checks whose messages also go to a judge.
        checks: Number of its message checks.
        judged: The same two rates with a judge; None if no judge was asked about messages that a
            gate gives to it.
    """

    task: str
    bad_passed: Rate
    good_failed: Rate
    given: int
    checks: int
    judged: tuple[Rate, Rate] | None = None


@dataclass(frozen=True, slots=True)
class _Gate:
    """A gate of a rubric that a judge decides, slots filled."""

    criterion: str
    sources: Sequence[object]
    votes: int
    strict: bool

    def refuses(self, judge: Judge, one: Judged, source: object) -> bool:
        text = Written("a known text", one.text, one.subject, one.heard)
        assert isinstance(source, (str, Mapping))
        shown = message_exhibits([(source, text)])
        found = judge.decide(Criterion(self.criterion), shown, votes=self.votes)
        return found.met is Met.NO or (self.strict and found.met is not Met.YES)


def task_rates(instance: Instance, judge: Judge | None = None) -> TaskRates | None:
    """Return the rates of a task, or None if it has no known texts.

    Args:
        instance: The task with its parameters.
        judge: Reviews the texts that pass the deterministic checks.

    Raises:
        VerifierError: The texts or the rubric are invalid, or the judge gives no answer.
    """
    judged = judge_texts(instance)
    if not judged:
        return None
    sources, gates = _sources(instance), list(_gates(instance))
    names = {one.case.check for one in judged}
    given = sum(any(_meets(gate, source) for gate in gates for source in sources[n]) for n in names)
    found = TaskRates(instance.task.id, *rates(judged), given, len(names))
    if given == 0:
        # No gate gives a message to a judge, so the verdicts are the same with one.
        return replace(found, judged=(found.bad_passed, found.good_failed))
    if judge is None:
        return found
    seen = [_with_judge(one, sources[one.case.check], gates, judge) for one in judged]
    return replace(found, judged=rates(seen))


def _with_judge(
    one: Judged, sources: Sequence[object], gates: Sequence[_Gate], judge: Judge
) -> Judged:
    if one.fault:
        return one
    for gate in gates:
        for source in sources:
            if _meets(gate, source) and gate.refuses(judge, one, source):
                return replace(one, fault="the judge refuses it")
    return one


def _meets(gate: _Gate, source: object) -> bool:
    parts = ("answer", "reason") if source == "final" else (source,)
    return any(_who(part) == _who(shown) for part in parts for shown in gate.sources)


def _who(source: object) -> object:
    """Return a source without the keys that only narrow it, such as ``alone`` of a mail."""
    if isinstance(source, Mapping):
        return {key: source[key] for key in source if key not in _NARROW}
    return source


def _sources(instance: Instance) -> dict[str, Sequence[object]]:
    found: dict[str, Sequence[object]] = {}
    for id, arguments in _leaves(instance, gates=False):
        many, one = arguments.get("sources"), arguments.get("source")
        found[id] = many if isinstance(many, list) else [one] if one else []
    return found


def _gates(instance: Instance) -> Iterator[_Gate]:
    for _, arguments in _leaves(instance, gates=True):
        show, votes = arguments.get("show", ()), arguments.get("votes", 1)
        assert isinstance(show, Sequence) and isinstance(votes, int)
        items = [item for item in show if isinstance(item, (str, Mapping))]
        yield _Gate(
            str(arguments["criterion"]),
            [source for item in items for source in sources_of(item)],
            votes,
            arguments.get("unclear", "fail") == "fail",
        )


def _leaves(instance: Instance, *, gates: bool) -> Iterator[tuple[str, Mapping[str, Json]]]:
    rubric = load_rubric(instance.task.folder / "checks" / "rubric.toml")
    for place in rubric.placed():
        leaf = place.checkpoint
        if (leaf.use == GATE and leaf.gate and leaf.only_if_judged) is not gates or leaf.children:
            continue
        arguments = fill_json(leaf.arguments, instance.params, leaf.use)
        assert isinstance(arguments, Mapping)
        yield leaf.id, arguments


_PAGE: Final = """# How often message checks are wrong

Written by `{command}`; a test compares.
Each task that reads messages has texts whose verdict is known (`checks/calibration.toml`, see
[messages.md](messages.md)). A bad text that passes is a false positive, a good one that fails a
false negative. 95% intervals (Wilson) are in brackets. The texts were written together with the
checks, so the rates count known mistakes and say little about other texts.

A judge reads only the texts that a deterministic check accepts, and only for checks whose messages
a gate gives to it (the fourth column). For other checks the rates with a judge are those without
one. {judge}

"""
_UNASKED: Final = """No model was asked for
this page, so the last two columns of tasks with such gates hold dashes. To fill them:

```
agentgym verifier rates tools --judge openai:MODEL --markdown docs/calibration.md
```"""


def rates_page(found: Iterable[TaskRates], judge: str = "") -> str:
    """Return the page of the rates, in Markdown.

    Args:
        found: The rates of tasks, in the order in which they are shown.
        judge: The spec of the judge that was asked; empty if none was.
    """
    rows = list(found)
    told = f"The judge of this page is `{judge}`." if judge else _UNASKED
    lines = [
        "| task | bad texts that passed | good texts that failed | checks with a judge's gate "
        "| bad ones that passed, with a judge | good ones that failed, with a judge |",
        "|---|---|---|---|---|---|",
        *(_row(f"`{row.task}`", [row]) for row in rows),
        _row("all", rows),
    ]
    return _PAGE.format(command=COMMAND, judge=told) + "\n".join(lines) + "\n"


def _row(name: str, rows: Sequence[TaskRates]) -> str:
    asked = [row.judged for row in rows if row.judged is not None]
    cells = [
        show_rate(_sum([row.bad_passed for row in rows])),
        show_rate(_sum([row.good_failed for row in rows])),
        f"{sum(row.given for row in rows)} of {sum(row.checks for row in rows)}",
        show_rate(_sum([bad for bad, _ in asked])),
        show_rate(_sum([good for _, good in asked])),
    ]
    return f"| {name} | {' | '.join(cells)} |"


def _sum(some: Sequence[Rate]) -> Rate:
    return Rate(sum(rate.wrong for rate in some), sum(rate.cases for rate in some))
