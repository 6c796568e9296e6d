"""Diagnosis: what steps touch in a repository, and the measures against the gold patch."""

import asyncio
import math
import time
from dataclasses import replace

import pytest
from synthetic_repository import AFTER, BEFORE, ROOT, bash, call, episode

from agentgym.records import CheckStatus, Effect, Repair
from agentgym.swe.diagnosis.commands import read_commands
from agentgym.swe.diagnosis.contacts import find_contacts
from agentgym.swe.diagnosis.functions import changed_functions, functions_of
from agentgym.swe.diagnosis.grader import DiagnosisGrader
from agentgym.swe.diagnosis.measures import gold_places
from agentgym.swe.diagnosis.working_files import WorkingFiles
from agentgym.swe.repair import repair_of
from agentgym.task.load import find_task
from agentgym.verify.steps.grading import grade_steps

REPAIR = Repair(ROOT, BEFORE, AFTER)
PUT = "cache/store.py::Store.put"
GET = "cache/store.py::Store.get"
DUMP = "cache/dump.py::dump"
DIFF = """\
--- a/cache/dump.py
+++ b/cache/dump.py
@@ -1,2 +1,2 @@
 def dump(store):
-    return str(store.rows)
+    return repr(store.rows)
"""


def contact(*steps):
    """Return the contact of the last step."""
    return [*find_contacts(steps, WorkingFiles(REPAIR))][-1]


def graded(*steps, repair=REPAIR):
    grading = asyncio.run(grade_steps("diagnosis", DiagnosisGrader(), episode(steps, repair)))
    assert grading.error == ""
    return grading.grades


def test_the_gold_places_are_source_files_and_functions_of_the_base():
    gold = gold_places(REPAIR)
    assert gold.files == {"cache/store.py", "cache/dump.py"}
    assert gold.functions == {PUT, DUMP}
    assert gold.added == {"cache/clock.py"}


def test_a_gold_patch_without_source_has_other_files_as_places():
    gold = gold_places(Repair(ROOT, BEFORE, {"README.md": "New."}))
    assert (gold.files, gold.functions) == ({"README.md"}, set())


@pytest.mark.parametrize(
    ("command", "output", "searched"),
    [
        ("grep -rn put cache", "cache/store.py:8:    def put\n", {"cache/store.py", PUT}),
        (f"rg -n put {ROOT}", f"{ROOT}/cache/store.py:8:  def\n", {"cache/store.py", PUT}),
        ("grep -n put cache/store.py", "8:    def put(self)\n", {"cache/store.py", PUT}),
        ("grep -rl put .", "./cache/store.py\n./cache/gone.py\n", {"cache/store.py"}),
        ("grep -c put cache/store.py", "2\n", {"cache/store.py"}),
        ("cd cache && grep -n put *.py", "store.py:5:x\n", {"cache/store.py", GET}),
        ("git grep put", "cache/store.py:  put\n", {"cache/store.py"}),
        ("find . -name '*.py'", "./cache/dump.py\n", {"cache/dump.py"}),
        ("grep -rn put cache", "[exit code 1]", set()),
        ("grep -rn put /etc", "/etc/passwd:1:root\n", set()),
        ("echo cache/store.py:8:", "cache/store.py:8:\n", set()),
    ],
)
def test_a_search_touches_what_it_finds(command, output, searched):
    cwd = f"{ROOT}/cache" if command.startswith("cd") else ROOT
    assert contact(bash(command, output, cwd=cwd)).searched == searched


def test_the_search_tool_is_a_search():
    found = call("search", pattern="put", output="./cache/store.py:8:    def put(self)\n")
    assert contact(found).searched == {"cache/store.py", PUT}
    assert contact(call("search", pattern="(", output="error: bad", bad=True)).searched == set()


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("cat cache/dump.py", {"cache/dump.py", DUMP}),
        ("sed -n '5,6p' cache/store.py", {"cache/store.py", GET}),
        ("head -3 cache/store.py", {"cache/store.py", "cache/store.py::Store.__init__"}),
        ("tail -n 2 cache/store.py", {"cache/store.py", PUT}),
        ("cat cache/store.py | head -5; cat nowhere.py", None),
        ("python3 -c \"print(open('cache/dump.py').read())\"", {"cache/dump.py", DUMP}),
        ("cat '", set()),
        ("# it's a comment\ncat cache/dump.py 2>/dev/null", {"cache/dump.py", DUMP}),
        ("sed -i s/a/b/ cache/dump.py", set()),
    ],
)
def test_a_read_touches_the_lines_that_are_shown(command, read):
    everything = {"cache/store.py", "cache/store.py::Store.__init__", GET, PUT}
    assert contact(bash(command)).read == (everything if read is None else read)


