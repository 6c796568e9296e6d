"""Milestones without a sandbox: latching, what is not so yet, and checks that hang."""

import threading
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from agentgym.errors import SandboxEndedError, SandboxError, VerifierError
from agentgym.records import Audit, CheckResult, CheckStatus
from agentgym.testing.checks import MemoryTree
from agentgym.verify.checking import Broken
from agentgym.verify.milestones import Milestones, Moment, WorkerLooker, open_milestones

INSTANCE = SimpleNamespace(task=SimpleNamespace(id="demo/x-v1"), seed=3, params={"word": "amber"})
PASS, FAIL, ERROR = CheckStatus.PASS, CheckStatus.FAIL, CheckStatus.ERROR


class Sandbox:
    """Shows the files it is given; counts the looks."""

    def __init__(self, files=None):
        self.files, self.looks, self.trouble = files or {}, 0, None

    @asynccontextmanager
    async def look(self):
        self.looks += 1
        if self.trouble is not None:
            raise self.trouble
        yield MemoryTree(self.files)

    async def audit(self):
        return Audit(killed_for_memory=7)


def there(path):
    def check(evidence):
        found = evidence.after.stat(path) is not None
        return CheckResult(PASS if found else FAIL, f"{path}: {found}", 1.0 if found else 0.5)

    return check


class InProcess:
    """Runs checks where the tests run; one that hangs is let go when it is stopped."""

    def __init__(self, checks):
        self.checks, self.stops, self.go = checks, 0, threading.Event()

    def look(self, ids, evidence, until_s):
        for id in ids:
            yield id, self.checks[id](evidence)

    def stop(self):
        self.stops += 1
        self.go.set()

    def close(self):
        pass


def milestones(deadline_s=5.0, **checks):
    return around(InProcess(checks), checks, deadline_s)


def around(looker, ids, deadline_s=5.0):
    return Milestones(ids, looker, INSTANCE, MemoryTree({}), {}, deadline_s=deadline_s)


async def test_each_is_latched_at_the_step_at_which_it_first_held():
    box, both = Sandbox(), milestones(a=there("/a"), b=there("/b"))
    for step, files in enumerate([{}, {"/a": ""}, {}, {"/b": ""}, {}], start=-1):
        box.files = files
        await both.observe(box, Moment(step))
    assert both.reached == {"a": 0, "b": 2}
    found = both.results()
    assert {id: (r.status, r.step) for id, r in found.items()} == {"a": (PASS, 0), "b": (PASS, 2)}
    # Nothing was left to look at after step 2.
    assert box.looks == 4


async def test_what_never_held_fails_with_the_last_message_and_no_credit():
    box, one = Sandbox(), milestones(a=there("/a"))
    assert one.results()["a"].message == "never held; at the last look: never looked at"
    await one.observe(box, Moment(0))
    found = one.results()["a"]
    assert (found.status, found.step, found.score) == (FAIL, None, None)
    assert found.message == "never held; at the last look: /a: False"


async def test_a_broken_check_stays_broken_and_is_not_run_again():
    runs = []

    def broken(evidence):
        runs.append("bad")
        return CheckResult(ERROR, "it is broken")

    box, both = Sandbox({"/a": ""}), milestones(bad=broken, a=there("/a"))
    await both.observe(box, Moment(-1))
    await both.observe(box, Moment(0))
    assert (runs, box.looks) == (["bad"], 1)
    assert both.results()["bad"].status is ERROR and both.reached == {"a": -1}


async def test_a_guest_that_cannot_be_stopped_is_no_error():
    box, one = Sandbox({"/a": ""}), milestones(a=there("/a"))
    box.trouble = SandboxError("processes [7] would not stop")
    await one.observe(box, Moment(0))
    assert one.results()["a"].status is FAIL and "would not stop" in one.results()["a"].message
    box.trouble = None
    await one.observe(box, Moment(1))
    assert one.reached == {"a": 1}


async def test_a_sandbox_that_ended_is_told():
    box, one = Sandbox(), milestones(a=there("/a"))
    box.trouble = SandboxEndedError("out of memory")
    with pytest.raises(SandboxEndedError):
        await one.observe(box, Moment(0))


