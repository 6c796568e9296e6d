"""Tasks that ask for fields, or for nothing: `submit` over an episode, from the schema on."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from agentgym.agents import registry
from agentgym.authoring.probes.answers import uncompared
from agentgym.authoring.redteam.claims import claim
from agentgym.env import answer as answers
from agentgym.env.environment import Environment
from agentgym.env.spec import answer_of, load_env_spec
from agentgym.errors import ActionError, TaskError
from agentgym.gymnasium.spaces import ToolCallSpace
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Briefing, Effect, Observation
from agentgym.rollout.grading import trajectory_of
from agentgym.rollout.regrade import regrade_episode
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.answer import AnswerForm
from agentgym.task.load import load_task

TASK = """\
schema_version = "agentgym.task/1"
id = "desk/count-v1"
title = "Count tickets"
difficulty = "easy"
env = "office"
max_steps = 6
"""
FIELDS = """
[[answer.field]]
name = "opened"
type = "number"
whole = true
about = "How many were opened"

[[answer.field]]
name = "last_day"
type = "date"
about = "The day of the last one"
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "answer"
use = "answers.fields"
with = { fields = { opened = 17, last_day = "2026-03-10" } }
"""
RIGHT = {"opened": 17, "last_day": "2026-03-10"}


@pytest.fixture
def write(tmp_path: Path):
    """Write the task with other files; returns its folder."""

    def make(answer: str = FIELDS, rubric: str = RUBRIC, solution: object = RIGHT) -> Path:
        root = tmp_path / "tasks/desk/count"
        for name, text in {
            "task.toml": TASK + answer,
            "instruction.md": "How many tickets were opened, the last one when?",
            "checks/rubric.toml": rubric,
            "solution/actions.jsonl": json.dumps({"tool": "submit", "arguments": solution}),
        }.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return root

    return make


async def test_a_refused_answer_is_a_step_and_the_next_one_ends_the_episode(write):
    episode = await Environment(load_task(write()), NoSandboxProvider()).start(0)
    for arguments in ({}, {"opened": "many", "last_day": "10 March"}, {"answer": "17"}):
        refused = await episode.step(Action("submit", arguments))
        assert refused.observation.effect is Effect.ERROR and not refused.terminated
        assert "last_day" in refused.observation.text
    last = await episode.step(Action("submit", {"opened": "17", "last_day": "10 March 2026"}))
    assert last.terminated and last.verdict.score == 1
    assert json.loads(last.observation.text.removeprefix("submitted: ")) == RIGHT
    assert len(episode.steps) == 4


async def test_refused_answers_use_up_the_steps(write):
    episode = await Environment(load_task(write()), NoSandboxProvider(), max_steps=2).start(0)
    await episode.step(Action("submit", {}))
    last = await episode.step(Action("submit", {"opened": 17}))
    assert last.truncated and last.verdict.score == 0


@pytest.mark.parametrize(
    ("given", "score"),
    [({"opened": 18, "last_day": "2026-03-10"}, 0), ({"answer": json.dumps(RIGHT)}, 1)],
)
async def test_values_are_compared(write, given, score):
    episode = await Environment(load_task(write()), NoSandboxProvider()).start(0)
    assert (await episode.step(Action("submit", given))).verdict.score == score


async def test_the_tool_has_the_fields(write):
    environment = Environment(load_task(write()), NoSandboxProvider())
    (submit,) = (tool for tool in environment.tools if tool.name == "submit")
    assert submit.parameters["required"] == ["opened", "last_day"]
    space = ToolCallSpace([submit], seed=3)
    assert {"tool": "submit", "arguments": RIGHT} in space
    assert {"tool": "submit", "arguments": {"answer": "17"}} not in space
    drawn = [space.sample() for _ in range(20)]
    assert all(call["arguments"].keys() == RIGHT.keys() for call in drawn)
    schemas = {s["function"]["name"]: s["function"] for s in environment.tool_schemas("openai")}
    assert schemas["submit"]["parameters"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("agent", "score", "tools"),
    [("oracle", 1, ["submit"]), ("noop", 0, ["submit", "give_up"])],
)
async def test_an_episode_is_recorded_graded_and_judged_again(
    write, tmp_path, monkeypatch, agent, score, tools
):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    environment = Environment(load_task(write()), NoSandboxProvider())
    plan = EpisodePlan("desk/count-v1", seed=0, trial=0, agent=agent)
    with contextlib.closing(RunStore.create(tmp_path / "run", {}, [plan])) as store:
        player = registry.create(agent)
        await run_episode(environment, player, seed=0, store=store, episode_id=1)
        steps = list(store.steps(1))
        assert store.episode(1).verdict.score == score
        assert [step.action.tool for step in steps] == tools
        assert trajectory_of(store, 1).complaints.keys() == set(range(len(tools) - 1))
        again = await regrade_episode(store, store.episode(1), NoSandboxProvider(), force=True)
        assert again.new is not None and again.new.score == score, again
        if score:
            assert steps[0].action.arguments == RIGHT


async def test_the_random_agent_fills_in_the_form(write):
    task = load_task(write())
    environment = Environment(task, NoSandboxProvider())
    submit = [tool for tool in environment.tools if tool.name == "submit"]
    player = registry.create("random")
    await player.start(Briefing("desk/count-v1", "", 0, 9))
    decision = await player.act(Observation(""), submit, ())
    assert decision.action.arguments.keys() == RIGHT.keys()


async def test_no_answer_is_wanted(write):
    rubric = RUBRIC.replace('"answers.fields"', '"answers.gave_up"').replace(
        'with = { fields = { opened = 17, last_day = "2026-03-10" } }', ""
    )
    folder = write('answer = "none"\n', rubric, {})
    environment = Environment(load_task(folder), NoSandboxProvider())
    (submit,) = (tool for tool in environment.tools if tool.name == "submit")
    assert submit.parameters["properties"] == {}
    episode = await environment.start(0)
    seen = await episode.step(Action("submit", {"answer": "All of it is done."}))
    assert seen.terminated and "without the text" in seen.observation.text
    assert episode._execution.answer == ""
    episode = await environment.start(0)
    assert (await episode.step(Action("submit"))).observation.text == "submitted"


async def test_the_environment_says_what_submit_takes_if_the_task_does_not(write, monkeypatch):
    silent = load_task(write("", RUBRIC, {}))
    assert answer_of(silent) == "text"
    without = load_env_spec(silent.manifest.env).model_copy(update={"answer": "none"})
    monkeypatch.setattr("agentgym.env.spec.load_env_spec", lambda name: without)
    assert answer_of(silent) == "none"
    assert answer_of(load_task(write('answer = "text"\n', RUBRIC, {}))) == "text"


def test_a_rubric_that_does_not_read_the_fields_is_told(write):
    assert not list(uncompared(load_task(write())))
    less = RUBRIC.replace(', last_day = "2026-03-10"', "")
    assert "'last_day'" in "".join(uncompared(load_task(write(rubric=less))))
    more = RUBRIC.replace("opened = 17", "opened = 17, closed = 2")
    assert "no field 'closed'" in "".join(uncompared(load_task(write(rubric=more))))
    text = RUBRIC + '[[checkpoint]]\nid = "words"\nuse = "answers.exact"\nwith = { text = "17" }\n'
    assert "'words'" in "".join(uncompared(load_task(write(rubric=text))))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ('answer = "nothing"', "expected 'text' or 'none'"),
        ("[answer]", "[[answer.field]]"),
        (FIELDS.replace('"date"', '"day"'), "answer.field.1.type"),
        (FIELDS.replace("The day", "The {{day}}"), "without slots"),
    ],
)
def test_a_broken_form_is_told_with_its_line(write, answer, told):
    with pytest.raises(TaskError) as error:
        load_task(write(answer))
    assert told in str(error.value) and "task.toml:" in str(error.value)


def test_cheats_fill_in_the_form(write):
    answer = load_task(write()).manifest.answer
    found = claim(answer, "between 2026-01-05 and 2026-02-06 it was 12 or 13", turn=1)
    assert found.arguments == {"opened": 13, "last_day": "2026-02-06"}
    assert claim("text", "done") == Action("submit", {"answer": "done"})
    assert claim("none", "done") == Action("submit", {})


def test_a_reader_that_breaks_on_an_answer_refuses_it(monkeypatch):
    """An agent must not leave the mean by an answer that nobody has foreseen."""
    form = AnswerForm(field=({"name": "x", "type": "name", "about": "A name"},))

    def broken(*_):
        raise KeyError("€\n")

    monkeypatch.setattr(answers, "read_form", broken)
    with pytest.raises(ActionError, match="it cannot be read .KeyError"):
        answers.read_answer(form, Action("submit", {"x": "€\n5"}))
