"""Grading with real check modules, over files in memory and rooms in temporary folders."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from folder_provider import FolderProvider, FolderSandbox

from agentgym.errors import SandboxError, SandboxTimeoutError
from agentgym.records import (
    Audit,
    CheckpointResult,
    CheckResult,
    CheckStatus,
    ExecResult,
    Recipe,
    Snapshot,
    Verdict,
)
from agentgym.task.model import Instance, Task, TaskManifest
from agentgym.task.setup import Prepared
from agentgym.task.state import state_hash
from agentgym.testing.checks import MemoryTree, tree_changes
from agentgym.verify.grade import EpisodeEnd, grade
from agentgym.verify.worker.runner import BROKE

HEAD = 'schema_version = "agentgym.rubric/1"\n'


class Case:
    """A task folder with a rubric and checks, and one way to have it graded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.provider = FolderProvider()
        self.before: dict[str, Any] = {}
        self.after: dict[str, Any] = {"/srv/report.txt": "10.0.0.7\n"}
        self.params: Mapping[str, Any] = {"ip": "10.0.0.7", "count": 3}
        self.gold: dict[str, bytes] = {}
        self.manifest: dict[str, Any] = {}
        self.audit = Audit()
        (folder / "checks").mkdir()

    def rubric(self, *checkpoints: str, head: str = HEAD) -> None:
        tables = "".join(f"[[checkpoint]]\n{fields}\n" for fields in checkpoints)
        (self.folder / "checks" / "rubric.toml").write_text(head + tables)

    def checks(self, module: str) -> None:
        (self.folder / "checks" / "checks.py").write_text(
            "from agentgym.errors import *\n"
            "from agentgym.records import CheckResult, CheckStatus\n" + module
        )

    async def grade(
        self,
        gave_up: str | None = None,
        deadline_s: float | None = 30.0,
        latched: Mapping[str, CheckResult] | None = None,
    ) -> Verdict:
        manifest = TaskManifest.model_validate(
            {
                "schema_version": "agentgym.task/1",
                "id": "test/case-v1",
                "title": "t",
                "difficulty": "easy",
                "env": "terminal",
                **self.manifest,
            },
            strict=False,
        )
        task = Task("test/case-v1", self.folder, manifest, "")
        pristine, after = self.provider.put(self.before), self.provider.put(self.after)
        end = EpisodeEnd(
            after=after,
            changes=tree_changes(MemoryTree(self.before), MemoryTree(self.after)),
            audit=self.audit,
            steps=(),
            answer="7",
            gave_up=gave_up,
        )
        return await grade(
            Instance(task, 0, self.params, ""),
            end,
            Prepared(pristine, self.gold),
            provider=self.provider,  # type: ignore[arg-type]
            recipe=Recipe("r"),
            latched=latched or {},
            deadline_s=deadline_s,
        )


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    made = Case(tmp_path)
    yield made
    assert made.provider.open == []


def only(verdict: Verdict) -> CheckpointResult:
    (result,) = verdict.checkpoints
    return result


# --- from rubric to verdict -----------------------------------------------------------------


async def test_slots_are_filled_and_packs_are_found(case: Case) -> None:
    case.rubric(
        'id = "a"\nuse = "files.text_equals"\nwith = { path = "/srv/report.txt", text = "{{ip}}" }'
    )
    verdict = await case.grade()
    assert (verdict.status, verdict.outcome, verdict.score) == ("scored", True, 1.0)
    tree = MemoryTree(case.after)
    assert verdict.state_hash == state_hash(tree_changes(MemoryTree({}), tree), tree, ())


async def test_a_slot_keeps_its_type(case: Case) -> None:
    case.rubric('id = "a"\nuse = "checks.three"\nwith = { n = ["{{count}}", "x{{count}}"] }')
    case.checks("def three(evidence, n):\n    return n == [3, 'x3']\n")
    assert (await case.grade()).outcome


async def test_a_check_sees_all_channels(case: Case) -> None:
    case.before, case.gold = {"/srv/old": "1"}, {"g": b"gold"}
    case.rubric('id = "a"\nuse = "checks.look"')
    case.checks("""
def look(evidence):
    e = evidence
    assert (e.task, e.seed, e.params["ip"]) == ("test/case-v1", 0, "10.0.0.7")
    assert (e.answer, e.gave_up, e.steps, e.processes) == ("7", None, (), ())
    assert e.before.read("/srv/old") == b"1" and e.after.stat("/srv/old") is None
    assert [c.path for c in e.changes] == ["/srv/old", "/srv/report.txt"]
    return e.gold("g") == b"gold"
""")
    verdict = await case.grade()
    assert only(verdict).message == ""
    assert verdict.outcome