def test_lines_of_read_file():
    assert contact(call("read_file", path=f"{ROOT}/cache/store.py", offset=5, limit=2)).read == {
        "cache/store.py",
        GET,
    }
    failed = call("read_file", path="cache/store.py", bad=True)
    assert contact(failed).read == set()


@pytest.mark.parametrize(
    ("steps", "edited"),
    [
        ([call("edit_file", path="cache/store.py", old="= value", new="= 1")], {PUT}),
        ([call("write_file", path="cache/dump.py", content="def dump(s):\n    pass\n")], {DUMP}),
        ([bash(f"git apply <<'P'\n{DIFF}P")], {DUMP}),
        ([bash("cat > cache/dump.py <<'E'\ndef dump(store):\n    return 1\nE")], {DUMP}),
        ([bash("cat >> cache/dump.py <<'E'\n\ndef load():\n    pass\nE")], set()),
        ([bash("cat > cache/dump.py <<E\n$X\nE")], set()),
        ([bash("sed -i 's/a/b/' cache/dump.py")], set()),
        ([bash("python3 - <<'E'\nPath('cache/dump.py').write_text('')\nE")], set()),
        ([bash("rm cache/dump.py")], {DUMP}),
    ],
)
def test_an_edit_touches_its_file_and_the_functions_that_are_known(steps, edited):
    (edit,) = contact(*steps).edits
    assert edit.path == ("cache/store.py" if edited == {PUT} else "cache/dump.py")
    assert edit.functions == edited
    assert not edit.reverted


def test_what_changes_nothing_is_no_edit():
    for step in (
        call("edit_file", path="cache/store.py", old="= value", new="= 1", bad=True),
        call("write_file", path="/etc/passwd", content="x"),
        call("write_file", path="cache/dump.py", content=BEFORE["cache/dump.py"]),
        bash("git apply <<'P'\n--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-a\n+b\nP"),
        bash("git checkout ."),
        bash("echo x > /tmp/out; git stash"),
    ):
        assert contact(step).edits == ()


@pytest.mark.parametrize(
    "undo",
    [
        call("edit_file", path="cache/store.py", old="= 1", new="= value"),
        bash("git checkout cache/store.py"),
        bash("git checkout -- ."),
        bash("git restore cache"),
        bash("git reset --hard"),
        bash("git stash"),
    ],
)
def test_an_edit_that_is_taken_back_is_reverted(undo):
    first = call("edit_file", path="cache/store.py", old="= value", new="= 1")
    (edit,) = contact(first, undo).edits
    assert (edit.path, edit.reverted) == ("cache/store.py", True)
    grades = graded(first, undo, call("submit"))
    assert [grade.label for grade in grades] == ["edit", "revert", "summary"]
    assert grades[-1].measures["edits_reverted"] == 1


@pytest.mark.parametrize(
    ("command", "tests"),
    [
        ("pytest -q", True),
        ("cd x; FOO=1 python -m pytest tests 2>&1 | tail", True),
        ("python3 tests/run.py", True),
        ("npm test", True),
        ("echo pytest", False),
        ("python -m pip install pytest", False),
        ("cat tests/test_store.py", False),
        ("make docs", False),
    ],
)
def test_a_step_that_runs_tests(command, tests):
    assert contact(bash(command)).tests is tests


def test_measures_of_an_episode():
    grades = graded(
        bash("grep -rn put .", "./cache/store.py:8:x\n./cache/other.py:1:x\n./README.md:1:x\n"),
        bash("cat cache/other.py tests/test_store.py"),
        call("read_file", path="cache/store.py", offset=7),
        call("edit_file", path="cache/store.py", old="= value", new="= 1"),
        bash("pytest"),
        call("write_file", path="cache/clock.py", content="now = 1\n"),
        call("submit"),
    )
    assert [grade.label for grade in grades] == [
        *("search", "read", "read", "edit", "test", "edit", "summary")
    ]
    passed = [grade.status is CheckStatus.PASS for grade in grades]
    assert passed == [False, False, True, True, False, True, False]
    assert [grade.value for grade in grades] == [0, 0, 0.5, 0, 0, 0, 0]
    found = grades[-1].measures
    wanted = {
        "search_file_precision": 1 / 2,
        "search_file_recall": 1 / 2,
        "search_function_precision": 1 / 2,
        "search_function_recall": 1 / 2,
        "read_file_precision": 1 / 2,
        "read_file_recall": 1 / 2,
        "read_function_precision": 1 / 2,
        "read_function_recall": 1 / 2,
        "edit_file_precision": 1.0,
        "edit_file_recall": 1 / 2,
        "edit_function_precision": 1.0,
        "edit_function_recall": 1 / 2,
        "localised_file": 0.0,
        "localised_function": 0.0,
        "steps_to_file": 3.0,
        "edits": 2.0,
        "edits_reverted": 0.0,
        "test_runs": 1.0,
        "tested_last_edit": 0.0,
    }
    assert dict(found) == wanted
    assert "first right file at step 3" in grades[-1].message


