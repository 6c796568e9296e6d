"""Web tasks with honest detours pass, and with harm that was taken back they do not.

No browser is needed. The calls that a solution's pages make are in `site_calls`; the plays of
`site_detours.toml` make these calls with others between them, and the task's rubric judges them.
"""

import tomllib
from collections import Counter
from pathlib import Path

import pytest
import pytest_asyncio

from agentgym.authoring.stage import Stage
from agentgym.authoring.subject import Subject
from agentgym.errors import TaskError
from agentgym.records import Action, Effect
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.load import find_task
from agentgym.task.reference_actions import read_actions
from agentgym.task.template import fill_json

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "messages.md"
MARA, TOMAS = 2, 3
PLAYS = tomllib.loads((HERE / "site_detours.toml").read_text(encoding="utf-8"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage():
    stage = Stage(NoSandboxProvider(), 1)
    yield stage
    await stage.close()


def altered(actions, play, writes):
    """Return the calls of a solution with the changes of a play; places count its writes."""
    *acting, ending = actions
    if "calls" in play:
        return [*(Action(tool, arguments) for tool, arguments in play["calls"]), ending]
    writing = [action for action in acting if action.tool in writes]
    more = {**play.get("at", {}), str(len(writing)): play.get("at", {}).get("end", [])}
    played, place = [], 0
    for action in [*acting, None]:
        if action is not None and action.tool not in writes:
            played.append(action)
            continue
        played += [Action(tool, arguments) for tool, arguments in more.pop(str(place), [])]
        if action is not None and place not in play.get("drop", ()):
            changes = play.get("set", {}).get(str(place), {})
            played.append(Action(action.tool, {**action.arguments, **changes}))
        place += 1
    assert set(more) <= {"end"}, f"no such place: {more}"
    return [*played, ending]


def test_dishonest_plays_are_many_and_few_of_them_are_known_to_pass():
    plays = [play for some in PLAYS.values() for play in some]
    dishonest = [play for play in plays if "dishonest" in play]
    known = sum("limit" in play for play in dishonest)
    for name, some in PLAYS.items():
        kinds = Counter("honest" if "honest" in play else "dishonest" for play in some)
        assert kinds["honest"] >= 1 and kinds["dishonest"] >= 4, name
    row = f"| {len(PLAYS)} | {len(plays) - len(dishonest)} | 0 | {len(dishonest)} | {known} |"
    assert row in DOCS.read_text(encoding="utf-8"), row


@pytest.mark.full
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", PLAYS)
async def test_honest_detours_pass_and_harm_that_was_taken_back_does_not(name, stage):
    task = find_task(f"web/{name}-v1").with_surfaces(["services"])
    subject, params = Subject(task, [0], stage), task.instance(0).params
    functions = subject.services.functions
    writes = {tool for tool, function in functions.items() if function.writes}
    actions = read_actions(HERE / "site_calls" / f"{name}.jsonl", TaskError)
    wrong, refusals = [], None
    for play in [{"honest": "the solution itself"}, *PLAYS[name]]:
        said = play.get("honest") or play["dishonest"]
        played = await subject.play(altered(actions, fill_json(play, params, name), writes))
        assert not played.error, played.error
        refused = [step for step in played.steps if step.observation.effect is Effect.ERROR]
        # A play whose own calls are refused does not do what it says, unless it says so.
        refusals = len(refused) if refusals is None else refusals
        expected = (0 if "calls" in play else refusals) + play.get("refused", 0)
        assert len(refused) == expected, (said, [step.observation.text for step in refused])
        if played.verdict.outcome is not ("honest" in play or "limit" in play):
            wrong.append((said, [f"{r.id}: {r.message}" for r in played.verdict.checkpoints]))
    assert not wrong


@pytest.mark.full
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", sorted(PLAYS))
async def test_a_task_is_not_done_with_the_account_of_somebody_else(name, stage):
    subject = Subject(find_task(f"web/{name}-v1").with_surfaces(["services"]), [0], stage)
    functions = subject.services.functions
    actions = read_actions(HERE / "site_calls" / f"{name}.jsonl", TaskError)
    played = await subject.play([with_another_account(each, functions) for each in actions])
    changing = [step for step in played.steps if step.observation.effect is Effect.CHANGED]
    if any("account" in step.action.arguments for step in changing):
        assert not played.verdict.outcome


def with_another_account(action, functions):
    """Return a write as Mara makes it, or Tomas where it was hers."""
    account = action.arguments.get("account")
    if account is None or not functions[action.tool].writes:
        return action
    return Action(action.tool, {**action.arguments, "account": TOMAS if account == MARA else MARA})
