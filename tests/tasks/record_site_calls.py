"""Writes which calls the solutions of `web` make, to `site_calls/TASK.jsonl`; it needs the browser.

Run it when a solution of a task in `site_detours.toml` has changed:
``python tests/tasks/record_site_calls.py NAME …``
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from agentgym.agents.policy_file import PolicyFileAgent
from agentgym.env.environment import Environment
from agentgym.records import AuditEntry
from agentgym.rollout.run import run_episode
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.load import find_task
from agentgym.task.reference_actions import solution

CALLS = Path(__file__).parent / "site_calls"


async def record(name: str) -> None:
    """Play the solution of a task in the browser, and write the calls of its sites."""
    task = find_task(f"web/{name}-v1")
    async with Environment(task, NoSandboxProvider()) as environment:
        started, start = [], environment.start

        async def starting(seed: int, **options: object) -> object:
            started.append(await start(seed, **options))
            return started[0]

        environment.start = starting
        steps, audit = [], []

        def note(step: object) -> None:
            steps.append(step)
            audit[:] = started[0].backend.audit

        agent = PolicyFileAgent(solution(task))
        result = await run_episode(
            *(environment, agent), seed=0, store=None, episode_id=None, on_step=note
        )
        if not result.verdict.outcome:
            raise SystemExit(f"{name}: the solution fails: {result.error} {result.verdict}")
    made = _without_repeats(entry for entry in audit if entry.actor == "agent")
    end = steps[-1].action
    made = [*made, {"tool": end.tool, "arguments": dict(end.arguments)}]
    lines = "".join(f"{json.dumps(call, ensure_ascii=False)}\n" for call in made)
    (CALLS / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    print(f"{name}: {len(made)} calls in {result.duration_s:.0f} s", flush=True)


def _without_repeats(entries: Iterable[AuditEntry]) -> list[dict[str, object]]:
    """Leave out reads that were made twice before and that no write has followed."""
    made, known = [], Counter[tuple[str, str]]()
    for entry in entries:
        if entry.changed:
            known.clear()
        known[entry.tool, entry.arguments_json] += 1
        if known[entry.tool, entry.arguments_json] > 2:
            continue
        made.append({"tool": entry.tool, "arguments": entry.arguments})
    return made


if __name__ == "__main__":
    CALLS.mkdir(exist_ok=True)
    for each in sys.argv[1:]:
        asyncio.run(record(each))
