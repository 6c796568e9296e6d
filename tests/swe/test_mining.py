"""The miner: history, splitting, texts without leaks, trials in clean rooms, and its journal."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from built_images import keep_builds
from chat_server import ChatServer, says
from swe_repository import FIX, TESTS, commit, git, make_repository
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.errors import AgentGymError, TaskError
from agentgym.record.result_files import ResultFiles
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.swe.clone import Clone, open_clone
from agentgym.swe.instance_files import read_instances
from agentgym.swe.mining.history import merged_changes
from agentgym.swe.mining.issue_text import clean_issue
from agentgym.swe.mining.journal import Decision, Journal
from agentgym.swe.mining.mine import Mining, MiningPlan
from agentgym.swe.mining.profile import build_failure, end_of
from agentgym.swe.mining.rewriting import rewriter
from agentgym.swe.mining.split import DroppedError, split_change
from agentgym.swe.task_folder import read_task

DAY = 86_400
NEWEST = 1_700_000_000 + 9 * DAY


def history(folder: Path) -> dict[str, str]:
    """Make a history with changes of every kind; return their commits by name."""
    make_repository(folder)
    made = {}

    def add(name: str, files: dict[str, str], message: str) -> None:
        made[name] = commit(folder, files, message, 1_700_000_000 + len(made) * DAY)

    add("fix", {**FIX, **TESTS}, "fix: Totals are one too large (#7)\n\nCloses #3.")
    add("docs", {"README.md": "tally\n"}, "Add a readme")
    add("code", {"tally.py": FIX["tally.py"] + "\n\nx = 1\n"}, "Add x without tests")
    add("tests", {"tests/test_x.py": "def test_x():\n    pass\n"}, "Add a test alone")
    add("no fix", {"tally.py": FIX["tally.py"], "tests/test_x.py": ""}, "Remove the number again")
    breaks = {
        "tally.py": FIX["tally.py"] + "\n\ndef middle(values):\n    return sorted(values)[0]\n",
        "tests/test_tally.py": TESTS["tests/test_tally.py"].replace("== 2", "== 5")
        + "\n\ndef test_middle():\n    from tally import middle\n    assert middle([2, 1]) == 1\n",
    }
    add("breaks", breaks, "Add the middle of some values to the tally")
    flaky = (
        "import os\n\n\ndef test_new():\n"
        "    import tally\n    assert tally.middle([1]) == 1\n    assert tally.LATER\n"
    )
    many = "".join(
        f"\n\ndef test_luck_{n}():\n    assert os.urandom(1)[0] % 2\n" for n in range(24)
    )
    later = breaks["tally.py"] + "\n\nLATER = True\n"
    add("flaky", {"tally.py": later, "tests/test_new.py": flaky + many}, "Numbers can be later")
    git(folder, "checkout", "-q", "-b", "side")
    wider = later + "\n\ndef widest(values):\n    return max(values) - min(values)\n"
    commit(
        folder,
        {
            "tally.py": wider,
            "tests/test_wide.py": "from tally import widest\n\n\ndef test_widest():\n"
            "    assert widest([1, 4]) == 3\n",
        },
        "The width of values cannot be asked for",
        NEWEST,
    )
    git(folder, "checkout", "-q", "main")
    message = "Merge pull request #9 from ada/side\n\nThe width of values cannot be asked for"
    git(folder, "merge", "-q", "--no-ff", "side", "-m", message, when=NEWEST)
    made["merge"] = git(folder, "rev-parse", "HEAD").strip()
    return made


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> tuple[Clone, dict[str, str]]:
    folder = tmp_path_factory.mktemp("mined") / "clone"
    commits = history(folder)
    return open_clone(folder), commits


def test_the_history_tells_titles_numbers_and_quarters(
    mined: tuple[Clone, dict[str, str]],
) -> None:
    clone, commits = mined
    changes = {change.commit: change for change in merged_changes(clone)}
    assert set(changes) == set(commits.values())
    fix, merge = changes[commits["fix"]], changes[commits["merge"]]
    assert (fix.subject, fix.number, fix.quarter) == ("fix: Totals are one too large", 7, "2023q4")
    assert (merge.subject, merge.number) == ("The width of values cannot be asked for", 9)
    assert merge.base == commits["flaky"]
    assert end_of("2023q4") == datetime(2024, 1, 1, tzinfo=UTC)
    assert end_of("2024q1") == datetime(2024, 4, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "no such folder"),
        ([".", "--out", "made"], "not a git repository"),
        (["clone", "--from", "nothing"], "'nothing'; expected a commit, a branch or a tag"),
        (["clone", "--from", "a" * 40], "fetch it: git -C"),
        (["clone", "--name", "x y"], "expected owner/name, got 'x y'; give the repository's name"),
        (["clone", "--out", "a file"], "a file: no folder can be made here"),
        (["clone", "--out", "a file/below"], "no folder can be made here"),
        (["clone", "--specs", "a file"], "a file"),
    ],
)
def test_what_cannot_be_mined_is_told(mined, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    Path("clone").symlink_to(mined[0].path)
    Path("a file").write_text("text")
    options = [] if "--out" in words else ["--out", "made"]
    with pytest.raises(AgentGymError, match=told):
        CliRunner().invoke(app, ["task", "mine", *words, *options], catch_exceptions=False)


def test_changes_without_code_or_tests_are_dropped(mined: tuple[Clone, dict[str, str]]) -> None:
    clone, commits = mined
    changes = {change.commit: change for change in merged_changes(clone)}

    def reason(name: str) -> str:
        try:
            split_change(clone, changes[commits[name]])
        except DroppedError as dropped:
            return dropped.reason
        return ""

    expected = {"docs": "no tests changed", "code": "no tests changed", "tests": "no code changed"}
    assert {name: reason(name) for name in expected} == expected
    split = split_change(clone, changes[commits["fix"]])
    assert split.code.paths == ("tally.py",) and split.tests.paths == ("tests/test_tally.py",)


CODE = """--- a/pkg/core.py
+++ b/pkg/core.py
@@ -1,2 +1,5 @@
 def load(path):
