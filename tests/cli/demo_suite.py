"""Small tasks laid down below a folder that AGENTGYM_PATH can name, and the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
COMMAND = [sys.executable, "-c", "from agentgym.cli import main; main()"]

MANIFEST = """\
schema_version = "agentgym.task/1"
id = "demo/{name}-v1"
title = "Write {name}"
difficulty = "easy"
env = "terminal"
needs = {needs}
max_steps = 4
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "word"
title = "The word is there"
use = "files.text_equals"
with = {{ path = "/root/{name}.txt", text = "{name}" }}
"""


def write_task(root: Path, name: str, *, needs: str = "[]", solution: str | None = None) -> Path:
    folder = root / "tasks" / "demo" / name
    for part in ("solution", "checks"):
        (folder / part).mkdir(parents=True)
    (folder / "task.toml").write_text(MANIFEST.format(name=name, needs=needs))
    (folder / "instruction.md").write_text(f"Write {name} into /root/{name}.txt\n")
    solve = solution or f"echo {name} > /root/{name}.txt\n"
    (folder / "solution" / "solve.sh").write_text(solve)
    (folder / "checks" / "rubric.toml").write_text(RUBRIC.format(name=name))
    return folder
