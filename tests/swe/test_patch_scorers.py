"""Scorers of patches: what they see, what they must return, and the comparison with execution."""

import asyncio
import json
import math

import pytest
from built_images import take_image
from synthetic_repository import AFTER, BEFORE
from typer.testing import CliRunner

import agentgym
from agentgym import plugins
from agentgym.cli.app import app
from agentgym.errors import ConfigError, NotFoundError, VerifierError
from agentgym.eval.patch_comparison import ScoredGroup, compare
from agentgym.records import PatchAttempt, PatchProblem
from agentgym.swe.scoring.heuristic import HeuristicScorer
from agentgym.swe.scoring.llm import LlmScorer
from agentgym.swe.scoring.registry import GROUP, USUAL, create, score_attempts

PROBLEM = PatchProblem("demo/repo-v1", "Store.put keeps no time, and dump is wrong.", BEFORE)


def attempt(resolved=None, **after):
    changed = {path.replace("__", "/") + ".py": text for path, text in after.items()}
    return PatchAttempt("".join(f"+{text}\n" for text in changed.values()), changed, resolved)


RIGHT = attempt(True, cache__store=AFTER["cache/store.py"], cache__dump=AFTER["cache/dump.py"])
ALIKE = attempt(
    True, cache__store=AFTER["cache/store.py"], cache__dump="def dump(s):\n    return 1\n"
)
ELSEWHERE = attempt(False, cache__other="def other():\n    return 1\n")
BROKEN = attempt(False, cache__store="def put(:\n")
EMPTY = PatchAttempt("", {}, False)
ALL = [RIGHT, ALIKE, ELSEWHERE, BROKEN, EMPTY]


def scores(scorer, attempts=ALL):
    return asyncio.run(score_attempts(scorer, PROBLEM, attempts))


def test_the_built_ins_are_entry_points():
    assert set(plugins.names(GROUP)) == {*USUAL, "llm"}


def test_the_oracle_alone_sees_what_execution_said():
    assert scores(create("oracle")) == [1, 1, 0, 0, 0]
    seen = []

    class Curious:
        name, version = "curious", "1"
        privileged = "yes"

        async def score(self, problem, attempts):
            seen.extend(attempt.resolved for attempt in attempts)
            return [0] * len(attempts)

    scores(Curious())
    assert seen == [None] * len(ALL)
    with pytest.raises(VerifierError, match="needs the outcome"):
        scores(create("oracle"), [attempt(None)])


def test_random_is_a_draw_of_its_seed():
    one = scores(create("random:7"))
    assert one == scores(create("random:7")) != scores(create("random:8"))
    assert len(set(one)) == len(ALL) and all(0 <= score < 1 for score in one)
    assert scores(create("random:7"), ALL[::-1]) == one, "the patch itself has no influence"


def test_the_heuristic_prefers_agreement_with_the_issue_and_sound_code():
    right, alike, elsewhere, broken, empty = scores(create("heuristic"))
    assert right > elsewhere and alike > elsewhere > broken == empty == 0
    (alone,) = scores(HeuristicScorer(), [RIGHT])
    assert 0 < alone <= 1


def test_the_heuristic_knows_its_limits():
    only_docs = PatchAttempt("+x\n", {"README.md": "x"})
    removed = PatchAttempt("-x\n", {"cache/other.py": None})
    odd = PatchAttempt("+\0\n", {"cache/x.py": "\0", "cache/y.js": "(("})
    assert scores(create("heuristic"), [only_docs]) == [0]
    assert 0 < scores(create("heuristic"), [removed])[0] < 1
    assert scores(create("heuristic"), [odd]) == [0]


def test_a_model_is_asked_about_each_patch_alone():
    asked = []

    async def ask(system, user, schema):
        asked.append(json.loads(user))
        return {"reason": "so", "probability": 90 if "now()" in user else 15}

    found = scores(LlmScorer("m", ask=ask))
    assert found == [0.9, 0.9, 0.15, 0.15, 0]
    assert len(asked) == 4, "an empty patch needs no question"
    assert asked[0].keys() == {"issue", "patch", "files_before"}
    assert asked[0]["files_before"].keys() == {"cache/store.py", "cache/dump.py"}
    assert "resolved" not in json.dumps(asked)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        ([0.5], "1 scores for 5 attempts"),
        ([0, 0, 0, 0, math.nan], "finite numbers, got nan"),
        ([0, 0, 0, 0, True], "finite numbers, got True"),
        ([0, 0, 0, 0, "1"], "finite numbers, got '1'"),
        (None, "TypeError"),
        (ZeroDivisionError("x"), "ZeroDivisionError: x"),
    ],
)
def test_a_scorer_that_is_wrong_is_told(made, says):
    class Wrong:
        name, version = "wrong", "1"

        async def score(self, problem, attempts):
            if isinstance(made, Exception):
                raise made
            return made

    with pytest.raises(VerifierError, match=says):
        scores(Wrong())


