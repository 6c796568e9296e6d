"""Writes task folders for tests: a sound one, to be broken in one place."""

from __future__ import annotations

from pathlib import Path

TASK_TOML = """\
schema_version = "agentgym.task/1"
id = "zoo/feed-v2"
title = "Feed the animals"
tags = ["animals"]
difficulty = "easy"
env = "terminal"
needs = ["awk", "python3"]
max_steps = 9

[limits]
wall_s = 600
pids = 64

[setup]
timeout_s = 7.5

[params]
animal = { choice = ["lion", "the \\"duck\\"", "o'possum"] }
count = { range = [20, 90] }

[replay]
volatile_paths = ["/srv/zoo/*.pid"]
volatile_text = ["pid \\\\d+"]
"""

FILES = {
    "task.toml": TASK_TOML,
    "instruction.md": "Give the {{animal}}\n{{count}} apples.\n",
    "setup/setup.sh": "echo hello\n",
    "setup/data/apples.txt": "apple\n",
    "solution/solve.sh": 'echo "$PARAM_ANIMAL"\n',
    "checks/rubric.toml": 'schema_version = "agentgym.rubric/1"\n',
    "mutants/eats_all.sh": "# Must not pass: eats the apples.\nrm apples.txt\n",
    "mutants/gives_up.jsonl": '# Must not pass.\n{"tool": "give_up", "arguments": {}}\n',
}


def write_task(root: Path, changes: dict[str, str | None] | None = None) -> Path:
    """Write zoo/feed below a root; a change of None leaves a file out."""
    folder = root / "zoo" / "feed"
    for name, text in {**FILES, **(changes or {})}.items():
        if text is not None:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return folder
