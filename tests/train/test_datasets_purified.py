"""Purified trajectories: failed attempts give way to their corrections, if they changed nothing."""

from __future__ import annotations

import json
import time
from contextlib import closing

import pytest
from offline_runs import PASSED, TASK, dataset, lay, step

from agentgym.errors import RecordError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    Decision,
    Effect,
    Nudge,
    Observation,
    Step,
    StepEvent,
    StepEventKind,
    ToolSpec,
)
from agentgym.train.datasets import purification
from agentgym.train.datasets.dialogues import Interface
from agentgym.train.datasets.native import read_tokens
from agentgym.train.datasets.purification import ImpureError, purify

BASH = ToolSpec(
    "bash",
    "Run.",
    {
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
        "additionalProperties": False,
    },
)
GET = ToolSpec("orders_get", "Show.", {"type": "object", "properties": {"order": {}}})
INTERFACE = Interface((BASH, GET), 9, frozenset({"orders_get"}))


def bash(command, text="", code=0, **more):
    effect = Effect.CHANGED if code == 0 else Effect.ERROR
    seen = Observation(text, data={"exit_code": code}, effect=more.pop("effect", effect))
    events = more.pop("events", ())
    return Step(0, Decision(Action("bash", {"command": command}), **more), seen, 0.0, events)


def get(order, *, code=""):
    data = {"error": {"code": code}} if code else {"result": order}
    effect = Effect.ERROR if code else Effect.NO_CHANGE
    return Step(
        0, Decision(Action("orders_get", {"order": order})), Observation("", None, data, effect)
    )


def commands(found):
    return [one.action.arguments.get("command", one.action.tool) for one in found.steps]


def test_a_failed_look_gives_way_to_the_right_one():
    steps = [
        bash("cat /srv/nots.txt", "no such file", 1, thought="Read the notes."),
        bash("cat /srv/notes.txt", "hello", thought="A typo; again."),
        bash("echo done"),
    ]
    found = purify(steps, INTERFACE)
    assert commands(found) == ["cat /srv/notes.txt", "echo done"]
    assert [one.index for one in found.steps] == [0, 1]
    assert found.steps[0].decision.thought == "Read the notes."
    (drop,) = found.drops
    assert (drop.step, drop.corrected_by, drop.repair) == (0, 1, "shallow")
    assert found.kept == (1, 2) and found.uncorrected == ()


def test_looks_between_an_attempt_and_its_correction_stay_with_their_thoughts():
    steps = [
        bash("cat /srv/nots.txt", "no", 1, thought="Read."),
        bash("ls /srv", "notes.txt"),
        bash("cat /srv/notes.txt", "hello", thought="There it is."),
    ]
    found = purify(steps, INTERFACE)
    assert commands(found) == ["ls /srv", "cat /srv/notes.txt"]
    assert found.steps[1].decision.thought == "There it is."
    assert found.drops[0].repair == "deep"


def test_a_row_of_attempts_gives_way_to_the_last():
    steps = [get(9, code="not_found"), get(8, code="not_found"), get(5)]
    found = purify(steps, INTERFACE)
    assert [one.action.arguments["order"] for one in found.steps] == [5]
    assert [drop.corrected_by for drop in found.drops] == [2, 2]


@pytest.mark.parametrize(
    "attempt",
    [
        bash("mkdir /srv/a && cat /srv/notes.tx", "no", 1),
        bash("cat /srv/notes.tx > /srv/notes.txt", "no", 1),
        bash("cat $(rm /srv/x) /srv/notes.tx", "no", 1),
        bash("cat /srv/notes.tx\nrm /srv/x", "no", 1),
        bash("./cat /srv/notes.tx", "cat: command not found", 127),
        bash("python cat /srv/notes.tx", "no", 1),
        bash("cat /srv/notes.tx", "late", 1, effect=Effect.TIMEOUT),
        bash("cat /srv/notes.tx", "no", 1, events=(StepEvent(StepEventKind.EVENT, "rain"),)),
    ],
)
def test_attempts_that_may_have_changed_the_state_are_refused(attempt):
    with pytest.raises(ImpureError, match=r"may have changed|the world or the user acted"):
        purify([attempt, bash("cat /srv/notes.txt", "hello")], INTERFACE)


@pytest.mark.parametrize(
    "before", ["alias cat='rm -f'", "cat() { rm $1; }", "export PATH=/srv/bin:$PATH", "source x"]
)
def test_a_name_that_may_stand_for_another_program_is_no_evidence(before):
    steps = [bash(before), bash("cat /srv/nots.txt", "no", 1), bash("cat /srv/notes.txt")]
    with pytest.raises(ImpureError, match="may have changed the state"):
        purify(steps, INTERFACE)


def test_a_command_that_was_not_found_and_a_refused_call_changed_nothing():
    wrong = Step(
        0,
        Decision(Action("bsh", {"command": "cat a"})),
        Observation("error: x", effect=Effect.ERROR),
    )
    steps = [bash("gti status", "bash: gti: command not found", 127), bash("git status"), wrong]
    found = purify([*steps, bash("cat a", "a")], INTERFACE)
    assert commands(found) == ["git status", "cat a"]
    assert [drop.evidence for drop in found.drops] == [
        "its command was not found",
        "it was refused before it was executed",
    ]


