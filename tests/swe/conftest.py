"""Clean rooms over a small repository in a real sandbox, which tests open from any thread."""

import asyncio
import threading

import pytest
from built_images import take_image
from calc_repository import BASE, FAIL, HIDDEN, KEEP, ROOT

from agentgym import plugins
from agentgym.sandbox.recipe import load_recipe
from agentgym.swe.grading import grade_patch
from agentgym.swe.patch import Entry
from agentgym.swe.test_run import PytestPlan, run_pytest
from agentgym.verify.room import CleanRooms


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
