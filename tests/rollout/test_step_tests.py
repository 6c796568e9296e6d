"""Hidden tests score the steps of an episode, and the agent's files stay as they are."""

import contextlib
from dataclasses import replace

import pytest
from built_images import take_image

from agentgym import plugins
from agentgym.env.environment import Environment
from agentgym.errors import SandboxError
from agentgym.eval.plan import check
from agentgym.eval.settings import Settings
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, CheckStatus, Decision, Grading, StepGrade, Verdict
from agentgym.rollout import step_tests
from agentgym.rollout.run import run_episode
from agentgym.swe.outcomes import Outcome, apply_rules
from agentgym.swe.patch_tests import progress
from agentgym.task.load import find_task
from agentgym.testing.step_grader import step
from agentgym.train.step_rewards import StepRewards

TASK = "swe/shelf-tags-v1"
CACHE = "/srv/shelf/shelf/cache.py"
LIFETIME = (
    "lifetime = lifetime or self.lifetime",
    "lifetime = self.lifetime if lifetime is None else lifetime",
)
PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()
LISTING = (
    "cd /srv/shelf && git status --porcelain --ignored && find . -type f | sort | xargs md5sum"
)


class Script:
    """Takes given actions, whatever it sees."""

    def __init__(self, *actions):
        self.actions, self.seen = actions, []

    async def start(self, briefing):
        pass

    async def act(self, observation, tools, history):
        self.seen.append(observation.text)
        return Decision(self.actions[len(history)])

    async def close(self):
        pass


def bash(command):
    return Action("bash", {"command": command})


def edit(old, new):
    return Action("edit_file", {"path": CACHE, "old": old, "new": new})


SUBMIT = Action("submit")


@pytest.fixture
async def environment():
    if PROBLEMS:
        pytest.skip(f"bubblewrap cannot run: {PROBLEMS}")
    take_image("swe-python")
    provider = plugins.load("agentgym.sandboxes", "bubblewrap")()
    environment = Environment(find_task(TASK), provider)
    yield environment
    await environment.close()
    await provider.close()


@pytest.fixture
def store(tmp_path):
    run = RunStore.create(tmp_path / "run", {}, [EpisodePlan(TASK, 0, 0, "script")])
    yield run
    run.close()


async def test_each_edit_is_scored_beside_the_agent(environment, store):
    agent = Script(
        bash(LISTING),
        edit(*LIFETIME),
        bash("true"),
        bash(LISTING),
        edit("self._entries[key] = entry", "pass"),
        edit("        pass\n", "        self._entries[key] = entry\n"),
        SUBMIT,
    )
    result = await run_episode(
        environment, agent, seed=0, store=store, episode_id=1, step_tests=True
    )
    grading = result.step_tests
    assert [(grade.step, grade.label) for grade in grading.grades] == [
        *((1, "better"), (4, "worse"), (5, "better"))
    ]
    # Two of 22 hidden tests pass; without `put`, 19 of the 26 tests that passed before fail.
    share = 2 / 22
    lost = share * 19 / 26
    assert [grade.value for grade in grading.grades] == pytest.approx([share, -lost, lost])
    assert grading.grades[-1].measures == {
        "progress": pytest.approx(share),
        "scored_edits": 3.0,
        "steps_to_progress": 2.0,
    }
    (kept,) = store.history.newest_gradings(1)
    assert kept == replace(grading, trajectory=store.history.trajectory(1))
    first, then = agent.seen[1].splitlines(), agent.seen[4].splitlines()
    changed = [line for line in then if line not in first]
    assert [line.split()[-1] for line in changed] == ["shelf/cache.py", "./shelf/cache.py"]


async def test_an_episode_without_the_option_has_no_scores(environment):
    result = await run_episode(environment, Script(SUBMIT), seed=0, store=None, episode_id=None)
    assert result.step_tests is None


async def test_a_failure_of_the_tests_is_an_error_and_no_reward(environment, monkeypatch):
    @contextlib.asynccontextmanager
    async def broken(*args):
        raise SandboxError("no room")
        yield

    monkeypatch.setattr(step_tests, "open_patch_tests", broken)
    agent = Script(edit(*LIFETIME), SUBMIT)
    result = await run_episode(
        environment, agent, seed=0, store=None, episode_id=None, step_tests=True
    )
    (grade,) = result.step_tests.grades
    assert (grade.status, grade.message, grade.value) == (CheckStatus.ERROR, "no room", None)
    assert result.verdict.scored
    rewards = StepRewards({"step-tests": 1.0})
    instance = environment.task.instance(0)
    found = await rewards.rewards(instance, [step(0), step(1)], result.verdict, result.step_tests)
    assert (found, rewards.take_failures()) == ([0, 0], 1)


async def test_a_trainer_pays_the_progress_of_each_step():
    rewards = StepRewards({"step-tests": 2.0})
    assert rewards.runs_tests and not StepRewards({"validity": 1.0}).runs_tests
    grades = (
        StepGrade(1, CheckStatus.PASS, "better", value=0.5),
        StepGrade(2, CheckStatus.NOT_APPLICABLE, "worse", value=-0.25),
    )
    found = await rewards.rewards(
        find_task(TASK).instance(0),
        [step(k) for k in range(3)],
        Verdict("scored", False, 0.0),
        Grading("step-tests", "1", grades),
    )
    assert found == [0, 1.0, -0.5]


@pytest.mark.parametrize(
    ("passing", "reached"),
    [
        ("", 0.0),
        ("abxy", 1.0),
        ("axy", 0.5),
        ("ab", 0.0),
        ("abx", 0.5),
        ("xy", 0.0),
    ],
)
def test_progress_is_one_for_a_resolved_issue_alone(passing, reached):
    resolution = apply_rules(dict.fromkeys(passing, Outcome.PASS), "ab", "xy")
    assert progress(resolution) == reached
    assert (progress(resolution) == 1.0) is resolution.resolved
    assert progress(apply_rules({}, "", "")) == 0.0


def test_a_run_whose_tasks_have_no_hidden_tests_is_refused():
    settings = Settings(("terminal/stale-lock-v1",), ("noop",), step_tests=True)
    assert any("--step-tests" in problem for problem in check(settings))
    assert not [p for p in check(replace(settings, step_tests=False)) if "--step-tests" in p]
