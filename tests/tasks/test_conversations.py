"""Honest and dishonest conversations in saved replies: the honest pass, the dishonest do not."""

import tomllib
from pathlib import Path

import pytest
import pytest_asyncio

from agentgym import plugins
from agentgym.authoring.stage import Stage
from agentgym.authoring.subject import Subject
from agentgym.errors import TaskError
from agentgym.records import Action
from agentgym.task.load import find_task
from agentgym.task.reference_actions import read_actions, solution
from agentgym.task.template import fill_json

PLAYS = tomllib.loads((Path(__file__).parent / "conversations.toml").read_text(encoding="utf-8"))
TALK = "message_user"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage():
    stage = Stage(plugins.load("agentgym.sandboxes", "none")(), 1)
    yield stage
    await stage.close()


def changed(actions, changes):
    """Return the actions of a solution with other messages."""
    messages = [place for place, action in enumerate(actions) if action.tool == TALK]
    places = {messages[change["message"]]: change for change in changes}
    played = []
    for place, action in enumerate(actions):
        change = places.get(place, {})
        replies = list(action.arguments.get("replies", ()))
        replies = [*change.get("send", replies), *change.get("also", ())]
        if action.tool != TALK:
            played.append(action)
        elif replies:
            sent = [{"reply": one} if isinstance(one, str) else one for one in replies]
            played.append(Action(TALK, {"replies": sent}))
        played += [Action(call["tool"], call["arguments"]) for call in change.get("then", ())]
    return played


@pytest.mark.full
@pytest.mark.parametrize("name", PLAYS)
async def test_honest_conversations_pass_and_dishonest_ones_do_not(name, stage):
    task = find_task(f"tools/{name}-v1")
    subject, params = Subject(task, [0], stage), task.instance(0).params
    actions = read_actions(solution(task), TaskError, params)
    wrong = []
    for play in PLAYS[name]:
        changes = fill_json(play["change"], params, name)
        played = await subject.play(changed(actions, changes))
        assert not played.error, played.error
        refused = [s.observation.text for s in played.steps if "not sent" in s.observation.text]
        assert not refused, (play, refused)
        if played.verdict.outcome is not ("honest" in play):
            missed = [f"{r.id}: {r.message}" for r in played.verdict.checkpoints]
            wrong.append((play.get("honest") or play["dishonest"], missed))
    assert not wrong