def test_an_agent_that_does_nothing_has_no_precision_and_finds_nothing():
    (summary,) = graded(call("submit"))
    found = summary.measures
    assert found["read_file_precision"] is None and found["read_file_recall"] == 0.0
    assert found["steps_to_file"] is None and found["tested_last_edit"] is None
    assert (summary.status, summary.value) == (CheckStatus.NOT_APPLICABLE, 0)


def test_the_values_of_an_agent_that_finds_all_add_up_to_one():
    grades = graded(bash("cat cache/store.py"), bash("cat cache/*.py cache/dump.py"))
    assert math.fsum(grade.value for grade in grades) == 1
    assert grades[-1].status is CheckStatus.PASS
    assert grades[-1].measures["localised_function"] == 1


def test_an_unknown_gold_patch_is_an_error_and_no_repository_is_no_opinion():
    unknown = replace(episode([call("submit")], None), repair_problem="no such file")
    grading = asyncio.run(grade_steps("diagnosis", DiagnosisGrader(), unknown))
    assert "the gold patch is not known: no such file" in grading.error
    assert graded(call("submit"), repair=None) == ()


@pytest.mark.parametrize(
    "text",
    ["", "'", "<<E", "cat <<E\nx", "a" * 50_000, "((((", "> ", ">> x <<< y", "\uf8ff7 x", "#"],
)
def test_any_text_can_be_read_as_commands(text):
    for command in read_commands(text):
        assert command.words or command.writes


def test_functions_of_text_that_is_no_python():
    assert functions_of("def f(:\n") == functions_of("\0") == functions_of("(" * 5000) == ()
    assert changed_functions("x.js", "function f() {}", "") == set()
    assert changed_functions("x.py", "def f():\n    1\n", "") == {"f"}


def test_functions_have_their_decorators_and_what_is_nested():
    text = "@a\ndef f():\n    def g():\n        pass\nif x:\n    class C:\n        def m(self): 1\n"
    found = {(each.name, each.first, each.last) for each in functions_of(text)}
    assert found == {("f", 1, 4), ("C.m", 7, 7)}


def test_the_solution_of_a_bundled_task_is_its_repair():
    repair = repair_of(find_task("swe/shelf-tags-v1"))
    assert repair is not None and repair.root == "/srv/shelf"
    gold = gold_places(repair)
    assert "shelf/cache.py::Shelf.drop_tag" in gold.functions
    assert "shelf/cache.py::Shelf.get" not in gold.functions
    assert repair_of(find_task("terminal/stale-lock-v1")) is None


def test_an_illegal_call_touches_nothing():
    steps = [call("read_file"), call("bash", command=7), call("nothing"), call("edit_file", path=3)]
    for step in steps:
        found = contact(step)
        assert (found.read, found.edits, found.tests) == (set(), (), False)
    assert steps[0].observation.effect is Effect.CHANGED


def test_a_file_that_repeats_two_lines_is_not_compared_for_minutes():
    was, now = ("def f():\n" + f"    x\n    {name}\n" * 990 for name in "ab")
    many = "".join(f"x{n}\n" + "def g(): 1\n" * 14 for n in range(2_000))
    began_s = time.monotonic()
    assert changed_functions("a.py", was, now) == {"f"}
    assert changed_functions("a.py", "".join(f"x{n}\n" for n in range(2_000)), many) == set()
    assert time.monotonic() - began_s < 30


def test_a_mark_in_a_command_is_no_number_of_a_document():
    (found,) = read_commands(f"cat \uf8ff{'9' * 5_000}")
    assert found.stdin is None


def test_a_command_of_thousands_of_digits_is_read_in_no_time():
    began_s = time.monotonic()
    for argument in ("0" * 19_000, "0" * 19_000 + "p", f"1,+{'9' * 5_000}p"):
        assert contact(bash(f"sed -n {argument} cache/store.py"))
        assert contact(bash(f"head -n {argument} cache/store.py"))
    assert time.monotonic() - began_s < 5
