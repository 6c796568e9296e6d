"""Instances of SWE-bench as tasks that run: imported, built, solved, and attacked."""

import json
import shutil
from pathlib import Path

import pytest
from built_images import keep_builds
from swe_repository import (
    FIRST,
    FIX,
    TESTS,
    diff_of,
    make_instance,
    make_repository,
    write_instances,
)
from typer.testing import CliRunner

from agentgym import catalogue
from agentgym.cli.app import app
from agentgym.env.environment import Environment
from agentgym.eval.requirements import build_images, used_fallbacks
from agentgym.formats.swebench.format import SweBenchFormat
from agentgym.records import Action
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.images import find_image
from agentgym.sandbox.recipe import load_plan
from agentgym.swe.clone import find_clone
from agentgym.swe.instance_files import read_instances
from agentgym.swe.predictions import read_predictions
from agentgym.swe.specs.resolve import packages_until, resolve_environment
from agentgym.swe.task_folder import write_task
from agentgym.task.load import find_task
from agentgym.task.reference_actions import oracle
from agentgym.testing.task_format import TaskFormatContract


@pytest.fixture
def kept_images(monkeypatch, tmp_path):
    """Build in a cache that is kept between sessions, and import into a catalogue of this test."""
    keep_builds(monkeypatch)
    monkeypatch.setattr(catalogue, "imported_dir", lambda: tmp_path / "imported")


@pytest.fixture
async def play(kept_images):
    """Plays the task of a folder: `await play(folder, actions)`, None for the oracle's."""
    provider = BubblewrapProvider()
    opened = []

    async def run(folder, actions):
        assert build_images([str(folder)], print) == {}
        environment = Environment(find_task(str(folder)), provider, offline=True)
        opened.append(environment)
        episode = await environment.start(0)
        transition = None
        for action in oracle(episode.instance) if actions is None else actions:
            transition = await episode.step(action)
        assert transition is not None and transition.verdict is not None
        return transition.verdict

    yield run
    for environment in opened:
        await environment.close()
    await provider.close()


def imported(tmp_path, *instances):
    """Import instances through the command line and return the folder of the first."""
    file = write_instances(tmp_path / "mine.jsonl", *instances)
    clones = str(tmp_path / "clones")
    done = CliRunner().invoke(app, ["task", "import", "swebench", str(file), "--clones", clones])
    assert done.exit_code == 0, done.output
    (folder,) = (tmp_path / "imported/tasks/swebench-mine").iterdir()
    return folder


def bash(command):
    return Action("bash", {"command": command, "timeout_s": 30})


SUBMIT = Action("submit")


async def gold_solves_and_nothing_does_not(play, folder):
    """Check both ends of an imported task; an idle agent is scored, never an error."""
    solved = await play(folder, None)
    assert solved.outcome, solved.checkpoints
    idle = await play(folder, [SUBMIT])
    assert (idle.status, idle.score) == ("scored", 0.0), idle.checkpoints


FORCED = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
ATTACKS = {
    "nothing": "true",
    "a plug-in that forces passes": f"echo '{FORCED}' | tee conftest.py > tests/conftest.py",
    "settings that deselect": "printf '[pytest]\\naddopts = --deselect tests' > pytest.ini",
    "the tests are deleted": "rm -rf tests",
    "the interpreter is replaced": "printf '#!/bin/sh\\nexit 0' > /usr/bin/python3.11",
    "a module of the site": "echo 'import os' > /usr/lib/python3/dist-packages/sitecustomize.py",
    "an exit on import": "echo 'import os; os._exit(0)' >> tally.py",
    "a report of one's own": "echo 'PASSED tests/test_tally.py::test_total' > report.xml",
    "the repository is deleted": "rm -rf /testbed",
    "a large file": "head -c 40000000 /dev/zero > zeros",
}


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_the_gold_patch_solves_and_attacks_do_not(play, tmp_path, full):
    folder = imported(tmp_path, make_instance(tmp_path / "clones"))
    solved = await play(folder, None)
    assert (solved.status, solved.outcome, solved.score) == ("scored", True, 1.0)
    fixed = await play(folder, [bash("sed -i 's/ + 1//' tally.py; rm -r .git"), SUBMIT])
    assert fixed.outcome
    attacks = ATTACKS if full else dict(list(ATTACKS.items())[:4])
    seen = {name: await play(folder, [bash(script), SUBMIT]) for name, script in attacks.items()}
    assert {name: (verdict.status, verdict.score) for name, verdict in seen.items()} == (
        dict.fromkeys(attacks, ("scored", 0.0))
    )
    assert "1 of 1 still pass" in seen["nothing"].checkpoints[0].message