-    return open(path)
+    return open_checked(path, follow_links=False)
+def open_checked(path):
+    raise ValueError("the path is a link")
+def sanction(path):
+def widest(values):
"""
TESTING = """+++ b/tests/test_core.py
+    with pytest.raises(ValueError, match="the path is a link"):
+        load(link)
+    pkg.widest([1])
"""


@pytest.mark.parametrize(
    "leak",
    [
        "Call open_checked instead.",
        "Use `follow_links=False` when opening.",
        "The bug is in pkg/core.py.",
        "Look at core.py, it opens what it gets.",
        "Somebody has to call `sanction` first.",
        "Somebody has to call sanction(path) first.",
        "return open_checked(path, follow_links=False)",
        "```diff\n-return open(path)\n+return open_checked(path)\n```",
        "+    return open_checked(path)",
    ],
)
def test_texts_that_give_the_fix_away_are_removed(leak: str) -> None:
    source = f"Loading follows links (#12)\n\nload('link') reads any file.\n\n{leak}\n\nFixes #3"
    issue = clean_issue(source, CODE, TESTING, frozenset({"load", "open", "path"}))
    assert "open_checked" not in issue.text and "follow_links" not in issue.text
    assert "core.py" not in issue.text and "sanction" not in issue.text and issue.removed
    assert issue.text.startswith("Loading follows links\n\nload('link') reads any file.")
    assert "#12" not in issue.text and "#3" not in issue.text


def test_names_and_texts_that_tests_need_are_stated() -> None:
    issue = clean_issue("Loading follows links, width is absent", CODE, TESTING, frozenset())
    assert issue.interface == ("widest",)
    assert "`widest`" in issue.text and "`the path is a link`" in issue.text


def test_honest_words_stay_and_chores_go() -> None:
    source = (
        "feat(core): Support links\n\n* allow links in folders\n* bump version\n"
        "* the hardcore.py-like sanction of links is gone\n"
        "Co-authored-by: Eve <eve@example.com>\n\nThe loader stops at the first link, see #4."
    )
    text = clean_issue(source, CODE, "", frozenset()).text
    assert text.startswith("Support links") and "The loader stops at the first link" in text
    assert "Eve" not in text and "#4" not in text and "hardcore.py-like sanction" in text
    assert clean_issue("wip", CODE, "", frozenset()).text == ""


@pytest.mark.parametrize("opening", ["Fix #218: ", "#218 - ", "closes gh-7 and #8: ", "Issue #3. "])
def test_a_reference_that_opens_a_title_goes(opening: str) -> None:
    issue = clean_issue(f"{opening}Loading follows every link", CODE, "", frozenset())
    assert issue.text == "Loading follows every link"


def test_documents_tell_no_interface() -> None:
    readme = (
        "diff --git a/README.md b/README.md\n--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n"
        " tally\n+self.assertSame(width('10 | 20 %'))\n"
    )
    tests = TESTING + "+    self.assertSame(width('10 | 20 %'))\n"
    issue = clean_issue("Loading follows every link", CODE + readme, tests, frozenset())
    assert issue.interface == ("widest",) and "10 | 20 %" not in issue.text


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (
            "File x\n  ModuleNotFoundError: No module named 'editables'\n  [end of output]\n"
            "error: metadata-generation-failed\nnote: This is an issue.\nhint: See above.\n",
            "ModuleNotFoundError: No module named 'editables'",
        ),
        (
            "ERROR: No matching distribution found for pytest>=99\nhint: See above.",
            "ERROR: No matching distribution found for pytest>=99",
        ),
        ("E: Unable to locate package nothing\n", "E: Unable to locate package nothing"),
        ("hint: See above.", "the build failed"),
    ],
)
def test_a_failed_build_is_told_by_its_error(output: str, reason: str) -> None:
    assert build_failure(output) == reason


def test_a_journal_survives_a_cut_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(ResultFiles(tmp_path))
    journal.add(Decision("a" * 40, "A", "2024q1", True))
    journal.add(Decision("b" * 40, "B", "2024q1", False, "no test is fixed"))
    path.write_bytes(path.read_bytes()[:-20])
    again = Journal(ResultFiles(tmp_path))
    assert set(again.decisions) == {"a" * 40}
    again.add(Decision("c" * 40, "C", "2024q1", False, "a test breaks"))
    assert Journal(ResultFiles(tmp_path)).reasons() == {"a test breaks": 1}
    odd = Decision("d" * 40, "D \u2028 \x85 \udcff", "2024q1", False, "a test breaks")
    again.add(odd)
    assert Journal(ResultFiles(tmp_path)).decisions["d" * 40] == odd
    path.write_text('{"commit": 1}\n')
    with pytest.raises(TaskError, match=":1: no line of a journal"):
        Journal(ResultFiles(tmp_path))


async def test_a_model_writes_the_issue_and_its_leaks_are_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reply = "Loading follows links\n\nAny file is read. Call open_checked instead."
    with ChatServer([says(content=reply)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        said = await rewriter("m")("Use open_checked", TESTING)
        (asked,) = server.requests
    assert said == reply and TESTING in asked["messages"][1]["content"]
    assert clean_issue(said, CODE, "", frozenset()).text == (
        "Loading follows links\n\nAny file is read."
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_history_is_mined_and_resumed(
    mined: tuple[Clone, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_builds(monkeypatch)
    clone, commits = mined
    provider = BubblewrapProvider()
    plan = MiningPlan(clone=clone, repo="ada/tally", out=tmp_path / "out", jobs=2, tests_s=60)
    told: list[str] = []
    try:
        report = await Mining(plan, provider, told.append).run()
        names = {commit: name for name, commit in commits.items()}
        decided = {
            names[one.commit]: "" if one.kept else one.reason
            for one in Journal(ResultFiles(plan.out)).decisions.values()
        }
        assert decided == {
            "fix": "",
            "merge": "",
            "docs": "no tests changed",
            "code": "no tests changed",
            "tests": "no code changed",
            "no fix": "no test is fixed",
            "breaks": "a test breaks",
            "flaky": "a test is flaky",
        }
        assert (report.kept, report.tried) == (2, 5)
        task = read_task(plan.out / "tasks/mined-tally/ada__tally-7")
        assert task.instance.fail_to_pass == ("tests/test_tally.py::test_total",)
        assert task.instance.pass_to_pass == ("tests/test_tally.py::test_mean",)
        assert task.instance.problem_statement == "Totals are one too large"
        lines = read_instances(plan.out / "instances.jsonl")
        assert {line.id for line in lines} == {"ada__tally-7", "ada__tally-9"}
        assert json.loads((plan.out / "report.json").read_text())["kept"] == 2
        # A second call tries nothing that is decided; a third one only what was forgotten.
        assert (await Mining(plan, provider, told.append).run()).candidates_per_min is None
        journal = plan.out / "journal.jsonl"
        rows = [row for row in journal.read_text().splitlines(True) if commits["fix"] not in row]
        journal.write_text("".join(rows))
        assert (await Mining(plan, provider, told.append).run()).kept == 2
    finally:
        await provider.close()


def test_messages_of_blanks_and_letters_are_read_in_no_time() -> None:
    began_s = time.monotonic()
    for line in (" " * 20_000 + "x", "a" * 20_000, "fix #1" + " " * 19_000 + "x", "a/" * 9_999):
        clean_issue(f"Totals{line}\n\nThe totals{line}", "", "", frozenset())
    assert time.monotonic() - began_s < 5


@pytest.mark.parametrize("seconds", ["99999999999999", "9223372036854775807"])
def test_a_commit_of_any_time_is_read(tmp_path: Path, seconds: str) -> None:
    folder = tmp_path / "clone"
    first = make_repository(folder)
    who = f"Ada <ada@example.com> {seconds} +0000"
    tree = git(folder, "rev-parse", "HEAD^{tree}").strip()
    made = f"tree {tree}\nparent {first}\nauthor {who}\ncommitter {who}\n\nLate{' ' * 9_999}x\n"
    (tmp_path / "late").write_text(made)
    late = git(folder, "hash-object", "-t", "commit", "-w", "--literally", str(tmp_path / "late"))
    clone = open_clone(folder)
    (change,) = merged_changes(clone, late.strip())
    assert change.merged_at == clone.committed_at(late.strip())
    assert end_of(change.quarter).year == 9999
