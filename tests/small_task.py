"""A sound task folder, small and quick, to be played or to be broken in one place."""

from pathlib import Path

TASK_TOML = """\
schema_version = "agentgym.task/1"
id = "demo/{name}-v1"
title = "Write the word"
difficulty = "easy"
env = "terminal"
max_steps = 40

[params]
word = {{ choice = ["{name}"] }}
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "word"
title = "The word is there"
use = "files.text_equals"
with = { path = "/root/word", text = "{{word}}" }
weight = 3

[[checkpoint]]
id = "place"
title = "Something is there"
use = "files.exists"
with = { path = "/root/word" }
"""
FILES = {
    "instruction.md": "Write {{word}} into /root/word.\n",
    "solution/solve.sh": 'echo "$PARAM_WORD" > /root/word\n',
    "checks/rubric.toml": RUBRIC,
}


def write_task(root: Path, name: str = "hello", changes: dict[str, str | None] | None = None):
    """Write tasks/demo/<name> below a root; a change of None leaves a file out."""
    folder = root / "tasks" / "demo" / name
    files = {"task.toml": TASK_TOML.format(name=name), **FILES, **(changes or {})}
    for path, text in files.items():
        if text is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    return folder