OTHER_PYTESTS = ("4.6.11", "5.4.3", "7.2.2", "8.0.2", "9.0.1")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "version", ["6.2.5", *(pytest.param(each, marks=pytest.mark.full) for each in OTHER_PYTESTS)]
)
async def test_the_pytest_of_the_instance_runs_its_tests(play, tmp_path, version):
    """Instances of past years have the pytest of their date."""
    environment = {"python": "3.11", "pip_packages": [f"pytest=={version}"], "install": "true"}
    instance = make_instance(tmp_path / "clones")
    instance |= {"created_at": "2026-06-01T00:00:00Z", "install_config": environment}
    folder = imported(tmp_path, instance)
    solved = await play(folder, None)
    assert (solved.status, solved.outcome) == ("scored", True), solved.checkpoints
    for name in ("nothing", "a plug-in that forces passes"):
        seen = await play(folder, [bash(ATTACKS[name]), SUBMIT])
        assert (seen.status, seen.score) == ("scored", 0.0)


FORCES = """

import sys


class QuietWarning(Warning):
    pass


class Forces:
    def force(self, pyfuncitem):
        held = vars(pyfuncitem.module).values()
        if any("tally" in str(getattr(one, "__module__", "")) for one in held):
            return True


setattr(Forces, "py" + "test_pyfunc_call", Forces.force)
frame = sys._getframe()
while frame is not None:
    for one in list(getattr(frame, "f_" + "locals").values()):
        if type(one).__name__ == "Config" and not one.pluginmanager.has_plugin("forces"):
            one.pluginmanager.register(Forces(), "forces")
    frame = frame.f_back
"""


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_settings_that_only_the_gold_patch_can_use_leave_no_agent_unscored(play, tmp_path):
    """pytest refuses settings that name an absent class; folders to import from are kept."""
    settings = FIRST["pyproject.toml"]
    settings += '[tool.pytest.ini_options]\npythonpath = ["tests/kit"]\n'
    loud = 'filterwarnings = ["error", "ignore::tally.LoudWarning"]\n'
    test = "from helper import three\nfrom tally import total\n\n\ndef test_total():\n"
    test += "    assert total([1, 2]) == three\n"
    warning = "\n\nclass LoudWarning(Warning):\n    pass\n"
    base = {**FIRST, "pyproject.toml": settings, "tests/kit/helper.py": "three = 3\n"}
    fixed = {"pyproject.toml": settings + loud, "tally.py": FIX["tally.py"] + warning}
    instance = other_language(
        tmp_path,
        base,
        fixed,
        {"tests/test_total.py": test},
        ["tests/test_total.py::test_total"],
        "python",
    )
    folder = imported(tmp_path, instance)
    await gold_solves_and_nothing_does_not(play, folder)
    # The settings belong to the agent here; they make no test pass, and no run fail unseen.
    code = {"tally.py": FIRST["tally.py"] + FORCES}
    for line, files in (
        ('python_functions = "check_*"', {}),
        ('required_plugins = "absent"', {}),
        ("=", {}),
        ("log_file = 3", {}),
        ("filterwarnings = ['ignore::tally.QuietWarning']\n", code),
    ):
        files = {"pyproject.toml": settings + line, **files}
        write = [
            Action("write_file", {"path": f"/testbed/{path}", "content": text})
            for path, text in files.items()
        ]
        seen = await play(folder, [*write, SUBMIT])
        assert (seen.status, seen.score) == ("scored", 0.0), (line, seen.checkpoints)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_tests_whose_code_a_library_makes_are_evidence(play, tmp_path):
    """Hypothesis compiles a function for each `@given`."""
    hidden = (
        "import unittest\n\nfrom hypothesis import example, given, settings\n"
        "from hypothesis import strategies as st\n\nfrom tally import total\n\n\n"
        "def test_first():\n    assert total([]) is not None\n\n\n"
        "@settings(max_examples=9)\n@given(st.lists(st.integers()))\n@example([1])\n"
        "def test_total(values):\n    assert total(values) == sum(values)\n\n\n"
        "class TestTotal(unittest.TestCase):\n    @given(st.integers(), st.data())\n"
        "    def test_one(self, value, data):\n"
        "        self.assertEqual(total([value, data.draw(st.just(0))]), value)\n"
    )
    ids = ["tests/test_total.py::test_total", "tests/test_total.py::TestTotal::test_one"]
    instance = other_language(tmp_path, FIRST, FIX, {"tests/test_total.py": hidden}, ids, "python")
    instance["install_config"] = {"python": "3.11", "pip_packages": ["pytest", "hypothesis"]}
    instance["FAIL_TO_PASS"] = json.dumps(ids)
    instance["PASS_TO_PASS"] = json.dumps(["tests/test_total.py::test_first"])
    folder = imported(tmp_path, instance)
    solved = await play(folder, None)
    assert solved.outcome, solved.checkpoints
    # What such a test runs is an attribute.
    empties = (
        "\n\ndef empty(holder):\n    for one in list(vars(holder).values()):\n"
        "        handle = getattr(one, 'hypothesis', None)\n"
        "        if hasattr(handle, 'inner_test'):\n"
        "            handle.inner_test = lambda *given, **named: None\n"
        "        elif isinstance(one, type) and one.__module__ == 'test_total':\n"
        "            empty(one)\n"
    )
    calls = "    import sys\n    empty(sys.modules['test_' + 'total'])\n    return sum"
    attack = FIRST["tally.py"].replace("    return sum", calls, 1) + empties
    for text in (FIRST["tally.py"], attack):
        write = Action("write_file", {"path": "/testbed/tally.py", "content": text})
        seen = await play(folder, [write, SUBMIT])
        assert (seen.status, seen.score) == ("scored", 0.0), seen.checkpoints
    assert "replaced" in seen.checkpoints[0].message


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_runner_of_the_repository_imports_what_lies_beside_it(play, tmp_path):
    """The runners of SymPy and Django do so."""
    base = {
        **FIRST,
        "bin/kit.py": "import os, sys\nsys.path.insert(0, os.getcwd())\n",
        "bin/check": "import kit, tally\nis_right = tally.total([1]) == 1\n"
        "print('PASSED' if is_right else 'FAILED', 'test_total')\nraise SystemExit(not is_right)\n",
    }
    instance = other_language(tmp_path, base, FIX, {"test_x.py": "\n"}, ["test_total"], "python")
    how = {"test_cmd": "python3 bin/check", "log_parser": "parse_log_pytest", "install": "true"}
    instance["install_config"] = {"python": "3.11", **how}
    folder = imported(tmp_path, instance)
    await gold_solves_and_nothing_does_not(play, folder)


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_the_repository_of_the_runner_runs_its_command(play, tmp_path):
    """pytest's own code cannot be watched by pytest; its log is read, as SWE-bench does."""
    instance = other_language(
        tmp_path,
        {**FIRST, "conftest.py": "", "src/_pytest/runner.py": ""},
        {"tally.py": "import gc\n\ngc.get_referrers(gc)\n\n\n" + FIX["tally.py"]},
        TESTS,
        ["tests/test_tally.py::test_total", "tests/test_tally.py::test_mean"],
        "python",
    )
    folder = imported(tmp_path, instance)
    await gold_solves_and_nothing_does_not(play, folder)


