"""Run the attack suite against an installed provider and print the outcomes."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys

from agentgym import plugins
from agentgym.errors import AgentGymError, NotFoundError
from agentgym.protocols import SandboxProvider
from agentgym.records import Recipe
from agentgym.sandbox.recipe import load_recipe
from agentgym.testing.attacks import ATTACKS


async def _run(provider: SandboxProvider, recipe: Recipe, names: list[str], as_json: bool) -> int:
    failed = 0
    try:
        for attack in ATTACKS:
            if names and attack.name not in names:
                continue
            outcome = await attack.run(provider, recipe)
            failed += not outcome.blocked
            if as_json:
                print(json.dumps({"attack": attack.name, "attempts": dict(outcome.attempts)}))
            else:
                word = "held" if outcome.blocked else "DONE"
                print(f"{word}  {attack.family:16} {attack.name:28} {outcome.how}")
            sys.stdout.flush()
    finally:
        await provider.close()
    return 1 if failed else 0


def main() -> int:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m agentgym.testing.attacks", description=__doc__)
    parser.add_argument("provider", help="name of an installed sandbox provider")
    parser.add_argument("attack", nargs="*", help="names of attacks; default: all")
    parser.add_argument("--recipe", default="host", help="recipe whose guests have python3")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    arguments = parser.parse_args()
    try:
        known = [attack.name for attack in ATTACKS]
        for name in arguments.attack:
            if name not in known:
                raise NotFoundError("attack", name, known, "without a name all are run")
        provider = plugins.make_provider(arguments.provider)
        recipe = load_recipe(arguments.recipe)
        return asyncio.run(_run(provider, recipe, arguments.attack, arguments.json))
    except AgentGymError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


sys.exit(main())
