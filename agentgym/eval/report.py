"""`report.html`: one self-contained page of a run, a pure function of its record.

The page loads nothing and runs no script (its content security policy forbids it). Text of an
agent or a sandbox is escaped, control characters are made visible, and long text is cut.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from agentgym.eval.judges import kinship_warnings
from agentgym.eval.printable import as_text, clean
from agentgym.eval.results import build_results, whole_file
from agentgym.eval.settings import Settings, read_settings
from agentgym.eval.step_measures import measure_tables
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import Effect, Json, Step

TEXT_CHARS = 4096
"""Largest number of characters of each command, output or message."""

ALL_STEPS_UP_TO = 500
"""Largest number of episodes with which passed episodes show their steps, too."""

MOST_EPISODES = 4_000
"""Largest number of episodes on the page; a browser opens no page of 100,000."""

MOST_AGENTS = 100
"""Largest number of agents in the tables of the page; the map has a cell for each and each task."""

MOST_FIELDS = 40
"""Largest number of arguments, facts, events or nudges of a step that are shown."""

STEPS_CHARS = 32 * 2**20
"""Characters of steps on one page; later episodes name the command that shows their steps."""


@dataclass(frozen=True, slots=True)
class StepView:
    """A step on the page; every text is printable and cut."""

    number: int
    tool: str
    headline: str
    arguments: Sequence[tuple[str, str]]
    thought: str
    output: str
    facts: Sequence[tuple[str, str]]
    image: str
    events: Sequence[str]
    nudges: Sequence[tuple[str, str]]
    bad: bool
    duration_s: float

    @property
    def size(self) -> int:
        """Number of characters that this step adds to the page."""
        pairs = (*self.arguments, *self.facts, *self.nudges)
        texts = [
            self.thought,
            self.output,
            *self.events,
            *(text for pair in pairs for text in pair),
        ]
        return sum(map(len, texts))


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """An episode on the page; `steps` is None if they are left out.

    A fork or a branch has an origin, and the steps after it.
    """

    row: EpisodeRow
    origin: str
    mark: str
    instruction: str
    error: str
    steps: Sequence[StepView] | None


def write_report(store: RunStore, path: Path) -> None:
    """Write the page.

    Raises:
        RecordError: The record is damaged, or the page cannot be written.
    """
    stream = report_template().stream(**_page(store))
    stream.enable_buffering(64)
    with whole_file(path) as file:
        file.writelines(stream)


@cache
def report_template() -> Template:
    """Return the template of the page, which a process compiles only once."""
    pages = Environment(
        loader=PackageLoader("agentgym.eval", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters.update(
        clean=_shown, number=_number, percent=_percent, span=_span, duration=_duration
    )
    return pages.get_template("report.html.j2")


def _page(store: RunStore) -> dict[str, Any]:
    episodes = store.episodes()
    results = build_results(store, episodes)
    rows = [row for row in episodes if row.parent is None]
    agents = list(islice(results["summary"], MOST_AGENTS))
    done = sum(row.verdict is not None for row in rows)
    errors = sum(row.verdict is not None and not row.verdict.scored for row in rows)
    finished = sum(row.verdict is not None for row in episodes)
    shown = _first_tasks(episodes)
    return {
        "results": results,
        "facts": _facts(rows, read_settings(store), errors),
        "unread": any(row["words_not_judged"] for row in results["summary"].values()),
        "trials": max((row["k"] for row in results["summary"].values()), default=1),
        "suites": sorted({row.plan.task.split("/")[0] for row in rows}),
        "agents": agents,
        "marks": {agent: f"agent-{i}" for i, agent in enumerate(agents)},
        "cells": _cells(rows),
        "faulted": any(row["faulted"] for row in results["summary"].values()),
        "failing": any(row["policy_failures"] for row in results["summary"].values()),
        "planned": len(rows),
        "done": done,
        "errors": errors,
        "folder": shlex.quote(str(store.folder)),
        "measures": measure_tables(store, rows),
        "left_out": finished - sum(map(len, shown.values())),
        "shown": len(shown),
        "tasks": _tasks(store, shown),
    }


def _facts(rows: Sequence[EpisodeRow], settings: Settings, errors: int) -> list[tuple[str, object]]:
    seeds = sorted({row.plan.seed for row in rows}) or [settings.seed]
    return [
        ("Episodes", len(rows)),
        ("Unscored", errors),
        ("Seeds", "–".join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))),
        ("Sandbox", settings.sandbox + ("" if settings.isolated else " (no isolation)")),
        *([("Judge", settings.judge)] if settings.judge else []),
        *_reading(rows),
        *([("User", settings.user)] if settings.user else []),
        *(("Warning", warning) for warning in kinship_warnings(settings)),
        ("Max steps", settings.max_steps or "per task"),
        ("Started", settings.started.replace("T", " ").partition("+")[0]),
        ("Version", settings.agentgym),
    ]


def _reading(rows: Sequence[EpisodeRow]) -> Iterator[tuple[str, object]]:
    """Yield how many of the scored episodes with messages no judge has read."""
    words = [row.verdict.words for row in rows if row.verdict is not None and row.verdict.scored]
    if unread := words.count("not judged"):
        yield "Words", f"not judged in {unread} of {len(words)} scored episodes"
    elif "judged" in words:
        yield "Words", "judged"


def _cells(rows: Sequence[EpisodeRow]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the cells of the map of tasks and agents."""
    groups: dict[tuple[str, str], list[EpisodeRow]] = {}
    for row in rows:
        groups.setdefault((row.plan.task, row.plan.agent), []).append(row)
    cells = {}
    for key, group in groups.items():
        scored = [row.verdict for row in group if row.verdict is not None and row.verdict.scored]
        cells[key] = {
            "mean": sum(v.score for v in scored) / len(scored) if scored else None,
            "passed": sum(v.outcome for v in scored),
            "scored": len(scored),
            "errors": sum(r.verdict is not None and not r.verdict.scored for r in group),
        }
    return cells