async def test_volatile_paths_are_no_part_of_the_state_hash(case: Case) -> None:
    case.rubric('id = "a"\nuse = "files.exists"\nwith = { path = "/srv" }')
    case.manifest = {"replay": {"volatile_paths": ["/srv/*.pid"]}}
    quiet = (await case.grade()).state_hash
    case.after = {**case.after, "/srv/app.pid": "17"}
    assert (await case.grade()).state_hash == quiet


async def test_what_is_not_applicable_is_not_run(case: Case, tmp_path: Path) -> None:
    case.rubric(
        'id = "b"\nuse = "checks.touch"\nrequires = ["a"]',
        'id = "a"\nuse = "files.exists"\nwith = { path = "/nowhere" }',
    )
    case.checks(f"def touch(evidence):\n    open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    verdict = await case.grade()
    assert [str(result.status) for result in verdict.checkpoints] == ["not_applicable", "fail"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("abstain", "outcome"), [(False, False), (True, True)])
async def test_giving_up_is_right_only_where_the_task_says_so(
    case: Case, abstain: bool, outcome: bool
) -> None:
    case.rubric('id = "a"\nuse = "files.exists"\nwith = { path = "/srv" }')
    case.manifest = {"abstain": abstain}
    assert (await case.grade(gave_up="cannot be done")).outcome is outcome


CONDITION = HEAD + '[[condition]]\nid = "stale"\nuse = "checks.stale"\n'


@pytest.mark.parametrize(
    ("returns", "status", "says"),
    [
        ("True", "fail", ""),
        ("False", "not_applicable", "only if 'stale': not so: a lock is old"),
        ("1 / 0", "error", "condition 'stale' is in error: checks.stale: ZeroDivisionError"),
    ],
)
async def test_conditions_are_checks_of_their_own(
    case: Case, returns: str, status: str, says: str
) -> None:
    asked = 'use = "files.absent"\nwith = { path = "/srv/report.txt" }\nonly_if = ["stale"]'
    titled = CONDITION + 'title = "a lock is old"\n'
    case.rubric(f'id = "a"\n{asked}', f'id = "b"\n{asked}', head=titled)
    case.checks(f"def stale(evidence):\n    evidence.changes\n    return {returns}\n")
    verdict = await case.grade()
    assert [str(result.status) for result in verdict.checkpoints] == [status, status]
    assert all(says in result.message for result in verdict.checkpoints)
    assert verdict.checkpoints[0].channels == ("state",)


async def test_a_condition_that_cannot_be_bound_is_named(case: Case) -> None:
    case.rubric('id = "a"\nuse = "checks.stale"\nonly_if = ["stale"]', head=CONDITION)
    case.checks("def fresh(evidence):\n    return True\n")
    assert "condition 'stale': use = 'checks.stale'" in only(await case.grade()).message


async def test_a_check_may_say_that_a_failure_was_out_of_the_agents_hands(case: Case) -> None:
    case.rubric('id = "a"\nuse = "checks.c"')
    case.checks("def c(e):\n    return CheckResult(CheckStatus.FAIL, 'down', None, False)\n")
    verdict = await case.grade()
    assert (only(verdict).controllable, verdict.uncontrollable) == (False, ("a",))


# --- milestones, channels, versions ---------------------------------------------------------

MILESTONE = 'id = "a"\nuse = "files.exists"\nwith = { path = "/no" }\nwhen = "every_step"'


async def test_what_was_latched_is_not_asked_again(case: Case) -> None:
    case.rubric(MILESTONE)
    latched = {"a": CheckResult(CheckStatus.PASS, "seen", step=4, channels=("state",))}
    result = only(await case.grade(latched=latched))
    assert (str(result.status), result.step, result.channels) == ("pass", 4, ("state",))


async def test_a_milestone_that_nobody_watched_is_an_error(case: Case) -> None:
    case.rubric(MILESTONE)
    verdict = await case.grade()
    assert verdict.status == "error:verifier"
    assert only(verdict).message == "this milestone was not checked after every step"


@pytest.mark.parametrize(
    ("body", "channels"),
    [
        ("e.task, e.seed, e.params", ()),
        ("e.steps", ("trace",)),
        ("e.gave_up or e.answer", ("trace",)),
        ("e.connections", ("audit",)),
        ("e.killed_for_memory == 2 or 1 / 0", ("audit",)),
        ("e.after.stat('/'), e.changes, e.processes", ("audit", "state")),
        ("e.gold('g'), e.before", ("state", "gold")),
        ("e.room(), e.answer", ("trace", "room")),
        ("e.after.read('/none')", ("state",)),
        ("e.gold('none')", ("gold",)),
    ],
)
async def test_the_channels_a_check_looks_at_are_noted(
    case: Case, body: str, channels: tuple[str, ...]
) -> None:
    case.gold, case.audit = {"g": b""}, Audit(killed_for_memory=2)
    case.rubric(
        'id = "quiet"\nuse = "checks.quiet"',
        'id = "a"\nuse = "checks.look"',
        'id = "g"\nkind = "all"\n[[checkpoint.checkpoint]]\nid = "c"\nuse = "checks.quiet"',
    )
    case.checks(f"def quiet(e):\n    return True\ndef look(e):\n    {body}\n    return True\n")
    noted = {result.id: result.channels for result in (await case.grade()).checkpoints}
    assert noted == {"quiet": (), "a": channels, "c": (), "g": ()}


async def test_every_verdict_carries_the_version_of_its_verifier(case: Case) -> None:
    case.rubric('id = "a"\nuse = "checks.c"')
    broken = await case.grade()
    case.checks("def c(evidence):\n    return True\n")
    first, again = await case.grade(), await case.grade()
    case.checks("def c(evidence):\n    return False\n")
    changed = await case.grade()
    assert broken.status == "error:verifier"
    assert first.verifier == again.verifier
    assert len({broken.verifier, first.verifier, changed.verifier}) == 3
    assert all(len(v.verifier) == 12 and int(v.verifier, 16) for v in (broken, first, changed))


# --- how a check can end --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "score", "message"),
    [
        ("return True", "pass", 1.0, ""),
        ("return False", "fail", 0.0, "not so: The title"),
        ("return CheckResult(CheckStatus.FAIL, 'half', 0.5)", "fail", 0.5, "half"),
        ("return CheckResult(CheckStatus.PASS, 'm', 0.5)", "pass", 0.5, "m"),
        ("return CheckResult('pass', 'm')", "pass", 1.0, "m"),
        ("evidence.after.read('/srv/none')", "fail", 0.0, "/srv/none: No such file"),
        ("raise GuestFileError('not text')", "fail", 0.0, "not text"),
        ("raise SandboxLimitError('disk full')", "fail", 0.0, "disk full"),
        ("raise SandboxEndedError('wall time over')", "fail", 0.0, "wall time over"),
        ("raise SandboxDiedError('gone')", "error", 0.0, "SandboxDiedError: gone"),
        ("return {}['x']", "error", 0.0, "checks.c: KeyError: 'x' (checks.py:4)"),
        ("import json; json.loads('{')", "error", 0.0, "(checks.py:4)"),
        ("raise SystemExit(3)", "error", 0.0, "SystemExit: 3"),
        ("raise type('Panic', (BaseException,), {})('oh')", "error", 0.0, "Panic: oh"),
        ("return 1", "error", 0.0, "expected a bool or a CheckResult, got 1"),
        ("return None", "error", 0.0, "got None"),
        ("return CheckResult(CheckStatus.PASS, '', 1.5)", "error", 0.0, "score in 0..1, got 1.5"),
        ("return CheckResult(CheckStatus.PASS, '', float('nan'))", "error", 0.0, "got nan"),
        ("return CheckResult(CheckStatus.FAIL, '', 1.0)", "error", 0.0, "cannot give full credit"),
        ("return CheckResult('passed')", "error", 0.0, "'passed' is not a valid CheckStatus"),
        ("evidence.gold('absent')", "error", 0.0, "no gold file named 'absent'"),
        ("evidence.room(['/usr'])", "error", 0.0, "clean room's commands rely on"),
        ("evidence.room(['/srv/none'])", "fail", 0.0, "/srv/none: is not there"),
        ("raise GuestFileError('\\udcff\\n')", "fail", 0.0, "\\udcff"),
        ("raise GuestFileError('<' + 'x' * 10**6 + '>')", "fail", 0.0, "xx […] xx"),
    ],
)
async def test_every_end_of_a_check_is_classified(
    case: Case, body: str, status: str, score: float, message: str
) -> None:
    case.rubric('id = "a"\ntitle = "The title"\nuse = "checks.c"')
    case.checks(f"def c(evidence):\n    {body}\n")
    verdict = await case.grade()
    result = only(verdict)
    assert (str(result.status), result.score) == (status, score)
    assert message in result.message
    assert len(result.message.encode()) < 1000
    assert verdict.status == ("error:verifier" if status == "error" else "scored")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ('use = "files.exsits"\nwith = { path = "/x" }', "did you mean 'exists'"),
        ('use = "flies.exists"\nwith = { path = "/x" }', "did you mean 'files'"),
        ('use = "files.exists"\nwith = { pth = "/x" }', "path"),
        ('use = "files.exists"\nwith = { path = "{{pi}}" }', "unknown slot {{pi}}"),
        ('use = "checks.mine"', "checks.py: No such file"),
        ('kind = "all"', "needs checkpoints below it"),
    ],
)
async def test_a_rubric_that_cannot_be_used_is_an_error_and_runs_nothing(
    case: Case, fields: str, says: str
) -> None:
    case.rubric('id = "a"\nuse = "files.exists"\nwith = { path = "/srv" }', f'id = "b"\n{fields}')
    verdict = await case.grade()
    assert (verdict.status, verdict.outcome, verdict.score) == ("error:verifier", False, 0.0)
    assert only(verdict).id == "rubric"
    assert "rubric.toml" in only(verdict).message and says in only(verdict).message


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ('use = "files.exsits"\nwith = { path = "/x" }', 'use = "files.exsits"'),
        ('use = "checks.mine"', 'use = "checks.mine"'),
        ('use = "files.exists"\nwith = { pth = "/x" }', "with = { pth"),
        ('use = "files.exists"\nwith = { path = "{{pi}}" }', "with = { path = "),
        ('use = "files.exists"\nwith = { path = "x", kind = "flie" }', "with = { path = "),
        ('use = "files.exists"', '[[checkpoint]]\nid = "b"'),  # without a `with`: its table
    ],
)
async def test_a_check_that_cannot_be_used_names_its_line(
    case: Case, fields: str, line: str
) -> None:
    case.rubric('id = "a"\nuse = "files.exists"\nwith = { path = "/srv" }', f'id = "b"\n{fields}')
    verdict = await case.grade()
    text = (case.folder / "checks/rubric.toml").read_text()
    number = text[: text.rindex(line)].count("\n") + 1
    assert f"rubric.toml:{number}: checkpoint 'b': " in only(verdict).message