def test_an_error_without_a_correction_and_one_of_a_fault_stay():
    struck = (StepEvent(StepEventKind.FAULT, "outage"),)
    steps = [
        bash("cat /srv/a", "no", 1),
        bash("cat /srv/notes.txt", "unavailable", 1, events=struck),
        bash("python analyse.py --all --into report.csv", "fine"),
    ]
    found = purify(steps, INTERFACE)
    assert found.drops == () and found.uncorrected == (0,)
    assert len(found.steps) == 3


def test_rejected_replies_are_dropped_and_counted():
    steps = [bash("ls", nudges=(Nudge("hm", "call a tool"),) * 2)]
    found = purify(steps, INTERFACE)
    assert found.rejected == 2 and found.steps[0].decision.nudges == ()


def test_calls_of_one_reply_are_not_taken_apart():
    call = {"type": "function", "id": "a", "function": {"name": "orders_get", "arguments": "{}"}}
    reply = {"role": "assistant", "tool_calls": [call, call]}
    first, second = get(9, code="not_found"), get(5)
    decisions = [
        Decision(first.action, reply=reply),
        Decision(second.action, reply={"call_of_reply": 1}),
    ]
    steps = [
        Step(0, decision, one.observation)
        for decision, one in zip(decisions, (first, second), strict=True)
    ]
    with pytest.raises(ImpureError, match="several calls of a reply"):
        purify(steps, INTERFACE)


# --- real episodes and the command -------------------------------------------------------


@pytest.fixture(scope="module")
def clumsy(shop):
    """A real episode that calls twice in vain before it refunds the right order."""
    import asyncio

    from agentgym.agents.registry import create
    from agentgym.env.environment import Environment
    from agentgym.env.opening import load_built
    from agentgym.rollout.run import run_episode
    from agentgym.sandbox.absent import NoSandboxProvider

    async def played(store):
        async with Environment(load_built(TASK), NoSandboxProvider()) as environment:
            order = environment.task.instance(0).params["bought"]["order"]
            calls = [{"order": 999}, {"order": "x"}, {"order": order}]
            lines = [json.dumps({"tool": "orders_refund", "arguments": one}) for one in calls]
            (shop / "plan.jsonl").write_text("\n".join(lines))
            agent = create(f"scripted:{shop / 'plan.jsonl'}")
            told = {"seed": 0, "store": store, "episode_id": 1}
            result = await run_episode(environment, agent, **told)
            assert result.verdict.outcome, result

    plan = EpisodePlan(TASK, 0, 0, "scripted")
    with closing(RunStore.create(shop / "clumsy", {"tasks": [TASK]}, [plan])) as store:
        asyncio.run(played(store))
    return shop / "clumsy"


def test_a_real_episode_reads_as_if_it_were_right_at_once(clumsy, shop, tmp_path):
    dataset("purified", clumsy, "--out", tmp_path / "p.jsonl")
    (row,) = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    calls = [m["tool_calls"][0]["function"] for m in row["messages"] if m["role"] == "assistant"]
    assert [call["name"] for call in calls] == ["orders_refund", "submit"]
    assert "999" not in json.dumps(row["messages"])
    assert all(m["weight"] == 1 for m in row["messages"] if m["role"] == "assistant")
    dropped = row["metadata"]["dropped"]
    assert [one["step"] for one in dropped] == [0, 1]
    assert dropped[0]["call"]["arguments"] == {"order": 999}
    assert dropped[0]["evidence"] == "the service answered with an error"
    assert dropped[1]["evidence"] == "it was refused before it was executed"
    dataset("sft", clumsy, "--out", tmp_path / "s.jsonl")
    (whole,) = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    weights = [m["weight"] for m in whole["messages"] if m["role"] == "assistant"]
    assert weights == [0, 0, 1, 1]


def test_token_ids_that_hold_the_attempts_are_refused_and_a_template_writes_others(
    clumsy, shop, tmp_path
):
    pytest.importorskip("torch")
    told = ["--out", tmp_path / "p.npz", "--form", "native"]
    with pytest.raises(RecordError, match="whose token ids hold the dropped attempts"):
        dataset("purified", clumsy, *told)
    dataset("purified", clumsy, *told, "--template", shop / "train.toml")
    (episode,) = read_tokens(tmp_path / "p.npz").episodes
    assert sum(episode.tokens.sequences[0].mask) == 2


def test_refused_episodes_are_counted_with_their_reason(shop, tmp_path):
    changed = step("orders_refund", {"order": 5}, "lost", Effect.TIMEOUT)
    right = step("orders_refund", {"order": 5}, "refunded")
    run = lay(tmp_path / "run", [({}, [changed, right], PASSED), ({"seed": 1}, [right], PASSED)])
    told = dataset("purified", run, "--out", tmp_path / "p.jsonl")
    assert "1 refused: the failed orders_refund may have changed the state" in told
    assert len((tmp_path / "p.jsonl").read_text().splitlines()) == 1


def test_programs_that_repeat_two_signs_are_not_compared_for_hours(monkeypatch):
    monkeypatch.setattr(purification, "_COMPARISONS", 20_000_000)
    steps = [*(bash("ax" * 4_000, code=1) for _ in range(5)), bash("ay" * 4_000)]
    began_s = time.process_time()
    assert purify(steps, INTERFACE).uncorrected == (0, 1, 2, 3, 4)
    assert time.process_time() - began_s < 60
