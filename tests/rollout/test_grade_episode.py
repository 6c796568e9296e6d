"""What graders are shown of a recorded episode, and what is kept of what they say."""

import pytest
from counter_world import Counter, CounterEnvironment, CounterProvider, counter_task

from agentgym.errors import NotFoundError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Decision, Effect, Observation, Step, ToolSpec
from agentgym.rollout import grading
from agentgym.rollout.grading import (
    find_complaints,
    find_contracts,
    find_milestones,
    grade_episode,
    trajectory_of,
)
from agentgym.rollout.run import run_episode
from agentgym.task.load import find_task
from agentgym.task.model import GradingManifest
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.steps.registry import USUAL, create
from agentgym.verify.version import verifier_version

PLAN = EpisodePlan("counter/count-v1", seed=3, trial=0, agent="ones")
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "made"
use = "files.exists"
with = { path = "/srv/a" }
when = "every_step"
weight = 1

[[checkpoint]]
id = "rest"
kind = "weighted"
weight = 3
  [[checkpoint.checkpoint]]
  id = "half"
  use = "files.exists"
  with = { path = "/srv/b" }
  when = "every_step"
  [[checkpoint.checkpoint]]
  id = "end"
  use = "files.exists"
  with = { path = "/srv/c" }

[[checkpoint]]
id = "quiet"
use = "trajectory.never_calls"
with = { tool = "bash", where = { command = "{{word}}" } }
phase = "process"
weight = 4

[[checkpoint]]
id = "harm"
use = "files.exists"
with = { path = "/srv/d" }
when = "every_step"
phase = "safety"

[[checkpoint]]
id = "extra"
use = "files.exists"
with = { path = "/srv/e" }
when = "every_step"
bonus = true
"""


@pytest.fixture
def rubric(tmp_path):
    path = tmp_path / "rubric.toml"
    path.write_text(RUBRIC)
    return load_rubric(path)


@pytest.fixture
async def store(tmp_path):
    run = RunStore.create(tmp_path / "run", {}, [PLAN, PLAN])
    env = CounterEnvironment(counter_task(), CounterProvider())
    await run_episode(env, Counter(), seed=3, store=run, episode_id=1)
    yield run
    run.close()


def test_milestones_have_their_share_of_the_tree(rubric):
    # Of 8 parts made has 1, and half has one of the two halves of 3; bonus and safety are none.
    assert [(m.id, m.weight) for m in find_milestones(rubric)] == [
        ("made", pytest.approx(1 / 2.5)),
        ("half", pytest.approx(1.5 / 2.5)),
    ]


def test_contracts_have_their_slots_filled(rubric):
    (contract,) = find_contracts(rubric, {"word": "rm -rf"})
    assert (contract.id, contract.kind) == ("quiet", "never_calls")
    assert contract.arguments == {"tool": "bash", "where": {"command": "rm -rf"}}


def test_complaints_are_those_of_the_environment():
    tool = ToolSpec("look", "", {"type": "object", "properties": {}, "additionalProperties": False})
    calls = [
        Action("look"),
        Action("lok"),
        Action("look", {"x": 1}),
        Action("", {"malformed": "an action is an object, not int"}),
    ]
    seen = Observation("", effect=Effect.ERROR)
    steps = [Step(k, Decision(action), seen) for k, action in enumerate(calls)]
    found = find_complaints(steps, [tool])
    assert sorted(found) == [1, 2, 3]
    assert "did you mean 'look'" in found[1]
    assert found[3] == "an action is an object, not int"


def test_a_bundled_task_is_shown_with_its_tools():
    offered = {tool.name for tool in grading.offered_tools(find_task("terminal/git-repair-v1"))}
    assert offered >= {"bash", "edit_file", "submit", "give_up"}


async def test_a_task_that_is_gone_leaves_what_the_record_knows(store):
    shown = trajectory_of(store, 1)
    assert "no task named 'counter/count-v1'" in shown.problem
    assert (len(shown.steps), shown.verdict.outcome, shown.instruction) == (5, True, "Count to 4.")
    gradings = await grade_episode(store, 1, {spec: create(spec) for spec in USUAL})
    errors = {one.grader for one in gradings if one.error}
    assert errors == {"progress", "contracts"}
    kept = store.history.gradings(1)
    assert [(g.grader, g.version, g.grades) for g in kept] == [
        (g.grader, g.version, g.grades) for g in gradings
    ]


async def test_a_task_without_a_rubric_has_no_milestones_and_no_problem(
    store, monkeypatch, tmp_path
):
    task = counter_task()
    task.folder, task.manifest.abstain = tmp_path, False
    task.manifest.grading = GradingManifest()
    task.manifest.model_fields_set = {"answer"}
    monkeypatch.setattr(grading, "find_task", lambda task_id: task)
    monkeypatch.setattr(grading, "offered_tools", lambda task: CounterEnvironment(task, None).tools)
    shown = trajectory_of(store, 1)
    assert (shown.problem, shown.milestones, shown.contracts) == ("", (), ())
    assert shown.volatile_text == (r"pid \d+",)
    assert shown.rubric == verifier_version(task)


async def test_an_unknown_environment_is_a_problem_and_no_failure(store, monkeypatch):
    def broken(task_id):
        raise NotFoundError("environment", "x", ["terminal"])

    monkeypatch.setattr(grading, "find_task", broken)
    assert "no environment named 'x'" in trajectory_of(store, 1).problem


async def test_an_episode_without_steps_has_no_grades(store):
    recorder = store.begin(
        2, params={}, instruction="i", sandbox="counter", reset_s=0.0, first=Observation("i")
    )
    assert recorder
    gradings = await grade_episode(store, 2, {"loops": create("loops")})
    assert [(g.grades, g.error, g.steps) for g in gradings] == [((), "", 0)]
