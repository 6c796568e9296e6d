"""A small repository in a real sandbox, and clean rooms over it that tests open from any thread."""

import asyncio
import threading

import pytest
from built_images import take_image

from agentgym import plugins
from agentgym.sandbox.recipe import load_recipe
from agentgym.swe.grading import grade_patch
from agentgym.swe.patch import Entry, FileChange, patch_of
from agentgym.swe.test_run import PytestPlan, run_pytest
from agentgym.verify.room import CleanRooms

ROOT = "/srv/calc"
BASE = {
    "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\n",
    "calc/__init__.py": "from calc.sums import add, mean\n",
    "calc/sums.py": (
        "def add(a, b):\n    return a - b\n\n\n"
        "def mean(values):\n    return sum(values) / len(values)\n"
    ),
    "tests/test_mean.py": (
        "from calc import mean\n\n\ndef test_mean():\n    assert mean([1, 3]) == 2\n"
    ),
}
FIX = BASE["calc/sums.py"].replace("a - b", "a + b")
HIDDEN = """import unittest

import pytest

from calc import add


@pytest.mark.parametrize("a, b, sum_", [(1, 2, 3), (-1, 1, 0), (0.5, 0.25, 0.75)])
def test_add(a, b, sum_):
    assert add(a, b) == sum_


def test_add_refuses_texts_and_numbers():
    with pytest.raises(TypeError):
        add("1", 2)


class TestAdd(unittest.TestCase):
    def test_zero(self):
        self.assertEqual(add(0, 5), 5)
"""
FAIL = [
    *(f"tests/test_add.py::test_add[{case}]" for case in ("1-2-3", "-1-1-0", "0.5-0.25-0.75")),
    "tests/test_add.py::TestAdd::test_zero",
]
KEEP = [
    "tests/test_add.py::test_add_refuses_texts_and_numbers",
    "tests/test_mean.py::test_mean",
]


class Clinic:
    """Clean rooms over the repository; an event loop of its own runs them."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.provider = plugins.load("agentgym.sandboxes", "bubblewrap")()
        self.rooms = self.wait(self.begin())
        self.base_run = None

    def wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(600)

    async def begin(self):
        recipe = load_recipe("swe-python")
        sandbox = await self.provider.start(recipe)
        for path, text in BASE.items():
            await sandbox.write_file(f"{ROOT}/{path}", text.encode())
        base = await sandbox.seal()
        tree = await self.provider.open_tree(base)
        return CleanRooms(self.provider, recipe, base, tree, commands_s=3600)

    def run(self, patch, hidden=HIDDEN, **options):
        gold = {
            "tests/test_add.py": Entry("file", hidden.encode()),
            "tests/test_mean.py": Entry("file", BASE["tests/test_mean.py"].encode()),
        }
        plan = PytestPlan(
            root=ROOT,
            **{
                "targets": tuple(gold),
                "gold": gold,
                "config_name": "pyproject.toml",
                "config": BASE["pyproject.toml"],
                "timeout_s": 10.0,
                **options,
            },
        )
        room = self.rooms.open(())
        try:
            return run_pytest(room, plan, patch, FAIL + KEEP)
        finally:
            self.rooms.retire()

    def grade(self, patch, **options):
        def run(given):
            if given.changes or options:
                return self.run(given, **options)
            # What the tests say of the base alone is the same each time.
            self.base_run = self.base_run or self.run(given)
            return self.base_run

        return grade_patch(run, patch, FAIL, KEEP)

    def close(self):
        self.wait(self.rooms.close())
        self.wait(self.provider.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture(scope="session")
def clinic(session_cache):
    problems = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()
    if problems:
        pytest.skip(f"bubblewrap cannot run: {problems}")
    take_image("swe-python")
    clinic = Clinic()
    yield clinic
    clinic.close()


def changes(files):
    return patch_of(
        FileChange(path, entry(BASE.get(path)), entry(text)) for path, text in files.items()
    )


def entry(text):
    if text is None or isinstance(text, Entry):
        return text
    return Entry("file", text.encode() if isinstance(text, str) else text)