async def test_a_check_that_hangs_is_stopped_and_the_others_count():
    hung = []

    def hangs(evidence):
        hung.append(looker.go.wait(20))
        return CheckResult(PASS)

    looker = InProcess({"a": there("/a"), "slow": hangs, "late": there("/a")})
    box, both = Sandbox({"/a": ""}), around(looker, looker.checks, 0.05)
    await both.observe(box, Moment(0))
    # What came after it was stopped was seen in a world that moves on.
    assert (looker.stops, hung, both.reached) == (1, [True], {"a": 0})
    assert "no result within 0.05 s" in both.results()["slow"].message
    await both.observe(box, Moment(1))
    assert both.reached == {"a": 0, "slow": 1, "late": 1}


@pytest.mark.parametrize("sound_at_first", [True, False])
async def test_a_check_that_was_sound_before_the_agent_acted_breaks_by_its_doing(sound_at_first):
    def breaks(evidence):
        if sound_at_first and evidence.after.stat("/odd") is None:
            return CheckResult(FAIL, "not yet")
        return Broken("IndexError")

    box, one = Sandbox(), milestones(a=breaks, b=there("/b"))
    await one.observe(box, Moment(-1))
    box.files = {"/odd": "", "/b": ""}
    await one.observe(box, Moment(0))
    found = one.results()["a"]
    assert found.status is (FAIL if sound_at_first else ERROR)
    assert found.message.endswith("IndexError") and one.reached == {"b": 0}


CHECKS = """
import time
from agentgym.records import CheckResult

def named(evidence, path):
    if evidence.after.stat("/hang") is not None:
        time.sleep(60)
    return evidence.after.stat(path) is not None and evidence.params["word"] == "amber"

def greedy(evidence):
    return bool(evidence.changes)
"""
RUBRIC = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "a"
use = "checks.named"
with = { path = "/a" }
when = "every_step"
[[checkpoint]]
id = "b"
use = "checks.greedy"
when = "every_step"
"""


async def test_a_worker_that_did_not_start_in_time_is_asked_again_at_the_look(
    tmp_path, monkeypatch
):
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "checks.py").write_text(CHECKS)
    (tmp_path / "checks" / "rubric.toml").write_text(RUBRIC)
    task = SimpleNamespace(id="demo/x-v1", folder=tmp_path, foreign=None)
    instance = SimpleNamespace(task=task, seed=3, params=INSTANCE.params)

    def late(looker):
        raise VerifierError("no result within 30 s")

    async def open_tree(snapshot):
        return MemoryTree({})

    monkeypatch.setattr(WorkerLooker, "open", late)
    prepared = SimpleNamespace(snapshot=None, gold={})
    both = await open_milestones(instance, prepared, SimpleNamespace(open_tree=open_tree))
    box = Sandbox({"/a": ""})
    try:
        both._deadline_s = 60.0
        await both.observe(box, Moment(0))
        assert both.reached == {"a": 0}
    finally:
        both.close()


async def test_the_checks_of_a_task_run_in_a_worker_that_is_killed_where_one_hangs(tmp_path):
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "checks.py").write_text(CHECKS)
    (tmp_path / "checks" / "rubric.toml").write_text(RUBRIC)
    task = SimpleNamespace(id="demo/x-v1", folder=tmp_path)
    looker = WorkerLooker(SimpleNamespace(task=task, seed=3, params=INSTANCE.params))
    box, both = Sandbox(), around(looker, ["a", "b"], 0.4)
    try:
        looker.open()
        await both.observe(box, Moment(-1))
        assert both.results()["b"].status is ERROR
        assert "there is no `changes`: compare `before`" in both.results()["b"].message
        box.files = {"/hang": "", "/a": ""}
        await both.observe(box, Moment(0))
        assert "no result within 0.4 s" in both.results()["a"].message
        box.files = {"/a": ""}
        both._deadline_s = 20.0
        await both.observe(box, Moment(1))
        assert both.reached == {"a": 1}
    finally:
        both.close()


async def test_the_audit_is_asked_for_only_where_a_check_looks_at_it():
    asked = []

    class Counting(Sandbox):
        async def audit(self):
            asked.append(self)
            return await super().audit()

    def looks(evidence):
        seen = [*evidence.processes, *evidence.connections, evidence.killed_for_memory]
        return CheckResult(PASS if seen == [7] else FAIL)

    box = Counting()
    await milestones(a=there("/a")).observe(box, Moment(0))
    assert asked == []
    both = milestones(a=looks, b=looks)
    await both.observe(box, Moment(0))
    assert len(asked) == 1 and both.reached == {"a": 0, "b": 0}