@pytest.mark.parametrize(
    ("spec", "error", "says"),
    [
        ("heuristics", NotFoundError, "no patch scorer named 'heuristics'"),
        ("random:x", ConfigError, "expected a seed, got 'x'"),
        ("oracle:1", ConfigError, "takes no argument"),
        ("llm", ConfigError, "patch scorer 'llm' needs a model"),
    ],
)
def test_a_wrong_spec_is_told(spec, error, says):
    with pytest.raises(error, match=says):
        create(spec)


def group(task, resolved, own):
    return ScoredGroup(task, 0, tuple(ok == "+" for ok in resolved), tuple(own))


def test_the_comparison_counts_choices_and_what_execution_would_choose():
    one = compare(
        [group("a", "+-", [2, 1]), group("b", "--+", [3, 1, 2]), group("c", "--", [0, 1])]
    )
    assert (one.groups, one.mixed, one.attempts) == (3, 2, 7)
    assert one.best == pytest.approx(1 / 3)
    assert one.chance == pytest.approx((1 / 2 + 1 / 3) / 3)
    assert one.ceiling == pytest.approx(2 / 3)
    assert one.auc == pytest.approx((1 + 1 / 2) / 2)
    assert one.finding == "not distinguishable from chance"


def test_equal_scores_are_chance():
    one = compare([group("a", "+---", [1] * 4), group("b", "+-", [0, 0])])
    assert one.best == one.chance == pytest.approx(3 / 8)
    assert one.auc == 0.5
    assert one.gain_ci95 is None, "all gains are equal"


def test_without_a_choice_nothing_is_claimed():
    one = compare([group("a", "++", [1, 2]), group("b", "--", [1, 2])])
    assert (one.auc, one.gain_ci95) == (None, None)
    assert "nothing can be said" in one.finding
    single = compare([group("a", "+-", [2, 1]), group("a", "+-", [2, 1])])
    assert single.gain_ci95 is None and "no interval" in single.finding


@pytest.mark.parametrize(("sign", "says"), [(1, "better"), (-1, "worse")])
def test_a_scorer_that_is_always_right_or_wrong_is_told_from_chance(sign, says):
    groups = [group(f"t{k}", "+-" + "-" * (k % 2), [sign, 0, *[0] * (k % 2)]) for k in range(12)]
    assert compare(groups).finding == f"{says} than chance"


def test_attempts_of_one_task_are_no_independent_evidence():
    spread = [group(f"t{k}", "+-", [k % 4 > 0, 0.5]) for k in range(8)]
    alike = [group(f"t{k // 4}", "+-", [k % 4 > 0, 0.5]) for k in range(8)]
    assert compare(spread).gain_ci95 is not None
    assert compare(alike).gain_ci95 is None, "both tasks gain the same"


def test_the_interval_keeps_to_what_a_scorer_can_reach():
    two = [group("a", "+-", [2, 1]), group("b", "+-", [1, 2])]
    assert compare(two).gain_ci95 == (-0.5, 0.5)


async def test_recorded_attempts_are_scored_and_compared(tmp_path):
    if problems := plugins.load("agentgym.sandboxes", "bubblewrap")().problems():
        pytest.skip(f"bubblewrap cannot run: {problems}")
    take_image("swe-python")
    out, file = tmp_path / "run", tmp_path / "scores.json"
    await asyncio.to_thread(agentgym.evaluate, "swe/wicket-methods-v1", ["oracle", "noop"], out=out)
    done = await asyncio.to_thread(
        CliRunner().invoke, app, ["score-patches", str(out), "--json", str(file)]
    )
    assert done.exit_code == 0, done.output
    assert "2 attempts in 1 groups, 1 of them with resolved" in done.stdout
    document = json.loads(file.read_text())
    assert document["schema"] == "agentgym.patch-scores/1"
    assert {name: one["best"] for name, one in document["scorers"].items()}["oracle"] == 1
    gold, nothing = document["attempts"]
    assert (gold["resolved"], nothing["resolved"], nothing["diff_bytes"]) == (True, False, 0)
    assert gold["scores"]["heuristic"] > nothing["scores"]["heuristic"] == 0


def test_a_run_without_repositories_is_refused(tmp_path):
    from agentgym.record.store import EpisodePlan, RunStore

    RunStore.create(tmp_path / "run", {}, [EpisodePlan("demo/x-v1", 0, 0, "noop")]).close()
    with pytest.raises(ConfigError, match="no scored attempt"):
        CliRunner().invoke(app, ["score-patches", str(tmp_path / "run")], catch_exceptions=False)
