"""Rules of another format are called behind a boundary: what their failures and verdicts become."""

import math
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest

from agentgym.env.rules import open_rules
from agentgym.errors import (
    GuestFileError,
    PluginError,
    SandboxDiedError,
    SandboxEndedError,
    TaskError,
    UnsupportedError,
)
from agentgym.records import CheckpointResult, CheckStatus, Phase, Verdict

PART = CheckpointResult("answer", Phase.OUTCOME, CheckStatus.PASS, 1.0, 1.0, "right")
SOLVED = Verdict("scored", outcome=True, score=1.0, checkpoints=(PART,))


class Box:
    """A sandbox in which nothing happens but what the test says."""

    def __init__(self, touched=False):
        self.touched, self.closed = touched, False

    async def close(self):
        self.closed = True


class Rules:
    """Rules of an episode; each method does what the test says, in the agent's sandbox or not."""

    services = customer = None

    def __init__(self, **does):
        self.does = {"begin": lambda box: "", "submit": lambda box: None, "note": lambda box: None}
        self.does |= {"finish": lambda box: SOLVED, "fork": lambda box: Rules(**does)} | does
        self.closed = False

    async def begin(self, sandbox):
        return self.does["begin"](sandbox)

    async def submit(self, sandbox, answer):
        return self.does["submit"](sandbox)

    async def finish(self, sandbox, *, gave_up):
        return self.does["finish"](sandbox)

    def note(self, step):
        self.does["note"](None)

    def fork(self, context):
        return self.does["fork"](None)

    def close(self):
        self.closed = True
        raise OSError("close never raises to the outside")


def guarded(opened=None, **does):
    """Return guarded rules; `opened` collects the untouched sandboxes."""

    async def untouched():
        box = Box()
        if opened is not None:
            opened.append(box)
        return box

    @asynccontextmanager
    async def pristine():
        yield SimpleNamespace(untouched=untouched)

    task = SimpleNamespace(open_episode=lambda context: Rules(**does))
    return open_rules(task, None, "odd", pristine)


def fails(error):
    def fail(box):
        raise error

    return fail


def broken_by_the_agent(error):
    def judge(box):
        if box.touched:
            raise error
        return SOLVED

    return judge


async def finish(rules):
    return await rules.finish(Box(touched=True), gave_up=False)


async def test_a_sound_verdict_is_returned_as_it_is():
    assert await finish(guarded()) == SOLVED


@pytest.mark.parametrize("error", [ValueError("planted"), TimeoutError(), RecursionError()])
async def test_tests_that_work_without_the_agent_were_broken_by_it(error):
    opened = []
    verdict = await finish(guarded(opened, finish=broken_by_the_agent(error)))
    assert (verdict.status, verdict.score, verdict.outcome) == ("scored", 0.0, False)
    assert "broke on what the agent left" in verdict.checkpoints[0].message
    assert [box.closed for box in opened] == [True]


@pytest.mark.parametrize("error", [SandboxEndedError("left"), GuestFileError("no file")])
async def test_what_the_agent_removed_is_a_fail_at_once(error):
    opened = []
    verdict = await finish(guarded(opened, finish=fails(error)))
    assert (verdict.status, verdict.score, opened) == ("scored", 0.0, [])


@pytest.mark.parametrize("error", [SandboxDiedError("host"), TaskError("the task is broken")])
async def test_what_no_agent_causes_leaves_the_guard(error):
    with pytest.raises(type(error)):
        await finish(guarded(finish=fails(error)))


async def test_tests_that_work_nowhere_are_the_verifiers_fault():
    verdict = await finish(guarded(finish=fails(KeyError("x"))))
    assert (verdict.status, verdict.outcome) == ("error:verifier", False)
    assert "KeyError" in verdict.checkpoints[0].message