async def test_snapshots_that_cannot_be_read_are_the_sandboxs_fault(case: Case) -> None:
    case.rubric('id = "a"\nuse = "files.exists"\nwith = { path = "/srv" }')

    async def broken(snapshot: Snapshot) -> None:
        raise SandboxError("the layer is gone")

    case.provider.open_tree = broken  # type: ignore[assignment,method-assign]
    with pytest.raises(SandboxError, match="layer is gone"):
        await case.grade()


# --- rooms, time, threads -------------------------------------------------------------------


async def test_no_two_checks_share_a_room(case: Case) -> None:
    case.rubric(
        'id = "a"\nuse = "checks.write"',
        'id = "b"\nuse = "commands.stdout_equals"\n'
        'with = { argv = ["ls"], artifacts = ["/srv/report.txt"], text = "" }',
        'id = "c"\nuse = "checks.explode"',
    )
    case.checks("""
def write(evidence):
    evidence.room(["/srv/report.txt"]).write("/root/note", b"hi")
    return True

def explode(evidence):
    evidence.room()
    raise ValueError
""")
    verdict = await case.grade()
    assert [str(result.status) for result in verdict.checkpoints] == ["pass", "pass", "error"]
    # The one that raises is tried once more, in the untouched world.
    assert len(case.provider.started) == 4


