"""Writes `checks/tests.json` of tasks of the suite `swe`: python scripts/swe_lists.py NAME..."""

import asyncio
import json
import sys

from agentgym import catalogue
from agentgym.env.spec import spec_of
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.recipe import load_recipe
from agentgym.swe.measuring import measure_issue
from agentgym.task.load import load_task


async def main(names: list[str]) -> None:
    """Measure each task and write its lists."""
    provider = BubblewrapProvider()
    try:
        for name in names:
            task = load_task(catalogue.find("tasks", f"swe/{name}-v1"))
            sandbox = spec_of(task).sandbox
            assert sandbox is not None
            lists = await measure_issue(task, provider, load_recipe(sandbox))
            path = task.folder / "checks" / "tests.json"
            path.write_text(json.dumps(lists, indent=1) + "\n")
            print(f"{name}: {', '.join(f'{len(ids)} {what}' for what, ids in lists.items())}")
            for test in lists["fail_to_pass"]:
                print("   ", test)
    finally:
        await provider.close()


asyncio.run(main(sys.argv[1:]))