CONFTEST = (
    "import pytest\nfrom tally import reset\n\n\n@pytest.fixture\ndef fresh():\n    reset()\n"
)
COMMON = (
    "from tally import total\n\n\nclass Common:\n    values = ()\n\n"
    "    def test_total(self, fresh):\n        assert total(self.values) == sum(self.values)\n"
)
INHERITS = (
    "from tests.common import Common\n\n\nclass TestOne(Common):\n    values = (1, 2)\n\n\n"
    "class TestTwo(Common):\n    pass\n"
)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_tests_that_need_the_gold_patch_to_start_and_inherit_are_graded(play, tmp_path):
    """A hidden conftest may import what only the gold patch adds; ids are those of pytest."""
    tests = {
        "tests/__init__.py": "",
        "tests/conftest.py": CONFTEST,
        "tests/common.py": COMMON,
        "tests/test_both.py": INHERITS,
    }
    fixed = {"tally.py": FIX["tally.py"] + "\n\ndef reset():\n    pass\n"}
    ids = [f"tests/test_both.py::Test{name}::test_total" for name in ("One", "Two")]
    folder = imported(tmp_path, other_language(tmp_path, FIRST, fixed, tests, ids, "python"))
    await gold_solves_and_nothing_does_not(play, folder)
    half = Action("bash", {"command": "echo 'def reset(): pass' >> tally.py", "timeout_s": 30})
    wrong = await play(folder, [half, SUBMIT])
    assert (wrong.status, wrong.score) == ("scored", 0.0), wrong.checkpoints
    assert "TestOne::test_total is failed" in wrong.checkpoints[0].message


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_the_sandbox_has_no_later_objects(play, tmp_path):
    folder = imported(tmp_path, make_instance(tmp_path / "clones"))
    conditions = (
        "test $(git rev-list --all --objects | wc -l) -lt 9",
        "test $(git log --all --oneline | wc -l) = 1",
        'test -z "$(git remote)"',
        'test -z "$(git status --porcelain --untracked-files=no)"',
        "sed -i 's/ + 1//' tally.py",
    )
    assert (await play(folder, [bash(" && ".join(conditions)), SUBMIT])).outcome