ROOMS = """
def count(evidence):
    if evidence.params["skip"]:
        return False
    evidence.room()
    return True
"""


async def test_rooms_known_from_the_last_grading_start_ahead_and_none_is_left(case: Case) -> None:
    """The fixture sees to it that none is left, used or not."""
    held = []
    start = case.provider.start

    async def counting(recipe: Recipe, snapshot: Snapshot | None = None) -> FolderSandbox:
        sandbox = await start(recipe, snapshot)
        held.append(len(case.provider.open))
        return sandbox

    case.provider.start = counting  # type: ignore[method-assign]
    case.params = {"skip": False}
    case.rubric(*(f'id = "{name}"\nuse = "checks.count"' for name in "abcdef"))
    case.checks(ROOMS)
    for _ in range(2):
        verdict = await case.grade()
        assert verdict.outcome, verdict
    assert len(case.provider.started) == 12
    assert max(held) <= 4, "two ahead, one in use, one closing"
    case.params = {"skip": True}
    assert (await case.grade()).score == 0.0
    started = len(case.provider.started)
    assert started <= 14, "no more than two are started for nothing"
    await case.grade()
    assert len(case.provider.started) == started, "the last grading opened none"


async def test_a_room_that_cannot_start_ahead_is_an_error_where_it_is_asked_for(case: Case) -> None:
    case.params = {"skip": False}
    case.rubric('id = "a"\nuse = "checks.count"')
    case.checks(ROOMS)
    assert (await case.grade()).outcome

    async def broken(recipe: Recipe, snapshot: Snapshot | None = None) -> None:
        raise SandboxError("no room left")

    case.provider.start = broken  # type: ignore[assignment,method-assign]
    verdict = await case.grade()
    assert verdict.status == "error:verifier" and "no room left" in only(verdict).message
    case.params = {"skip": True}
    assert (await case.grade()).status == "scored"


