"""Solutions and mutants as actions: a shell script, or one action a line.

Both are files of a task folder; the formats are those of docs/architecture.md.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from agentgym.errors import ActionError, TaskError
from agentgym.manifest import read_text, show_path
from agentgym.records import Action
from agentgym.task.model import Instance, Task
from agentgym.task.template import environment, fill_json

_SCRIPT_TIMEOUT_S = 300
_SUBMIT = Action("submit")


def oracle(instance: Instance) -> tuple[Action, ...]:
    """Return the actions of the task's own solution.

    Raises:
        TaskError: The solution cannot be read; names file and line.
    """
    return read_playbook(solution(instance.task), instance)


def solution(task: Task) -> Path:
    """Return the file that holds a task's solution."""
    script = task.folder / "solution" / "solve.sh"
    return script if script.exists() else script.with_name("actions.jsonl")


def read_playbook(path: Path, instance: Instance) -> tuple[Action, ...]:
    """Return the actions of a solution or mutant; the last one ends the episode.

    A ``.sh`` file becomes one `bash` call with the parameters exported before it. A ``.jsonl``
    file holds one action a line with slots filled; lines that begin with ``#`` are comments.

    Raises:
        TaskError: The file cannot be read, is empty, or a line is not an action.
    """
    text = read_text(path, TaskError)
    if path.suffix == ".sh":
        actions = [_script(text, instance)] if text.strip() else []
    else:
        actions = [
            _action(line, instance, f"{show_path(path)}:{number}")
            for number, line in enumerate(text.split("\n"), start=1)
            if line.strip() and not line.startswith("#")
        ]
    if not actions:
        raise TaskError(f"{show_path(path)}: expected at least one command or action, got none")
    if actions[-1].tool not in ("submit", "give_up"):
        actions.append(_SUBMIT)
    return tuple(actions)


def _script(text: str, instance: Instance) -> Action:
    exports = [
        f"export {name}={shlex.quote(value)}\n"
        for name, value in environment(instance.params).items()
    ]
    command = "".join(exports) + text
    return Action("bash", {"command": command, "timeout_s": _SCRIPT_TIMEOUT_S})


def _action(line: str, instance: Instance, where: str) -> Action:
    try:
        return Action.from_json(fill_json(json.loads(line), instance.params, where))
    except (json.JSONDecodeError, RecursionError) as error:
        raise TaskError(f"{where}: expected an action in JSON: {error}") from error
    except ActionError as error:
        raise TaskError(f"{where}: {error}") from error
