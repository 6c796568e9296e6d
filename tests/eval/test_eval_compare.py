"""Comparison of agents in pairs: what is paired, what is left out, and what bounds say."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic_run import Runs, scored, unscored
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.errors import ConfigError, NotFoundError, RecordError
from agentgym.eval.compare import compare, read_contestants

Scores = Mapping[str, Mapping[str, list[float | None]]]
"""By agent and task the score of each seed; None: unscored."""


@pytest.fixture
def played(tmp_path):
    """Make a run of some scores in a folder."""
    made = []

    def play(name: str, scores: Scores, *, verifier: str = "v1", prepared: str = "") -> Path:
        runs = Runs(tmp_path / name)
        made.append(runs)
        agents = list(scores)
        tasks = list(dict.fromkeys(task for of in scores.values() for task in of))
        trials = max(len(each) for of in scores.values() for each in of.values())
        store = runs.start(tasks, agents, trials)
        for row in store.episodes():
            given_scores = scores[row.plan.agent].get(row.plan.task, [])
            if row.plan.trial >= len(given_scores):
                continue
            score = given_scores[row.plan.trial]
            verdict = unscored("sandbox") if score is None else scored(score)
            runs.play(store, row, replace(verdict, verifier=verifier))
            if prepared:
                with store.transaction():
                    store.setups.note(row.id, prepared)
        return runs.folder

    yield play
    for runs in made:
        runs.close()


def compared(*folders: Path, baseline: str = "", agents: tuple[str, ...] = ()):
    return compare(read_contestants(folders, agents), baseline)


def test_the_difference_is_that_of_pairs(played):
    folder = played(
        "run",
        {
            "a": {"t/one-v1": [0.0, 1.0], "t/two-v1": [0.5, 0.5], "t/three-v1": [0.2, 0.2]},
            "b": {"t/one-v1": [0.5, 1.0], "t/two-v1": [1.0, 0.5], "t/three-v1": [0.0, 0.2]},
        },
    )
    found = compared(folder)
    assert (found.baseline, found.pairs, found.tasks, found.unscored) == ("a", 6, 3, {})
    (difference,) = found.differences.values()
    assert difference.score.mean == pytest.approx((0.5 + 0 + 0.5 + 0 - 0.2 + 0) / 6)
    assert (difference.better, difference.equal, difference.worse) == (2, 0, 1)
    assert difference.passed.mean == pytest.approx(1 / 6)
    assert difference.bounds == pytest.approx((difference.score.mean,) * 2)
    # Clustered by task, with t of 2 degrees of freedom.
    mean = difference.score.mean
    squares = sum((total - 2 * mean) ** 2 for total in (0.5, 0.5, -0.2))
    reach = 4.30265 * math.sqrt(3 / 2 * squares) / 6
    assert difference.score.ci95 == pytest.approx((max(-1, mean - reach), mean + reach), abs=1e-4)
    assert list(found.standings) == ["b", "a"]
    assert found.standings["a"].by_task == pytest.approx(
        {"t/one-v1": 0.5, "t/two-v1": 0.5, "t/three-v1": 0.2}
    )


def test_pairs_are_more_certain_than_the_agents_alone(played):
    tasks = {f"t/{n}-v1": n / 10 for n in range(10)}
    folder = played(
        "run",
        {
            "a": {task: [score] for task, score in tasks.items()},
            "b": {
                task: [score + 0.1 + 0.001 * (n % 2)]
                for n, (task, score) in enumerate(tasks.items())
            },
        },
    )
    found = compared(folder)
    low, high = found.differences["b"].score.ci95
    assert 0.1 < low < high < 0.12
    assert found.standings["b"].score.ci95[0] < found.standings["a"].score.ci95[1]


seed_score = st.one_of(st.none(), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
two_seeds = st.tuples(seed_score, seed_score)


@given(st.lists(st.tuples(two_seeds, two_seeds), min_size=1, max_size=3))
def test_the_bounds_hold_whatever_the_missing_episodes_would_have_scored(tmp_path_factory, drawn):
    scores = {
        "a": {f"t/{n}-v1": one for n, (one, _) in enumerate(drawn)},
        "b": {f"t/{n}-v1": other for n, (_, other) in enumerate(drawn)},
    }
    runs = Runs(tmp_path_factory.mktemp("bounds") / "run")
    try:
        store = runs.start(list(scores["a"]), ["a", "b"], 2)
        for row in store.episodes():
            score = scores[row.plan.agent][row.plan.task][row.plan.trial]
            runs.play(store, row, unscored("sandbox") if score is None else scored(score))
        found = compared(runs.folder)
        back = compared(runs.folder, baseline="b")
    finally:
        runs.close()
    there, here = found.differences["b"], back.differences["a"]
    low, high = there.bounds
    assert (low, high) == pytest.approx((-here.bounds[1], -here.bounds[0]))
    if there.score.mean is not None:
        assert there.score.mean == pytest.approx(-here.score.mean)
        assert (there.better, there.worse) == (here.worse, here.better)
    flat = [score for one, other in drawn for score in (*one, *other)]
    assert sum(found.unscored.values()) == flat.count(None)
    for filling in itertools.islice(itertools.product((0.0, 1.0), repeat=flat.count(None)), 64):
        left = iter(filling)
        full = [next(left) if score is None else score for score in flat]
        pairs = [full[n : n + 4] for n in range(0, len(full), 4)]
        mean = sum(c - a + d - b for a, b, c, d in pairs) / (2 * len(pairs))
        assert low - 1e-9 <= mean <= high + 1e-9


def test_an_agent_gains_nothing_by_episodes_without_a_score(played):
    folder = played(
        "run",
        {"a": {"t/one-v1": [0.5], "t/two-v1": [0.5]}, "b": {"t/one-v1": [0.5], "t/two-v1": [None]}},
    )
    found = compared(folder)
    assert (found.pairs, found.unscored) == (1, {"b": 1})
    assert found.differences["b"].score.mean == 0
    assert found.differences["b"].bounds == (-0.25, 0.25)


def test_episodes_without_a_score_change_nothing_between_other_agents(played):
    scores = {"t/one-v1": [0.0], "t/two-v1": [0.25]}
    better = {"t/one-v1": [0.25], "t/two-v1": [1.0]}
    nothing = {"t/one-v1": [None], "t/two-v1": [None]}
    folder = played("run", {"a": scores, "b": better, "down": nothing})
    found, without = compared(folder), compared(folder, agents=("a", "b"))
    assert found.differences["b"] == without.differences["b"]
    assert (found.differences["b"].pairs, found.differences["b"].score.mean) == (2, 0.5)
    assert found.differences["b"].bounds == (0.5, 0.5)
    assert (found.pairs, found.unscored) == (0, {"down": 2})
    assert found.differences["down"].pairs == 0
    shown = CliRunner().invoke(app, ["compare", str(folder)]).output
    assert "down: 2 episodes have no score" in shown


def test_an_episode_that_is_not_over_is_missing_data(played, tmp_path):
    runs = Runs(tmp_path / "killed")
    store = runs.start(["t/one-v1", "t/two-v1"], ["a", "b"])
    first, *rest = store.episodes()
    for row in rest:
        runs.play(store, row, scored(1.0))
    runs.close()
    found = compared(runs.folder)
    assert (found.pairs, found.unscored, found.left_out) == (1, {"a": 1}, {})
    assert found.differences["b"].bounds == (0.0, 0.5)


def test_agents_of_several_runs_are_told_apart_by_their_run(played):
    before = played("before", {"a": {"t/one-v1": [0.0]}, "b": {"t/one-v1": [1.0]}})
    after = played("after", {"a": {"t/one-v1": [1.0], "t/two-v1": [1.0]}})
    found = compared(before, after, agents=("a",))
    assert list(found.differences) == [f"a ({after})"]
    assert found.baseline == f"a ({before})"
    assert found.left_out == {"not played by every agent": 1}
    assert compared(before, after).differences.keys() == {"b", f"a ({after})"}
    assert compared(before, after, baseline="b").baseline == "b"
    with pytest.raises(ConfigError, match="2 runs have an agent 'a'; name one of them") as raised:
        compared(before, after, baseline="a")
    assert f"'a ({after})'" in str(raised.value)
    picked = compared(before, after, agents=(f"a ({after})", "b"), baseline="a")
    assert (picked.baseline, list(picked.differences)) == (f"a ({after})", ["b"])


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"verifier": "v2"}, "judged by different versions of the checks"),
        ({"prepared": "0" * 64}, "begun from different states of the setup"),
    ],
)
def test_what_was_judged_or_begun_otherwise_is_left_out(played, changed, why):
    one = played("one", {"a": {"t/one-v1": [0.0]}}, prepared="f" * 64)
    other = played("other", {"a": {"t/one-v1": [1.0]}}, **{"prepared": "f" * 64, **changed})
    with pytest.raises(ConfigError, match=why):
        compared(one, other)


def test_what_was_shown_otherwise_at_the_start_is_told(played, tmp_path):
    one = played("one", {"a": {"t/one-v1": [0.0]}})
    runs = Runs(tmp_path / "other")
    store = runs.start(["t/one-v1"], ["b"])
    runs.play(store, store.episodes()[0], replace(scored(1.0), verifier="v1"), instruction="Go.")
    runs.close()
    found = compared(one, runs.folder)
    assert (found.pairs, found.begun_unlike) == (1, 1)
    shown = CliRunner().invoke(app, ["compare", str(one), str(runs.folder)]).output
    assert "in 1 pair the first observations differ" in shown


def test_settings_that_may_change_a_score_are_told(played, tmp_path):
    one = played("one", {"a": {"t/one-v1": [0.0]}})
    runs = Runs(tmp_path / "other")
    store = runs.start(["t/one-v1"], ["b"], max_steps=3, pool=7)
    runs.play(store, store.episodes()[0], replace(scored(1.0), verifier="v1"))
    runs.close()
    assert compared(one, runs.folder).unlike == {"max_steps": [None, 3]}
    shown = CliRunner().invoke(app, ["compare", str(one), str(runs.folder)]).output
    assert "the runs differ in max_steps: None, 3" in shown


def test_what_cannot_be_compared_is_refused(played, tmp_path):
    alone = played("alone", {"a": {"t/one-v1": [0.0]}})
    with pytest.raises(ConfigError, match="at least two agents"):
        compared(alone)
    with pytest.raises(ConfigError, match="named twice"):
        compared(alone, tmp_path / "x" / ".." / "alone")
    two = played("two", {"a": {"t/two-v1": [0.0]}, "b": {"t/two-v1": [0.0]}})
    with pytest.raises(NotFoundError, match="did you mean 'b'"):
        compared(two, baseline="bb")
    with pytest.raises(NotFoundError, match="'c'"):
        compared(two, agents=("c",))
    with pytest.raises(ConfigError, match="2 not played by every agent"):
        compared(alone, two)
    with pytest.raises(RecordError):
        compared(two, tmp_path / "nothing")


def test_the_command_shows_it_and_writes_it(played, tmp_path):
    folder = played(
        "run",
        {
            "a\x1b[31m": {"t/one-v1": [0.25], "t/two-v1": [0.0]},
            "b": {"t/one-v1": [1.0], "t/two-v1": [None]},
        },
    )
    file = tmp_path / "comparison.json"
    done = CliRunner().invoke(app, ["compare", str(folder), "--tasks", "--json", str(file)])
    assert done.exit_code == 0, done.output
    assert "+0.750" in done.output and "t/one-v1" in done.output and "\x1b" not in done.output
    assert "1 pair of task and seed on which every agent has a score, 1 task\n" in done.output
    assert "b: 1 episode has no score" in done.output
    written = json.loads(file.read_text())
    assert written["schema"] == "agentgym.comparison/1"
    assert written["differences"]["b"]["score"]["mean"] == 0.75
    assert written["standings"]["b"]["by_task"] == {"t/one-v1": 1.0}
