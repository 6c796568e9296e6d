"""report.html: nothing an agent writes gets out of its box, and the page stays of a size."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from synthetic_run import Runs, scored, telling, unscored

from agentgym.eval import report
from agentgym.eval.compare import compare, read_contestants
from agentgym.eval.report import write_report
from agentgym.eval.results import build_results
from agentgym.record.store import RunStore
from agentgym.records import CheckStatus, Grading, StepEvent, StepEventKind, StepGrade

VOID = {"meta", "input", "br", "img", "link"}
SVG_LEAVES = {"line", "rect", "circle"}


class Page(HTMLParser):
    """The tags of a page, its attributes, and its text; fails on tags that do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SVG_LEAVES | VOID
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(store: RunStore, folder: Path) -> tuple[str, Page]:
    path = folder / "report.html"
    write_report(store, path)
    text = path.read_text(encoding="utf-8")
    return text, Page(text)


HOSTILE = [
    '</pre></script><img src=x onerror="alert(1)"><script>alert(2)</script>',
    '"><svg onload=alert(3)>',
    "' onmouseover='alert(4)",
    "{{ 7 * 7 }}{% include 'x' %}",
    "a\x00b\x1b]0;title\x07c\u202ed\udce9e",
    "--></style><style>body{display:none}</style>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_an_agent_writes_stays_text(runs: Runs, tmp_path: Path, text: str) -> None:
    name = "scripted:" + text.encode(errors="ignore").decode()
    store = runs.start(tasks=("demo/one-v1",), agents=("noop", name))
    clean, hostile = store.episodes()
    runs.play(store, clean, scored(1.0))
    before = page_of(store, tmp_path)[1]
    runs.play(store, hostile, unscored("agent"), output=text, command=f"{text}\n{text}", error=text)
    source, page = page_of(store, tmp_path)
    assert set(page.tags) <= set(before.tags) | {"b"}
    assert not {name for name, _ in page.attributes if name.startswith("on")}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", source)
    if text.isprintable():
        assert text in page.text


def test_the_page_loads_nothing_and_runs_nothing(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(agents=("a", "b"), trials=2)
    for row in store.episodes():
        runs.play(store, row, scored(0.5))
    source, page = page_of(store, tmp_path)
    assert "default-src 'none'" in source
    assert "script" not in page.tags
    assert {"link", "img", "iframe"}.isdisjoint(page.tags)
    links = [value for name, value in page.attributes if name in ("src", "href")]
    assert links and all(value.startswith("#") for value in links)
    assert "url(" not in source and "@import" not in source


def test_bounds_and_failures_of_the_policy_are_shown(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(tasks=("demo/one-v1", "demo/two-v1", "demo/three-v1"), agents=("a",))
    for row, verdict in zip(
        store.episodes(), (scored(1.0), unscored("agent"), scored(0.0)), strict=True
    ):
        runs.play(store, row, verdict, error="" if verdict.outcome else "it <failed>")
    text = " ".join(page_of(store, tmp_path)[1].text.split())
    assert "bounds 0.33 – 0.67" in text
    assert "1 × error:agent" in text
    assert "the policy failed it <failed>" in text and "Policy failed" in text


def test_numbers_and_intervals_are_shown(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(agents=("a",))
    first, second = store.episodes()
    runs.play(store, first, scored(0.25))
    runs.play(store, second, scored(0.5))
    page = page_of(store, tmp_path)[1]
    assert "0.375" in page.text
    # t = 12.706 for one degree of freedom: reaches beyond both ends and is clipped.
    assert "0.00 – 1.00" in page.text
    assert "All 2 episodes are scored" in page.text
    assert "line 1 is right" in page.text


def test_bonus_blame_steps_channels_and_verifier_are_shown(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(agents=("a",))
    runs.play(store, store.episodes()[0], telling(0.5))
    text = page_of(store, tmp_path)[1].text
    # Steps are counted from 1 on the page, as everywhere on it.
    for words in ("at step 3", "at the start", "uncontrollable", "trace, state", "bonus 0.50"):
        assert words in text
    assert "0123456789ab" in text


def test_words_that_no_judge_has_read_are_shown(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(agents=("a",))
    first, second = store.episodes()
    runs.play(store, first, replace(scored(1.0), words="not judged"))
    runs.play(store, second, scored(1.0))
    text = " ".join(page_of(store, tmp_path)[1].text.split())
    assert "not judged in 1 of 2 scored episodes" in text
    assert "Words not judged" in text and "words: not judged" in text


def test_long_output_is_cut_and_says_so(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(tasks=("demo/one-v1",))
    runs.play(store, store.episode(1), scored(0.0), output="h" * 50_000 + "tail")
    source, page = page_of(store, tmp_path)
    assert "45,908 characters left out" in page.text
    assert "tail" in page.text
    assert len(source) < 60_000


def test_a_step_of_a_hundred_thousand_parts_shows_a_few(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(tasks=("demo/one-v1",))
    more = {f"a{number}": number for number in range(100_000)}
    event = StepEvent(StepEventKind.EVENT, "rain", "it begins")
    runs.play(store, store.episode(1), scored(0.0), more=more, events=(event,) * 10_000)
    source, page = page_of(store, tmp_path)
    assert "further arguments 99961" in " ".join(page.text.split())
    assert page.text.count("it begins") == 40
    assert len(source) < 60_000


def test_large_runs_show_steps_only_of_what_did_not_pass(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "ALL_STEPS_UP_TO", 2)
    store = runs.start(tasks=("demo/one-v1",), trials=3)
    for row, score in zip(store.episodes(), (1.0, 0.0, 1.0), strict=True):
        runs.play(store, row, scored(score), command=f"echo number-{row.id}")
    text = page_of(store, tmp_path)[1].text
    assert "number-2" in text
    assert "number-1" not in text and "number-3" not in text
    assert f"agentgym replay {store.folder} 1" in text


def test_steps_stop_when_the_page_is_full(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "STEPS_CHARS", 100)
    store = runs.start(tasks=("demo/one-v1",), trials=3)
    for row in store.episodes():
        runs.play(store, row, scored(0.0), output="y" * 90, command=f"echo number-{row.id}")
    text = page_of(store, tmp_path)[1].text
    assert "number-1" in text and "number-3" not in text


def test_a_page_holds_the_first_tasks_and_says_how_many_it_leaves_out(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_EPISODES", 3)
    tasks = ("demo/one-v1", "demo/two-v1", "demo/three-v1")
    store = runs.start(tasks=tasks, trials=2)
    for row in store.episodes():
        command = f"echo {row.plan.task} {row.plan.trial}"
        runs.play(store, row, scored(0.0), command=command)
    source, page = page_of(store, tmp_path)
    text = " ".join(page.text.split())
    assert "3 further episodes are not on this page" in text
    assert "Only the first 2 of 3 tasks are on this page" in text
    assert f"agentgym replay {store.folder} ID" in text
    assert source.count('<article class="task"') == 2 == source.count('<a href="#task-')
    found = [f"echo {task} {trial}" in text for task in tasks for trial in (0, 1)]
    assert found == [True, True, True, False, False, False]
    assert "All 6 episodes are scored" in text


def test_a_run_that_is_not_over_says_how_to_go_on(runs: Runs, tmp_path: Path) -> None:
    store = runs.start()
    runs.play(store, store.episode(1), scored(1.0))
    text = page_of(store, tmp_path)[1].text
    assert "1 of 2 episodes are done" in text
    assert f"agentgym eval --out {store.folder} --resume" in text


def test_a_run_without_one_finished_episode_has_a_page(runs: Runs, tmp_path: Path) -> None:
    assert "0 of 2 episodes are done" in page_of(runs.start(), tmp_path)[1].text


def test_what_happened_in_the_world_is_shown(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(agents=("a",))
    first, second = store.episodes()
    runs.play(store, first, scored(0.25))
    runs.play(store, second, scored(0.5))
    assert "Under faults" not in page_of(store, tmp_path)[1].text
    other = Runs(tmp_path / "faulted")
    store = other.start(agents=("a",))
    happened = (
        StepEvent(StepEventKind.EVENT, "<b>dawn", "2026-03-02T09:00:00Z, announced"),
        StepEvent(StepEventKind.FAULT, "flaky", "bash call 1: timeout after commit"),
    )
    first, second = store.episodes()
    other.play(store, first, scored(0.25), events=happened)
    other.play(store, second, scored(0.5))
    page = page_of(store, tmp_path)[1]
    other.close()
    assert "event: <b>dawn  2026-03-02T09:00:00Z, announced" in page.text
    assert "fault: flaky  bash call 1: timeout after commit" in page.text
    assert "Under faults" in page.text and "1 episode" in page.text


def test_measures_of_step_graders_are_averaged_over_the_episodes_that_have_them(
    runs: Runs, tmp_path: Path
) -> None:
    store = runs.start(tasks=("demo/one-v1", "demo/two-v1"), agents=("noop", "oracle"))
    for row, value in zip(store.episodes(), (0.25, 0.5, None, 1.0), strict=True):
        runs.play(store, row, scored(1.0))
        grade = StepGrade(0, CheckStatus.PASS, "x", measures={"way_<b>": value, "odd": None})
        grading = Grading("maze", "1", (grade,), trajectory=store.history.trajectory(row.id))
        store.history.add_gradings(row.id, [replace(grading, grades=()), grading])
    text, page = page_of(store, tmp_path)
    assert "way &lt;b&gt;" in text and "maze" in page.text
    agents = [row.plan.agent for row in store.episodes()]
    (row,) = re.findall(r"way &lt;b&gt;</th>(.*?)</tr>", text, re.S)
    means = re.findall(r"<td>([^<]+)(?:<small>(.*?)</small>)?</td>", row)
    by_agent = dict(zip(dict.fromkeys(agents), means, strict=True))
    values = {agent: [] for agent in by_agent}
    for agent, value in zip(agents, (0.25, 0.5, None, 1.0), strict=True):
        values[agent] += [value] if value is not None else []
    for agent, (mean, told) in by_agent.items():
        assert mean == f"{sum(values[agent]) / len(values[agent]):.2f}"
        assert told == ("in 1 of 2" if len(values[agent]) == 1 else "")


def test_a_run_without_measures_has_no_table_of_them(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(tasks=("demo/one-v1",), agents=("noop",))
    (row,) = store.episodes()
    runs.play(store, row, scored(1.0))
    old = Grading("maze", "1", (StepGrade(0, CheckStatus.PASS, "x", measures={"odd": 1.0}),))
    store.history.add_gradings(row.id, [replace(old, trajectory="of other steps")])
    assert "maze" not in page_of(store, tmp_path)[0]


def test_a_run_folder_may_have_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    made = Runs(tmp_path / os.fsdecode(b"run\xff"))
    store = made.start()
    write_report(store, made.folder / "report.html")
    made.close()
    assert "run?" in (made.folder / "report.html").read_text()


def lines_run(work: Callable[[], object]) -> int:
    """Count the lines of agentgym.eval that run, a measure of time that no load changes."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if not frame.f_globals.get("__name__", "").startswith("agentgym.eval"):
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("what", ["results", "report"])
def test_time_grows_with_the_number_of_tasks_and_not_with_its_square(
    tmp_path: Path, what: str
) -> None:
    def lines_for(tasks: int) -> int:
        runs = Runs(tmp_path / f"run{tasks}")
        store = runs.start(tasks=[f"demo/t{one}-v1" for one in range(tasks)])
        for row in store.episodes():
            runs.play(store, row, scored(1.0))
        if what == "results":
            found = lines_run(lambda: build_results(store))
        else:
            found = lines_run(lambda: write_report(store, tmp_path / "report.html"))
        runs.close()
        return found

    lines_for(1)  # The first one also compiles what is compiled once.
    few, many = lines_for(50), lines_for(200)
    assert many < 4.4 * few


@pytest.mark.parametrize("what", ["results", "comparison", "report"])
def test_time_grows_with_the_number_of_agents_and_not_with_its_square(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(report, "MOST_AGENTS", 20)

    def lines_for(agents: int) -> int:
        runs = Runs(tmp_path / f"run{agents}")
        names = [f"scripted:{one}" for one in range(agents)]
        store = runs.start(agents=names)
        for row in store.episodes():
            measures = {f"m{row.id}": 1.0}
            runs.play(store, row, scored(1.0), events=(StepEvent(StepEventKind.FAULT, "x", "y"),))
            grade = StepGrade(0, CheckStatus.PASS, "x", measures=measures)
            trajectory = store.history.trajectory(row.id)
            store.history.add_gradings(
                row.id, [Grading(f"maze{row.id}", "1", (grade,), trajectory=trajectory)]
            )
        works = {
            "results": lambda: build_results(store),
            "comparison": lambda: compare(read_contestants([runs.folder])),
            "report": lambda: write_report(store, tmp_path / "report.html"),
        }
        found = lines_run(works[what])
        runs.close()
        return found

    lines_for(2)
    few, many = lines_for(50), lines_for(200)
    assert many < 4.4 * few


def test_a_page_holds_the_best_agents_and_says_how_many_it_leaves_out(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_AGENTS", 2)
    store = runs.start(tasks=("demo/one-v1",), agents=("poor", "good", "fair"))
    for row in store.episodes():
        score = {"poor": 0.0, "good": 1.0, "fair": 0.5}[row.plan.agent]
        runs.play(store, row, scored(score))
    source, page = page_of(store, tmp_path)
    text = " ".join(page.text.split())
    assert "3 agents on 1 task" in text
    assert "Only the best 2 of 3 agents are in these tables" in text
    headings = re.findall(r'<th scope="(?:row|col)">([a-z]+)</th>', source)
    assert headings == ["good", "fair"] * 2
    assert source.count('<span class="who">') == 3


def test_a_page_holds_some_graders_and_some_measures(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = runs.start(tasks=("demo/one-v1",), trials=2)
    for row in store.episodes():
        runs.play(store, row, scored(1.0))
        measures = {f"m{row.id}-{one}": 1.0 for one in range(60)}
        grade = StepGrade(0, CheckStatus.PASS, "x", measures=measures)
        trajectory = store.history.trajectory(row.id)
        graders = [f"grader{one}" for one in range(30)]
        store.history.add_gradings(
            row.id, [Grading(one, "1", (grade,), trajectory=trajectory) for one in graders]
        )
    source, _ = page_of(store, tmp_path)
    assert source.count("<h2>grader") == 20
    assert source.count("<h2>grader0</h2>") == 1
    assert len(re.findall(r"<td>1\.00<small>in 1 of 2</small></td>", source)) == 20 * 60