ODD = [
    *({"score": score} for score in (-0.1, 1.5, math.nan, math.inf, "1", None, True)),
    *({"outcome": outcome} for outcome in ("yes", 1, None)),
    *({"status": status} for status in ("won", "", "error:", None, "scored\n", "error:x y")),
    *({"process": process} for process in (math.nan, 2.0, "1")),
    *({"checkpoints": some} for some in (None, [PART], ("answer",), (None,))),
    *({"checkpoints": (replace(PART, score=score),)} for score in (math.nan, math.inf, "1")),
    *({"checkpoints": (replace(PART, status=status),)} for status in ("pass", "great", None)),
    {"checkpoints": (replace(PART, id=7),)},
    {"safety_violations": "deleted"},
    {"state_hash": b"x"},
    {"words": "read"},
]


@pytest.mark.parametrize("odd", ODD, ids=repr)
async def test_a_verdict_with_other_types_or_ranges_is_the_verifiers_fault(odd):
    (field,) = odd
    verdict = await finish(guarded(finish=lambda box: replace(SOLVED, **odd)))
    assert verdict.status == "error:verifier"
    assert f"verdict: {field}" in verdict.checkpoints[0].message
    only_after_the_agent = guarded(
        finish=lambda box: replace(SOLVED, **odd) if box.touched else SOLVED
    )
    verdict = await finish(only_after_the_agent)
    assert (verdict.status, verdict.score, verdict.outcome) == ("scored", 0.0, False)


@pytest.mark.parametrize("value", [None, 1.0, True, {"status": "scored", "score": 1.0}])
async def test_what_is_no_verdict_is_the_verifiers_fault(value):
    verdict = await finish(guarded(finish=lambda box: value))
    assert verdict.status == "error:verifier"
    assert "expected a Verdict" in verdict.checkpoints[0].message


async def test_texts_of_the_agent_in_a_verdict_can_be_recorded():
    hostile = replace(PART, id="\ud800", message="\udcff" * 100_000)
    verdict = await finish(
        guarded(
            finish=lambda box: replace(
                SOLVED, checkpoints=(hostile,), safety_violations=("\ud800" * 100_000,)
            )
        )
    )
    (found,) = verdict.checkpoints
    texts = (found.id, found.message, *verdict.safety_violations)
    assert verdict.score == 1.0 and all(len(text.encode()) < 10_000 for text in texts)


@pytest.mark.parametrize("failing", ["note", "submit"])
@pytest.mark.parametrize("works_without", [True, False])
async def test_a_failure_before_the_end_decides_at_the_end(failing, works_without):
    finished = (lambda box: SOLVED) if works_without else fails(KeyError("x"))
    rules = guarded(**{failing: fails(ValueError("odd step")), "finish": finished})
    rules.note(None)
    assert await rules.submit(Box(touched=True), "") is None
    verdict = await finish(rules)
    assert (verdict.status, verdict.score) == (
        "scored" if works_without else "error:verifier",
        0.0,
    )
    assert "odd step" in verdict.checkpoints[0].message


async def test_what_is_no_instruction_is_never_shown():
    rules = guarded(submit=lambda box: 7)
    assert await rules.submit(Box(touched=True), "") is None
    verdict = await finish(rules)
    assert verdict.score == 0.0 and "expected text or None" in verdict.checkpoints[0].message


@pytest.mark.parametrize("begin", [fails(ValueError("odd")), lambda box: None, lambda box: b"x"])
async def test_an_episode_that_cannot_begin_names_its_format(begin):
    with pytest.raises(PluginError, match="'odd': the episode cannot begin"):
        await guarded(begin=begin).begin(Box())


async def test_a_fork_keeps_the_failure_of_its_parent():
    rules = guarded(note=fails(ValueError("odd step")))
    rules.note(None)
    child = rules.fork(None)
    child.close()
    assert (await finish(child)).score == 0.0


async def test_rules_that_cannot_be_forked_say_why():
    with pytest.raises(UnsupportedError, match="rules of odd cannot be forked: ValueError: no"):
        guarded(fork=fails(ValueError("no"))).fork(None)
