"""Writes the test lists of release pairs: python scripts/release_lists.py NAME..."""

import asyncio
import json
import re
import sys

from agentgym import catalogue
from agentgym.env.spec import spec_of
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.recipe import load_recipe
from agentgym.swe.measuring import measure_issue
from agentgym.swe.releases.pair import BUNDLED, bundled_pairs
from agentgym.swe.releases.task_folder import SUITE, write_release_task
from agentgym.task.load import load_task


async def main(names: list[str]) -> None:
    """Measure each pair and write its lists below the definition's own fields."""
    provider = BubblewrapProvider()
    suite = catalogue.imported_dir() / "tasks" / SUITE
    try:
        for name in names:
            pair = bundled_pairs()[name]
            task = load_task(write_release_task(suite, name, pair))
            sandbox = spec_of(task).sandbox
            assert sandbox is not None
            lists = await measure_issue(task, provider, load_recipe(sandbox), foreign=True)
            path = BUNDLED / f"{name}.toml"
            text = re.sub(
                r"^(fail|pass)_to_pass = \[.*?^\]\n", "", path.read_text(), flags=re.M | re.S
            )
            head, mark, tail = text.partition("\n[base]\n")
            for what, ids in lists.items():
                # Tests that a class inherits from another file are told by that file.
                ids = [test for test in ids if test.partition("::")[0] in pair.tests]
                items = "".join(f"  {json.dumps(test)},\n" for test in ids)
                head += f"{what} = [\n{items}]\n"
            path.write_text(head + mark + tail)
            print(f"{name}: {', '.join(f'{len(ids)} {what}' for what, ids in lists.items())}")
            print("\n".join(f"    {test}" for test in lists["fail_to_pass"]))
    finally:
        await provider.close()


asyncio.run(main(sys.argv[1:]))
