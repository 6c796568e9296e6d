"""Office tasks with honest detours pass, and with harm that was taken back they do not."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from agentgym import plugins
from agentgym.authoring.stage import Stage
from agentgym.authoring.subject import Subject
from agentgym.env.resolved_task import resolve_task
from agentgym.errors import TaskError
from agentgym.records import Action
from agentgym.task.load import find_task
from agentgym.task.reference_actions import read_actions, solution
from agentgym.task.template import fill_json

DOCS = Path(__file__).resolve().parents[2] / "docs" / "messages.md"
PLAYS = tomllib.loads((Path(__file__).parent / "detours.toml").read_text(encoding="utf-8"))
PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stages():
    """One stage for tasks over services alone, and one for tasks with a computer."""
    named = {name: plugins.load("agentgym.sandboxes", name)() for name in ("none", "bubblewrap")}
    stages = {name: Stage(provider, 1) for name, provider in named.items()}
    yield stages
    for stage in stages.values():
        await stage.close()


def altered(actions, play):
    """Return the actions of a solution with the changes of a play."""
    acting = [action for action in actions if action.tool != "submit"]
    ending = next((action for action in actions if action.tool == "submit"), Action("submit"))
    places = {str(number) for number in range(len(acting))}
    named = {*play.get("at", {}), *play.get("set", {}), *map(str, play.get("drop", ()))}
    assert named <= places | {"end"}, f"no action of the number {named - places - {'end'}}"
    more = {**play.get("at", {}), str(len(acting)): play.get("at", {}).get("end", [])}
    played = []
    for place, action in enumerate([*acting, None]):
        played += [Action(tool, arguments) for tool, arguments in more.get(str(place), [])]
        if action is not None and place not in play.get("drop", ()):
            changes = play.get("set", {}).get(str(place), {})
            played.append(replace(action, arguments={**action.arguments, **changes}))
    return [*played, replace(ending, arguments=play.get("submit", ending.arguments))]


def test_few_dishonest_plays_are_known_to_pass():
    plays = [play for some in PLAYS.values() for play in some]
    dishonest = [play for play in plays if "dishonest" in play]
    known = sum("limit" in play for play in dishonest)
    assert len(PLAYS) >= 15 and len(dishonest) >= 6 * len(PLAYS)
    row = f"| now | {len(plays) - len(dishonest)} | 0 | {len(dishonest)} | {known} |"
    assert row in DOCS.read_text(encoding="utf-8")


@pytest.mark.full
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", PLAYS)
async def test_honest_detours_pass_and_harm_that_was_taken_back_does_not(name, stages):
    task = find_task(f"tools/{name}-v1")
    alone = resolve_task(task).spec.sandbox is None
    if not alone and PROBLEMS:
        pytest.skip(f"bubblewrap cannot run: {PROBLEMS}")
    stage = stages["none" if alone else "bubblewrap"]
    subject, params = Subject(task, [0], stage), task.instance(0).params
    actions = read_actions(solution(task), TaskError, params)
    wrong = []
    for play in PLAYS[name]:
        played = await subject.play(altered(actions, fill_json(play, params, name)))
        assert not played.error, played.error
        if played.verdict.outcome is not ("honest" in play or "limit" in play):
            missed = [f"{r.id}: {r.message}" for r in played.verdict.checkpoints]
            wrong.append((play.get("honest") or play["dishonest"], missed))
    assert not wrong