def other_language(tmp_path, files, fixed, tests, ids, language):
    clone = tmp_path / "clones/ada/adder"
    base = make_repository(clone, files)
    return {
        "instance_id": "ada__adder-1",
        "repo": "ada/adder",
        "base_commit": base,
        "patch": diff_of(clone, fixed),
        "test_patch": diff_of(clone, tests),
        "problem_statement": "It is wrong.",
        "created_at": "2025-06-01T00:00:00Z",
        "FAIL_TO_PASS": json.dumps(ids[:1]),
        "PASS_TO_PASS": json.dumps(ids[1:]),
        "language": language,
    }


def needs_image(recipe):
    """Skip if the recipe's image was never built: its packages are large."""
    plan = load_plan(recipe)
    if plan is None or find_image(plan.name) is None:
        pytest.skip(f"no toolchain; build it once with: agentgym sandbox build {recipe}")


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_an_instance_of_node(play, tmp_path):
    needs_image("swe-node")
    test = (
        "const test = require('node:test');\nconst assert = require('assert');\n"
        "const { add } = require('../add.js');\n"
        "test('keeps', () => assert.equal(add(0, 0), 0));\n"
        "test('adds', () => assert.equal(add(1, 2), 3));\n"
    )
    instance = other_language(
        tmp_path,
        {"package.json": "{}", "add.js": "exports.add = (a, b) => a - b;\n"},
        {"add.js": "exports.add = (a, b) => a + b;\n"},
        {"test/add.test.js": test},
        ["adds", "keeps"],
        "js",
    )
    folder = imported(tmp_path, instance)
    await gold_solves_and_nothing_does_not(play, folder)


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_an_instance_of_go(play, tmp_path):
    needs_image("swe-go")
    test = (
        'package adder\n\nimport "testing"\n\n'
        "func TestKeeps(t *testing.T) {\n\tif Add(0, 0) != 0 {\n\t\tt.Fatal()\n\t}\n}\n\n"
        "func TestAdds(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n"
    )
    code = "package adder\n\nfunc Add(a, b int) int {\n\treturn a - b\n}\n"
    instance = other_language(
        tmp_path,
        {"go.mod": "module example.com/adder\n\ngo 1.19\n", "add.go": code},
        {"add.go": code.replace("a - b", "a + b")},
        {"add_test.go": test},
        ["TestAdds", "TestKeeps"],
        "go",
    )
    folder = imported(tmp_path, instance)
    await gold_solves_and_nothing_does_not(play, folder)


class TestContract(TaskFormatContract):
    """The contract of formats; the folder is one that an import has written."""

    def make(self):
        return SweBenchFormat()

    def write(self, folder):
        root = folder.parent
        (instance,) = read_instances(
            write_instances(root / "i.jsonl", make_instance(root / "clones"))
        )
        clone = find_clone(root / "clones", instance.repo)
        spec = resolve_environment(instance, clone, [])
        until = packages_until(instance, clone)
        made = write_task(root / "suite", instance, clone, spec, until)
        shutil.copytree(made, folder, dirs_exist_ok=True)

    @pytest.mark.full
    @pytest.mark.slow
    @pytest.mark.timeout(900)
    def test_the_solution_solves_the_task_and_inaction_does_not(self, kept_images):
        with self._folder() as folder:
            assert build_images([str(folder)], print) == {}
        super().test_the_solution_solves_the_task_and_inaction_does_not()