def _first_tasks(rows: Sequence[EpisodeRow]) -> dict[str, list[EpisodeRow]]:
    """Return the tasks that are on the page, each with its finished episodes that are."""
    by_task: dict[str, list[EpisodeRow]] = {}
    for row in rows:
        by_task.setdefault(row.plan.task, []).append(row)
    shown, room = dict[str, list[EpisodeRow]](), MOST_EPISODES
    for task, own in by_task.items():
        if room <= 0:
            break
        shown[task] = [row for row in own[:room] if row.verdict is not None]
        room -= len(own)
    return shown


def _tasks(
    store: RunStore, done: Mapping[str, Sequence[EpisodeRow]]
) -> Iterator[tuple[str, Iterator[EpisodeView]]]:
    """Yield each task with its finished episodes; steps are read as they are written."""
    passed_too = sum(map(len, done.values())) <= ALL_STEPS_UP_TO
    room = STEPS_CHARS

    def views(task: str) -> Iterator[EpisodeView]:
        nonlocal room
        for row in done[task]:
            mark, steps = _mark(row), None
            if room > 0 and (passed_too or mark != "passed"):
                begun = 0 if row.parent is None else row.parent[1]
                steps = [_step(step) for step in store.steps(row.id)[begun:]]
                room -= sum(step.size for step in steps)
            told, error = _shown(row.instruction), _shown(row.error)
            yield EpisodeView(row, _origin(row), mark, told, error, steps)

    for task in done:
        yield task, views(task)


def _origin(row: EpisodeRow) -> str:
    if row.parent is None:
        return ""
    kind = "fork" if row.forked else "branch"
    return f"{kind} of episode {row.parent[0]} after {row.parent[1]} steps, not counted"


def _mark(row: EpisodeRow) -> str:
    if row.verdict is None or not row.verdict.scored:
        return "unscored"
    return "passed" if row.verdict.outcome else "failed"


def _step(step: Step) -> StepView:
    seen, given = step.observation, dict(islice(step.action.arguments.items(), MOST_FIELDS))
    arguments = [(_shown(name), _shown(v)) for name, v in given.items() if isinstance(v, str)]
    headline = arguments[0][1].strip().partition("\n")[0][:160] if arguments else ""
    if arguments and arguments[0][1].strip() == headline:
        arguments = arguments[1:]
    settings = {name: value for name, value in given.items() if not isinstance(value, str)}
    told = {name: value for name, value in seen.data.items() if value is not False}
    facts = [*settings.items(), *islice(told.items(), MOST_FIELDS)]
    if left := len(step.action.arguments) - len(given):
        facts.append(("further arguments", left))
    height, width = seen.image.shape[:2] if seen.image is not None else (0, 0)
    return StepView(
        number=step.index + 1,
        tool=_shown(step.action.tool),
        headline=headline,
        arguments=arguments,
        thought=_shown(step.decision.thought),
        output=_shown(seen.text),
        facts=[(_shown(name), _words(value)) for name, value in facts],
        image=f"{width} × {height}" if seen.image is not None else "",
        events=[_shown(f"{h.kind}: {h.id}  {h.detail}") for h in step.events[:MOST_FIELDS]],
        nudges=[
            (_shown(nudge.said), _shown(nudge.told)) for nudge in step.decision.nudges[:MOST_FIELDS]
        ],
        bad=seen.effect in (Effect.ERROR, Effect.TIMEOUT),
        duration_s=step.duration_s,
    )


def _words(value: Json) -> str:
    return _shown(as_text(value))[:160]


def _shown(text: str) -> str:
    """Cut a text in its middle and make unprintable characters visible."""
    if len(text) > TEXT_CHARS:
        head, tail = TEXT_CHARS * 3 // 4, TEXT_CHARS // 4
        left_out = len(text) - head - tail
        text = f"{text[:head]}\n[… {left_out:,} characters left out here …]\n{text[-tail:]}"
    return clean(text.replace("\r\n", "\n"))


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _percent(value: float) -> str:
    return f"{100 * value:.2f}%"


def _span(interval: Sequence[float] | None) -> str:
    if interval is None or None in interval:  # unknown, or no task has that many trials
        return ""
    return f"{interval[0]:.2f} – {interval[1]:.2f}"


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