# --- what the agent left makes a check break ------------------------------------------------

BREAKS = {
    "regex": "import re; re.match(r'(a|a)*$', evidence.after.read('/srv/report.txt').decode())",
    "sleep": "import time; time.sleep(60 if evidence.after.stat('/srv/report.txt') else 0)",
    "memory": "bytearray(2**30) if evidence.after.stat('/srv/report.txt') else 0",
    "crash": "import os; os.abort() if evidence.after.stat('/srv/report.txt') else 0",
    "exit": "import os; os._exit(3) if evidence.after.stat('/srv/report.txt') else 0",
    "raise": "evidence.after.read('/srv/report.txt').decode()[90]",
    "depth": "import json; json.loads(evidence.after.read('/srv/report.txt'))",
}
LEFT = {"regex": "a" * 40 + "b", "depth": "[" * 200_000}


@pytest.mark.parametrize("how", BREAKS)
async def test_a_check_that_breaks_on_what_the_agent_left_has_failed(case: Case, how: str) -> None:
    case.after = {"/srv/report.txt": LEFT.get(how, "x")}
    exists = 'use = "files.exists"\nwith = { path = "/srv" }'
    case.rubric(f'id = "a"\n{exists}', 'id = "b"\nuse = "checks.c"', f'id = "c"\n{exists}')
    case.checks(f"def c(evidence):\n    {BREAKS[how]}\n    return True\n")
    overruns = how in ("regex", "sleep")
    verdict = await case.grade(deadline_s=0.5 if overruns else 30.0)
    assert verdict.status == "scored" and not verdict.outcome
    first, broken, last = verdict.checkpoints
    assert str(first.status) == "pass"
    assert str(broken.status) == "fail" and broken.message.startswith(BROKE)
    # Where the time was used up, what comes later has failed as well: it is the same doing.
    assert str(last.status) == ("fail" if overruns else "pass")
    assert bool(verdict.state_hash) is not overruns


async def test_commands_of_the_untouched_world_have_time_of_their_own(case: Case) -> None:
    """A program of the agent's may have used up the time of all commands."""
    case.rubric('id = "a"\nuse = "checks.c"')
    case.checks("""
def c(evidence):
    import time
    if evidence.after.stat("/srv/report.txt"):
        time.sleep(0.95)
    if evidence.room().run(["true"]).timed_out:
        raise VerifierError("no time is left")
    return True
""")
    verdict = await case.grade(deadline_s=1.0)
    assert (verdict.status, verdict.score) == ("scored", 0.0)


async def test_the_time_of_a_grading_is_what_the_task_says(case: Case) -> None:
    case.rubric('id = "a"\nuse = "checks.c"')
    case.checks("""
def c(evidence):
    import time
    if evidence.after.stat("/srv/report.txt"):
        time.sleep(1.2)
    return not evidence.room().run(["true"]).timed_out
""")
    case.after = {"/srv/report.txt": "x"}
    case.manifest = {"grading": {"timeout_s": 1.0}}
    assert not (await case.grade(deadline_s=None)).outcome
    case.manifest = {"grading": {"timeout_s": 30.0}}
    assert (await case.grade(deadline_s=None)).outcome