def test_bad_instances_stop_an_import_or_are_left_out(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(catalogue, "imported_dir", lambda: tmp_path / "imported")
    good = make_instance(tmp_path / "clones")
    absent = good | {"instance_id": "x__y-1", "repo": "x/y"}
    file = write_instances(tmp_path / "mine.jsonl", good, absent, good | {"patch": ""})
    command = ["task", "import", "swebench", str(file), "--clones", str(tmp_path / "clones")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code != 0
    shown = CliRunner().invoke(app, [*command, "--skip-bad"])
    assert shown.exit_code == 0 and "1 tasks written, 1 instances left out" in shown.output
    assert "patch: expected the gold patch" in shown.output
    assert "has no clone of x/y" in shown.output


def test_a_version_that_is_not_at_hand_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "imported_dir", lambda: tmp_path / "imported")
    good = make_instance(tmp_path / "clones")
    old = good | {"instance_id": "ada__tally-2", "install_config": {"python": "3.8"}}
    file = write_instances(tmp_path / "mine.jsonl", good, old)
    command = ["task", "import", "swebench", str(file), "--clones", str(tmp_path / "clones")]
    done = CliRunner().invoke(app, command)
    assert "python 3.8 is not at hand; recipe swe-python stands in for it: 1 task\n" in done.output
    ids = [f"swebench-mine/ada__tally-{number}-v1" for number in (1, 2)]
    expected = {ids[1]: {"python 3.8": "swe-python"}}
    assert used_fallbacks([*ids, "terminal/calendar-report-v1", "no/such-v1"]) == expected


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_predictions_are_graded_resumed_and_made_of_runs(kept_images, tmp_path):
    clones = tmp_path / "clones"
    good = make_instance(clones)
    names = ("gold", "empty", "broken", "odd")
    instances = [good | {"instance_id": f"ada__tally-{name}"} for name in names]
    file = write_instances(tmp_path / "mine.jsonl", *instances)
    absent = good | {"instance_id": "x__y-1", "repo": "x/y"}
    patches = {
        "gold": good["patch"],
        "empty": "",
        "broken": good["patch"].replace("sum(values) + 1", "sum(numbers)"),
        "odd": "not a patch at all",
    }
    predictions = [
        {"instance_id": f"ada__tally-{name}", "model_name_or_path": "m", "model_patch": patch}
        for name, patch in patches.items()
    ]
    given = write_instances(tmp_path / "p.jsonl", *predictions)
    out = tmp_path / "graded"

    def graded(*words):
        command = ["grade-predictions", *words, "--clones", str(clones), "--out", str(out)]
        return CliRunner().invoke(app, command)

    done = graded(str(given), "--instances", str(file))
    assert done.exit_code == 0, done.output
    report = json.loads((out / "report.json").read_text())
    assert report["resolved_ids"] == ["ada__tally-gold"]
    assert "test_" in (out / "logs/ada__tally-gold.txt").read_text()
    assert report["unresolved_ids"] == ["ada__tally-broken", "ada__tally-odd"]
    assert report["empty_patch_ids"] == ["ada__tally-empty"]
    again = graded(str(given), "--instances", str(file))
    assert again.exit_code == 0 and "1 of 4 resolved" in again.output
    # Another patch is graded anew, and equal ones are not.
    other = write_instances(tmp_path / "q.jsonl", predictions[1] | {"model_patch": good["patch"]})
    assert "1 of 1 resolved" in graded(str(other), "--instances", str(file)).output
    assert len((out / "results.jsonl").read_text().splitlines()) == 5
    # What cannot be graded is told and tried again, and never counts as unresolved.
    write_instances(file, absent)
    done = graded("gold", "--instances", str(file))
    assert done.exit_code == 1 and "1 could not be graded" in done.output

    write_instances(file, good)
    folder = imported(tmp_path, good)
    run = tmp_path / "run"
    words = ["eval", str(folder), "-a", "oracle", "--out", str(run)]
    assert CliRunner().invoke(app, words).exit_code == 0
    written = tmp_path / "made.jsonl"
    words = ["predictions", str(run), "--out", str(written), "--task", str(folder)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    (made,) = read_predictions(written)
    assert (made.instance_id, made.model_name_or_path) == ("ada__tally-1", "oracle")
    assert "+    return sum(values)\n" in made.model_patch
    done = graded(str(written), "--instances", str(file))
    assert done.exit_code == 0 and "1 of 1 resolved" in done.output
