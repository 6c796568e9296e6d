"""Plays an episode on `agentgym serve` with the client of OpenEnv: docs/bridges.md.

Run: ``python openenv_client.py URL TASK SEED < calls.jsonl``, where URL is such as
``http://token:TOKEN@127.0.0.1:8765/openenv`` and each line is a call,
``{"tool": "submit", "arguments": {}}``. It prints a line for each answer.
"""

import json
import sys

from openenv.core import GenericEnvClient


def play(url, task, seed, calls):
    """Yield the answers to the reset and to each call, up to the end of the episode."""
    with GenericEnvClient(base_url=url, message_timeout_s=600).sync() as env:
        seen = env.reset(task=task, seed=seed)
        yield seen
        for call in calls:
            if seen.done:
                return
            seen = env.step(call)
            yield seen


def told(seen):
    """Return what a trainer uses of an answer; a reward of None is missing data."""
    return {
        "text": seen.observation["text"],
        "reward": seen.reward,
        "done": seen.done,
        "truncated": seen.observation["truncated"],
        "status": seen.observation["metadata"].get("status"),
    }


if __name__ == "__main__":
    url, task, seed = sys.argv[1:]
    for seen in play(url, task, int(seed), map(json.loads, sys.stdin)):
        print(json.dumps(told(seen)))