async def test_a_check_that_never_ends_is_an_error_and_the_others_count(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentgym.verify.grade.UNTOUCHED_S", 0.2)
    case.rubric(
        'id = "a"\nuse = "files.exists"\nwith = { path = "/srv" }',
        'id = "b"\nuse = "checks.stuck"',
        'id = "c"\nuse = "files.exists"\nwith = { path = "/srv" }',
    )
    case.checks("def stuck(evidence):\n    import time\n    time.sleep(60)\n")
    verdict = await case.grade(deadline_s=0.5)
    assert verdict.status == "error:verifier"
    assert [str(result.status) for result in verdict.checkpoints] == ["pass", "error", "error"]
    assert verdict.checkpoints[1].message.startswith("no result within 0.")
    assert verdict.checkpoints[2].message == "no result within the 0.5 s for grading"
    assert verdict.state_hash == ""


@pytest.mark.parametrize("body", ["nonsense", "import nonsense", "evidence.gold('none')"])
async def test_what_no_agent_can_bring_about_is_an_error(case: Case, body: str) -> None:
    """Though the check is sound where nothing was done."""
    case.rubric('id = "a"\nuse = "checks.c"')
    case.checks(
        "def c(evidence):\n    if evidence.after.stat('/srv/report.txt') is None:\n"
        f"        return False\n    {body}\n    return True\n"
    )
    assert (await case.grade()).status == "error:verifier"


async def test_the_untouched_world_has_no_steps_no_answer_and_no_changes(case: Case) -> None:
    case.before = {"/srv/old": "1"}
    case.rubric('id = "a"\nuse = "checks.c"')
    case.checks("""
def c(evidence):
    e = evidence
    seen = (e.steps, e.answer, e.gave_up, e.changes, e.processes, e.after.list("/srv"))
    raise ValueError if seen == ((), None, None, (), (), ["old"]) or e.answer == "7" else KeyError
""")
    assert (await case.grade()).status == "error:verifier"
    case.checks("def c(evidence):\n    return evidence.answer is None or 1 / 0\n")
    assert (await case.grade()).status == "scored"


async def test_a_check_has_no_right_to_write_on_the_host(case: Case, tmp_path: Path) -> None:
    case.rubric('id = "a"\nuse = "checks.c"')
    case.checks(
        "import os\ndef c(evidence):\n    try:\n"
        f"        os.mkdir({str(tmp_path / 'made')!r})\n"
        "    except PermissionError:\n        return True\n    return os.geteuid() == 0\n"
    )
    assert (await case.grade()).outcome
    assert os.geteuid() != 0 or not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("artifacts", "status"), [('["/srv/report.txt"]', "fail"), ("[]", "error")]
)
async def test_a_room_that_answers_no_more_was_starved_by_what_is_in_it(
    case: Case, monkeypatch: pytest.MonkeyPatch, artifacts: str, status: str
) -> None:
    execute = FolderSandbox.exec

    async def starved(sandbox: FolderSandbox, argv: Sequence[str], **options: Any) -> ExecResult:
        if "cat" in argv:
            raise SandboxTimeoutError("the supervisor did not answer")
        return await execute(sandbox, argv, **options)

    monkeypatch.setattr(FolderSandbox, "exec", starved)
    case.rubric('id = "a"\nuse = "checks.c"')
    case.checks(f"def c(evidence):\n    evidence.room({artifacts}).run(['cat'])\n    return True\n")
    assert str(only(await case.grade()).status) == status


async def test_a_program_that_hangs_is_a_failure_and_not_an_error(case: Case) -> None:
    hang = 'use = "commands.exit_code"\nwith = { argv = ["sleep", "30"] }'
    case.rubric(*(f'id = "{name}"\n{hang}' for name in "abc"))
    verdict = await case.grade(deadline_s=4.0)  # A room may take a second to start.
    assert (verdict.status, verdict.score) == ("scored", 0.0)
    assert all("did not end in time" in result.message for result in verdict.checkpoints)


async def test_many_gradings_at_once_do_not_wait_for_each_other(case: Case) -> None:
    """More than the executor has threads, all starting rooms, which need that executor."""
    case.rubric('id = "a"\nuse = "commands.exit_code"\nwith = { argv = ["true"] }')
    verdicts = await asyncio.gather(*(case.grade(deadline_s=20.0) for _ in range(48)))
    assert all(verdict.outcome for verdict in verdicts)


async def test_cancelling_a_grading_closes_its_rooms(case: Case) -> None:
    case.rubric('id = "a"\nuse = "commands.exit_code"\nwith = { argv = ["sleep", "30"] }')
    grading = asyncio.ensure_future(case.grade())
    while not case.provider.open:
        await asyncio.sleep(0)
    grading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await grading
