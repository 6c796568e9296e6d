"""`give_up` over an episode: refused fields cost a step, right ones end it, records keep them."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from agentgym.agents import registry
from agentgym.env.control import GIVE_UP
from agentgym.env.environment import Environment
from agentgym.errors import VerifierError
from agentgym.gymnasium.spaces import ToolCallSpace
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Effect
from agentgym.rollout.grading import trajectory_of
from agentgym.rollout.regrade import regrade_episode
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.load import load_task
from agentgym.verify.calibration.give_ups import give_up_complaints
from agentgym.verify.giving_up import CATEGORIES

TASK = """\
schema_version = "agentgym.task/1"
id = "desk/stuck-v1"
title = "Give up"
difficulty = "easy"
env = "office"
max_steps = 6
abstain = true
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "gave_up"
use = "answers.gave_up"

[checkpoint.with]
reason = "ledger"
true = [{ category = "no_permission", subject = ["ledger"] }]
false = ["damaged"]
unchanged = true
"""
RIGHT = {"category": "no_permission", "subject": "the ledger", "reason": "It was refused."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "tasks/desk/stuck"
    for name, text in {
        "task.toml": TASK,
        "instruction.md": "Change the ledger.",
        "checks/rubric.toml": RUBRIC,
        "solution/actions.jsonl": json.dumps({"tool": "give_up", "arguments": RIGHT}),
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


async def test_a_refused_field_is_a_step_and_the_next_call_ends_the_episode(folder):
    episode = await Environment(load_task(folder), NoSandboxProvider()).start(0)
    for wrong in ({"category": "no rights"}, {"subject": None}, {"subject": ["ledger"]}):
        refused = await episode.step(Action("give_up", {**RIGHT, **wrong}))
        assert refused.observation.effect is Effect.ERROR and not refused.terminated
        assert next(iter(wrong)) in refused.observation.text
    assert "'no_permission'" in episode.steps[0].observation.text, "it says what there is"
    last = await episode.step(Action("give_up", {**RIGHT, "category": "No permission"}))
    assert last.terminated and last.verdict.outcome and len(episode.steps) == 4
    assert last.observation.text == "gave up: no_permission"


async def test_refused_fields_use_up_the_steps(folder):
    environment = Environment(load_task(folder), NoSandboxProvider(), max_steps=1)
    last = await (await environment.start(0)).step(Action("give_up", {**RIGHT, "category": "x"}))
    assert last.truncated and last.verdict.score == 0


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (RIGHT, True),
        ({"reason": json.dumps(RIGHT)}, True),
        ({"reason": "I may not change the ledger."}, False),
        ({**RIGHT, "category": "other"}, False),
        ({**RIGHT, "category": "damaged"}, False),
        ({**RIGHT, "subject": "the form"}, False),
        ({**RIGHT, "reason": "It is damaged."}, False),
        ({**RIGHT, "reason": "I have changed the ledger."}, False),
        ({**RIGHT, "reason": "It is not damaged, and I have changed nothing."}, True),
    ],
)
async def test_the_fields_decide_and_a_text_alone_states_no_cause(folder, given, outcome):
    episode = await Environment(load_task(folder), NoSandboxProvider()).start(0)
    seen = await episode.step(Action("give_up", given))
    assert seen.terminated and seen.verdict.outcome is outcome


async def test_the_tool_is_the_same_in_every_task_and_has_the_categories(folder):
    environment = Environment(load_task(folder), NoSandboxProvider())
    assert environment.tools[-1] is GIVE_UP
    for form in ("openai", "anthropic"):
        told = json.dumps(environment.tool_schemas(form)[-1])
        assert all(f'"{name}"' in told for name in CATEGORIES)
    space = ToolCallSpace([GIVE_UP], seed=3)
    assert {"tool": "give_up", "arguments": RIGHT} in space
    assert {"tool": "give_up", "arguments": {"reason": "no"}} not in space
    assert {"tool": "give_up", "arguments": {**RIGHT, "category": "gone"}} not in space


@pytest.mark.parametrize(
    ("given", "outcome"),
    [(RIGHT, True), ({**RIGHT, "category": "locked"}, False), ({"reason": "ledger"}, False)],
)
async def test_a_record_is_judged_again_with_its_fields_or_without(
    folder, tmp_path, monkeypatch, given, outcome
):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    environment = Environment(load_task(folder), NoSandboxProvider())
    script = tmp_path / "play.jsonl"
    script.write_text(json.dumps({"tool": "give_up", "arguments": given}))
    plan = EpisodePlan("desk/stuck-v1", seed=0, trial=0, agent="scripted")
    with contextlib.closing(RunStore.create(tmp_path / "run", {}, [plan])) as store:
        player = registry.create(f"scripted:{script}")
        await run_episode(environment, player, seed=0, store=store, episode_id=1)
        assert store.episode(1).verdict.outcome is outcome
        assert trajectory_of(store, 1).complaints == {}
        again = await regrade_episode(store, store.episode(1), NoSandboxProvider(), force=True)
        assert again.new is not None and again.new.outcome is outcome, again


CASES = """\
schema_version = "agentgym.message-cases/1"

[[give_up]]
expect = "pass"
category = "no_permission"
subject = "the ledger"
reason = "It was refused."

[[give_up]]
expect = "pass"
reason = "It is dark."

[[give_up]]
expect = "fail"
category = "locked"
subject = "the ledger"
reason = "It was refused."

[[give_up]]
expect = "fail"
category = "no_permission"
subject = "the ledger"
reason = "It rained, which is false."
{}
"""


async def test_known_statements_are_judged_as_their_task_judges_them(folder):
    path = folder / "checks/calibration.toml"
    path.write_text(CASES.format(""))
    instance = load_task(folder).instance(0)
    few_good, few_bad, refused, passed = sorted(give_up_complaints(instance), key=len)
    assert "at least 3 bad" in few_good + few_bad and "at least 3 good" in few_good + few_bad
    assert "It is dark." in refused + passed and "It rained" in refused + passed
    path.write_text(CASES.format('limit = "the weather is not judged"'))
    assert not [one for one in give_up_complaints(instance) if "rained" in one]
    path.write_text(CASES.replace('"locked"', '"lockt"').format(""))
    with pytest.raises(VerifierError, match="category"):
        give_up_complaints(instance)
