"""The rules of SWE-bench, and the files that are the grader's, without a sandbox."""

from dataclasses import replace

import pytest
from swe_repository import FIRST, TESTS, make_instance, write_instances

from agentgym.swe.apply import apply_diff
from agentgym.swe.instance import EnvironmentSpec, Instance
from agentgym.swe.instance_files import read_instances
from agentgym.swe.instance_rules import as_swe_bench, read_log
from agentgym.swe.instance_tests import (
    InstanceTests,
    _python_path,
    command_line,
    graders_files,
)
from agentgym.swe.outcomes import Outcome
from agentgym.swe.patch import Entry, FileChange, Patch
from agentgym.swe.test_run import TestRun


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    folder = tmp_path_factory.mktemp("instance")
    path = write_instances(folder / "i.jsonl", make_instance(folder / "clones"))
    return read_instances(path)[0]


def given(instance: Instance) -> InstanceTests:
    def base(path: str) -> Entry | None:
        return Entry("file", FIRST[path].encode()) if path in FIRST else None

    return InstanceTests(instance=instance, spec=EnvironmentSpec(), root="/testbed", base=base)


def change(path: str, text: str) -> FileChange:
    before = FIRST.get(path)
    was = None if before is None else Entry("file", before.encode())
    return FileChange(path, was, Entry("file", text.encode()))


def test_tests_and_settings_are_the_graders_and_code_is_not(instance: Instance) -> None:
    touched = ("tally.py", "tests/test_tally.py", "conftest.py", "pyproject.toml", "tests/new.py")
    patch = Patch(tuple(change(path, "mine") for path in touched))
    files = graders_files(given(instance), patch)
    assert set(files) == set(touched) - {"tally.py"}
    assert files["conftest.py"] is None and files["tests/new.py"] is None
    assert files["pyproject.toml"] == Entry("file", FIRST["pyproject.toml"].encode())
    assert files["tests/test_tally.py"] == Entry("file", TESTS["tests/test_tally.py"].encode())


def test_a_file_that_the_gold_patch_changes_is_the_solvers(instance: Instance) -> None:
    gold = "diff --git a/tests/kit.py b/tests/kit.py\nnew file mode 100644\n--- /dev/null\n"
    gold += "+++ b/tests/kit.py\n@@ -0,0 +1 @@\n+x = 1\n"
    patch = Patch((change("tests/kit.py", "mine"), change("tests/other.py", "mine")))
    tests = given(replace(instance, patch=gold))
    assert set(graders_files(tests, patch)) == {"tests/other.py", "tests/test_tally.py"}


def test_commands_get_files_or_modules() -> None:
    files = ("tests/admin/tests.py", "tests/a b.py")
    spec = EnvironmentSpec(test_command="run {tests}")
    assert command_line(spec, files) == "run tests/admin/tests.py 'tests/a b.py'"
    spec = EnvironmentSpec(test_command="run {modules}")
    assert command_line(spec, files[:1]) == "run admin.tests"
    assert command_line(EnvironmentSpec(test_command="make check"), files) == "make check"


@pytest.mark.parametrize(
    ("outcome", "fixed", "kept"),
    [
        (Outcome.PASS, Outcome.PASS, Outcome.PASS),
        (Outcome.XFAIL, Outcome.PASS, Outcome.PASS),
        (Outcome.SKIPPED, Outcome.SKIPPED, Outcome.PASS),
        (Outcome.FAIL, Outcome.FAIL, Outcome.FAIL),
        (Outcome.ERROR, Outcome.ERROR, Outcome.ERROR),
    ],
)
def test_outcomes_as_swe_bench_counts_them(
    instance: Instance, outcome: Outcome, fixed: Outcome, kept: Outcome
) -> None:
    (fail,), (keep,) = instance.fail_to_pass, instance.pass_to_pass
    seen = as_swe_bench(TestRun(outcomes={fail: outcome, keep: outcome}), instance).outcomes
    assert (seen[fail], seen[keep]) == (fixed, kept)


def test_a_cut_id_means_all_tests_that_begin_with_it(instance: Instance) -> None:
    cut = replace(instance, fail_to_pass=("t.py::a[x",), pass_to_pass=("t.py::b",))
    seen = {"t.py::a[x y]": Outcome.PASS, "t.py::a[x z]": Outcome.PASS, "t.py::bb": Outcome.PASS}
    found = as_swe_bench(TestRun(outcomes=seen), cut).outcomes
    assert found["t.py::a[x"] is Outcome.PASS
    assert found["t.py::b"] is Outcome.MISSING
    seen["t.py::a[x z]"] = Outcome.FAIL
    assert as_swe_bench(TestRun(outcomes=seen), cut).outcomes["t.py::a[x"] is Outcome.FAIL


def test_logs_without_evidence_are_a_problem(instance: Instance) -> None:
    def read(log: str, code: int, of: Instance = instance) -> str:
        return read_log(TestRun(outcomes={}, log=log, exit_code=code), "pytest", of).problem

    assert read("PASSED t.py::a\n", 0) == ""
    assert read("FAILED t.py::a\n", 1) == ""
    assert "no result" in read("", 0)
    assert "ended with 1" in read("PASSED t.py::a\n", 1)
    silent = replace(instance, fail_only=True)
    assert read("12 passing", 0, silent) == ""
    assert "no result" in read("", 0, silent) and "no result" in read("12 passing", 1, silent)


def test_the_gold_patch_is_not_a_leak_for_an_empty_one(instance: Instance) -> None:
    tests = given(instance)
    empty = apply_diff("", tests.base)
    assert set(graders_files(tests, empty)) == {"tests/test_tally.py"}
    assert set(graders_files(tests, empty, hidden=False)) == set()


def test_settings_of_a_patch_whose_keys_multiply_name_no_folder():
    key = ".".join("a" * 30_000)  # tomllib would keep 450,000,000 parts
    settings = f"{key} = 1\n[tool.pytest.ini_options]\npythonpath = 'src'\n"
    assert not list(_python_path("pyproject.toml", settings))
    assert list(_python_path("pyproject.toml", settings.partition("\n")[2])) == ["src"]
