"""results.json: its schema, its sums, and what of a run it leaves out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from synthetic_run import Runs, scored, telling, unscored

from agentgym.eval.results import build_results, write_results
from agentgym.record.store import EpisodePlan
from agentgym.records import StepEvent, StepEventKind

SHARE = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
INTERVAL = {
    "oneOf": [
        {"type": "null"},
        {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    ]
}
COUNT = {"type": "integer", "minimum": 0}
TOKENS = {
    "type": "object",
    "properties": {"prompt": COUNT, "completion": COUNT, "total": COUNT},
    "required": ["prompt", "completion", "total"],
    "additionalProperties": False,
}
ESTIMATES = ("mean_score", "pass@1", "pass@k", "pass^k", "robustness")
COUNTS = (
    *("episodes", "unfinished", "scored", "errors", "k", "tasks", "tasks_left_out_at_k"),
    *("safety_violations", "uncontrollable", "steps", "faulted", "policy_failures"),
    *("user_turns", "user_turns_not_understood", "words_judged", "words_not_judged"),
)
AGENT: dict[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(ESTIMATES, SHARE),
        **{f"{name}_ci95": INTERVAL for name in ESTIMATES},
        **{f"{name}_bounds": INTERVAL for name in ESTIMATES if name != "robustness"},
        **dict.fromkeys(COUNTS, COUNT),
        "errors_by_status": {"type": "object", "additionalProperties": COUNT},
        "mean_bonus": SHARE,
        "path_efficiency": SHARE,
        "calls_by_surface": {"type": "object", "additionalProperties": COUNT},
        "tokens": TOKENS,
        "duration_s": {"type": "number", "minimum": 0},
    },
    "additionalProperties": False,
}
AGENT["required"] = list(AGENT["properties"])
CHECKPOINT = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "phase": {"enum": ["outcome", "process", "safety"]},
        "status": {"enum": ["pass", "fail", "not_applicable", "error"]},
        "score": SHARE,
        "weight": {"type": "number", "exclusiveMinimum": 0},
        "depth": COUNT,
        **dict.fromkeys(("gate", "bonus", "controllable"), {"type": "boolean"}),
        "step": {"type": ["integer", "null"], "minimum": -1},
        "channels": {"type": "array", "items": {"type": "string"}},
    },
    "additionalProperties": False,
}
CHECKPOINT["required"] = list(CHECKPOINT["properties"])
EPISODE = {
    "type": "object",
    "properties": {
        "id": COUNT,
        "task": {"type": "string"},
        "seed": COUNT,
        "trial": COUNT,
        "agent": {"type": "string"},
        "status": {"type": "string", "pattern": "^(scored|error:[a-z]+)$"},
        "outcome": {"type": ["boolean", "null"]},
        "score": SHARE,
        "process": SHARE,
        "bonus": SHARE,
        "safety_violations": {"type": "array", "items": {"type": "string"}},
        "uncontrollable": {"type": "array", "items": {"type": "string"}},
        "verifier": {"type": "string", "pattern": "^([0-9a-f]{12})?$"},
        "checkpoints": {"type": "array", "items": CHECKPOINT},
        "steps": COUNT,
        "calls_by_surface": {"type": "object", "additionalProperties": COUNT},
        "duration_s": {"type": "number"},
        "reset_s": {"type": "number"},
        "tokens": TOKENS,
        "error": {"type": "string"},
        "words": {"enum": ["judged", "not judged"]},
    },
    "required": [
        *("id", "task", "seed", "trial", "agent", "status", "outcome", "score", "process"),
        *("bonus", "safety_violations", "uncontrollable", "verifier", "checkpoints"),
        *("steps", "duration_s", "reset_s", "tokens"),
    ],
    "additionalProperties": False,
    # An episode without a score has a reason, and no numbers that could be mistaken for one.
    "if": {"properties": {"status": {"const": "scored"}}},
    "then": {"properties": {"outcome": {"type": "boolean"}, "score": {"type": "number"}}},
    "else": {
        "properties": {"outcome": {"type": "null"}, "score": {"type": "null"}},
        "required": ["error"],
    },
}
DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
RESULTS = {
    "type": "object",
    "properties": {
        "schema": {"const": "agentgym.results/1"},
        "agentgym": {"type": "string"},
        "complete": {"type": "boolean"},
        "settings": {"type": "object"},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "summary": {"type": "object", "additionalProperties": AGENT},
        "tasks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "task": {"type": "string"},
                    "setups": {
                        "type": "object",
                        "additionalProperties": {"type": "array", "items": DIGEST},
                    },
                    "episodes": {"type": "array", "items": EPISODE},
                },
                "required": ["task", "setups", "episodes"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["schema", "agentgym", "complete", "settings", "warnings", "summary", "tasks"],
    "additionalProperties": False,
}


def test_the_file_follows_its_schema_and_its_sums_are_right(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(agents=("a", "b"), trials=2)
    for row in store.episodes():
        plan = row.plan
        if plan.agent == "b":
            runs.play(store, row, scored(1.0))
        elif (plan.task, plan.trial) == ("demo/one-v1", 1):
            runs.play(store, row, unscored("agent"), error="the endpoint is down")
        else:
            runs.play(store, row, scored(0.5 if plan.task == "demo/one-v1" else 1.0 - plan.trial))
    path = tmp_path / "results.json"
    write_results(build_results(store), path)
    results = json.loads(path.read_text())
    jsonschema.validate(results, RESULTS)

    assert results["complete"] is True
    assert list(results["summary"]) == ["b", "a"], "best mean score first"
    a = results["summary"]["a"]
    assert (a["episodes"], a["scored"], a["errors"], a["unfinished"]) == (4, 3, 1, 0)
    assert a["mean_score"] == pytest.approx((0.5 + 1.0 + 0.0) / 3)
    # Task one passed 0 of 1, task two 1 of 2; only task two has two scored trials.
    assert a["pass@1"] == pytest.approx(0.25)
    assert (a["k"], a["pass@k"], a["pass^k"], a["tasks_left_out_at_k"]) == (2, 1.0, 0.0, 1)
    assert a["pass@k_ci95"] is None, "one task says nothing of spread"
    assert a["tokens"] == {"prompt": 400, "completion": 40, "total": 440}
    assert a["duration_s"] == pytest.approx(6.0)
    # Task one is then worth 0.5 and the missing trial, task two 1 and 0.
    assert a["mean_score_bounds"] == pytest.approx([1.5 / 4, 2.5 / 4])
    assert a["pass@1_bounds"] == pytest.approx([0.25, 0.5])
    assert a["pass@k_bounds"] == pytest.approx([0.5, 1.0])
    assert a["pass^k_bounds"] == pytest.approx([0.0, 0.0])
    assert a["errors_by_status"] == {"error:agent": 1}
    b = results["summary"]["b"]
    assert b["mean_score_bounds"] == [b["mean_score"]] * 2, "nothing is missing"
    failed = [e for t in results["tasks"] for e in t["episodes"] if e["status"] != "scored"]
    assert [(e["status"], e["error"]) for e in failed] == [("error:agent", "the endpoint is down")]


def test_an_agent_gains_no_rank_by_what_is_missing(runs: Runs) -> None:
    store = runs.start(tasks=[f"demo/{n}-v1" for n in range(4)], agents=("lucky", "honest"))
    for row in store.episodes():
        if row.plan.agent == "honest":
            runs.play(store, row, scored(0.5))
        elif row.plan.task == "demo/0-v1":
            runs.play(store, row, scored(1.0))
        else:
            runs.play(store, row, unscored("sandbox"), error="it died")
    summary = build_results(store)["summary"]
    assert summary["lucky"]["mean_score"] == 1.0 > summary["honest"]["mean_score"]
    assert summary["lucky"]["mean_score_bounds"] == [0.25, 1.0]
    assert list(summary) == ["honest", "lucky"]


def test_how_a_policy_failed_is_told_beside_its_score(runs: Runs) -> None:
    store = runs.start()
    first, second = store.episodes()
    runs.play(store, first, scored(0.0), error="no usable tool call")
    runs.play(store, second, scored(1.0))
    results = build_results(store)
    jsonschema.validate(results, RESULTS)
    row = results["summary"]["noop"]
    assert (row["policy_failures"], row["errors"], row["mean_score"]) == (1, 0, 0.5)
    (failed,) = results["tasks"][0]["episodes"]
    assert (failed["status"], failed["error"]) == ("scored", "no usable tool call")


def test_robustness_is_told_only_of_episodes_in_which_a_fault_fired(runs: Runs) -> None:
    store = runs.start(tasks=("demo/one-v1", "demo/two-v1", "demo/three-v1"), agents=("a", "b"))
    fault = StepEvent(StepEventKind.FAULT, "flaky", "bash call 1: error before commit")
    event = StepEvent(StepEventKind.EVENT, "dawn", "2026-03-02T09:00:00Z, announced")
    played = {
        ("a", "demo/one-v1"): (scored(0.25), (event, fault)),
        ("a", "demo/two-v1"): (scored(1.0), (event,)),
        ("a", "demo/three-v1"): (unscored("sandbox"), (fault,)),
    }
    for row in store.episodes():
        verdict, happened = played.get((row.plan.agent, row.plan.task), (scored(1.0), ()))
        error = "" if verdict.scored else "it died"
        runs.play(store, row, verdict, error=error, events=happened)
    results = build_results(store)
    jsonschema.validate(results, RESULTS)
    a, b = results["summary"]["a"], results["summary"]["b"]
    assert (a["faulted"], a["robustness"], a["robustness_ci95"]) == (1, 0.25, None)
    assert (b["faulted"], b["robustness"]) == (0, None), "nothing fired: nothing was shown"


def test_the_path_of_what_passed_is_compared_with_that_of_the_solution(runs: Runs) -> None:
    store = runs.start(tasks=("demo/one-v1", "demo/two-v1"), agents=("oracle", "a", "b"))
    played = {
        ("oracle", "demo/one-v1"): (scored(1.0), 4),
        ("oracle", "demo/two-v1"): (scored(0.5), 2),
        ("a", "demo/one-v1"): (scored(1.0), 10),
        ("a", "demo/two-v1"): (scored(1.0), 1),
        ("b", "demo/one-v1"): (scored(0.5), 4),
    }
    for row in store.episodes():
        verdict, steps = played.get((row.plan.agent, row.plan.task), (scored(1.0), 3))
        runs.play(store, row, verdict, steps=steps)
    summary = build_results(store)["summary"]
    assert summary["oracle"]["path_efficiency"] == 1
    assert summary["a"]["path_efficiency"] == 0.4, "the second task has no solution that passed"
    assert summary["b"]["path_efficiency"] is None, "an episode that failed has no path to compare"


def test_agents_are_paired_by_seed(runs: Runs) -> None:
    store = runs.start(agents=("a", "b"), trials=3)
    seeds = {
        agent: [(r.plan.task, r.plan.trial, r.plan.seed) for r in store.episodes()
                if r.plan.agent == agent]
        for agent in ("a", "b")
    }  # fmt: skip
    assert seeds["a"] == seeds["b"]
    assert [seed for task, _, seed in seeds["a"] if task == "demo/one-v1"] == [10, 11, 12]


def test_a_run_that_is_not_over_counts_what_is_done(runs: Runs) -> None:
    store = runs.start()
    first, second = store.episodes()
    runs.play(store, first, scored(1.0))
    runs.play(store, second, None)
    results = build_results(store)
    jsonschema.validate(results, RESULTS)
    assert results["complete"] is False
    summary = results["summary"]["noop"]
    assert (summary["episodes"], summary["unfinished"], summary["mean_score"]) == (1, 1, 1.0)
    assert summary["mean_score_bounds"] == [0.5, 1.0], "nobody knows yet"


def test_branches_are_no_part_of_the_results(runs: Runs) -> None:
    store = runs.start(tasks=("demo/one-v1",))
    runs.play(store, store.episode(1), scored(0.0))
    branch = store.add(EpisodePlan("demo/one-v1", 10, 0, "noop"), parent=(1, 1))
    runs.play(store, store.episode(branch), scored(1.0))
    results = build_results(store)
    assert results["summary"]["noop"]["episodes"] == 1
    assert results["summary"]["noop"]["mean_score"] == 0.0


def test_nothing_scored_has_no_mean(runs: Runs) -> None:
    store = runs.start()
    for row in store.episodes():
        runs.play(store, row, unscored("sandbox"), error="it died")
    results = build_results(store)
    jsonschema.validate(results, RESULTS)
    assert results["summary"]["noop"]["mean_score"] is None


def test_words_that_no_judge_has_read_are_counted(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(tasks=("demo/a-v1", "demo/b-v1", "demo/c-v1", "demo/d-v1"), agents=("a",))
    words = ("not judged", "judged", "", "not judged")
    for row, said in zip(store.episodes(), words, strict=True):
        runs.play(store, row, replace(scored(1.0), words=said))
    write_results(build_results(store), tmp_path / "results.json")
    results = json.loads((tmp_path / "results.json").read_text())
    jsonschema.validate(results, RESULTS)
    summary = results["summary"]["a"]
    assert (summary["words_judged"], summary["words_not_judged"]) == (1, 2)
    told = [task["episodes"][0].get("words") for task in results["tasks"]]
    assert told == ["not judged", "judged", None, "not judged"]


def test_bonus_blame_steps_channels_and_verifier_are_written(runs: Runs, tmp_path: Path) -> None:
    store = runs.start(agents=("a",))
    one, two = store.episodes()
    runs.play(store, one, telling(0.5))
    runs.play(store, two, scored(1.0))
    path = tmp_path / "results.json"
    write_results(build_results(store), path)
    results = json.loads(path.read_text())
    jsonschema.validate(results, RESULTS)
    summary = results["summary"]["a"]
    # The second task offers no bonus, so its mean is that of the first alone.
    assert (summary["mean_bonus"], summary["uncontrollable"]) == (0.5, 1)
    episode = results["tasks"][0]["episodes"][0]
    assert (episode["bonus"], episode["uncontrollable"]) == (0.5, ["down"])
    assert episode["verifier"] == "0123456789ab"
    early, down, extra = episode["checkpoints"]
    assert (early["step"], early["channels"]) == (2, ["trace", "state"])
    assert (down["controllable"], extra["bonus"], extra["step"]) == (False, True, -1)
    other = results["tasks"][1]["episodes"][0]
    assert (other["bonus"], other["uncontrollable"], other["verifier"]) == (None, [], "")
