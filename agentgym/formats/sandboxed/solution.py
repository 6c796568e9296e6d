"""The solution of such a task as actions: write its files, then run its script.

Only an agent that plays these actions has the files in its sandbox; a replay needs nothing else.
"""

from __future__ import annotations

import base64
import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from agentgym.errors import TaskError
from agentgym.formats.sandboxed.rules import SOLUTION, SandboxRules, Stage
from agentgym.formats.sandboxed.task_file import keep_inside, read_task_file
from agentgym.formats.sandboxed.yaml_file import read_yaml
from agentgym.manifest import show_path
from agentgym.protocols import Sandbox
from agentgym.records import Action

_CALL_S = 600.0
"""Longest duration of one call of `bash`, in seconds."""
_SUBMIT = Action("submit")


def reference_actions(rules: SandboxRules) -> tuple[Action, ...]:
    """Return the actions of the solution, with each `submit`; empty if the task has no solution.

    Raises:
        TaskError: A solution cannot be read.
    """
    if any(stage.solution is None for stage in rules.stages):
        return ()
    stages = ((*stage_actions(stage, rules), _SUBMIT) for stage in rules.stages)
    return tuple(action for actions in stages for action in actions)


def stage_actions(stage: Stage, rules: SandboxRules) -> tuple[Action, ...]:
    """Return the actions of the solution of one stage; empty if the stage has no solution.

    Raises:
        TaskError: The solution cannot be read.
    """
    return () if stage.solution is None else tuple(_stage(stage, stage.solution, rules))


async def solve(sandbox: Sandbox, actions: Sequence[Action], timeout_s: float) -> bool:
    """Execute the actions of a stage's solution in a sandbox, without a surface.

    Return whether the solution ended with exit code 0.

    Args:
        sandbox: A sandbox in which no agent acts.
        actions: Result of `stage_actions`.
        timeout_s: Longest time of its commands in seconds; whatever they did until then remains.

    Raises:
        SandboxError: The sandbox broke.
    """
    commands = []
    for action in actions:
        given = {name: str(value) for name, value in action.arguments.items()}
        if action.tool == "write_file":
            await sandbox.write_file(given["path"], given["content"].encode())
        else:
            commands.append(given["command"])
    done = await sandbox.exec(["/bin/bash", "-c", "\n".join(commands)], timeout_s=timeout_s)
    return done.exit_code == 0 and not done.timed_out


def _stage(stage: Stage, solution: Path, rules: SandboxRules) -> Iterator[Action]:
    if solution.suffix == ".yaml":
        yield from _commands(solution, stage.agent_timeout_s)
    else:
        folder = solution if solution.is_dir() else solution.parent
        files = sorted(folder.rglob("*")) if solution.is_dir() else [solution]
        script = f"{SOLUTION}/{'solve.sh' if solution.is_dir() else solution.name}"
        executable = [script]
        for path in files:
            if path.is_file():
                keep_inside(folder.parent, path)
                target = f"{SOLUTION}/{path.relative_to(folder)}"
                yield from _write(path, target)
                executable += [target] if path.stat().st_mode & 0o111 else []
        exports = "".join(
            f"export {name}={shlex.quote(value)}\n" for name, value in rules.solution_env.items()
        )
        marked = shlex.join(dict.fromkeys(executable))
        # A background job: `wait` is called again if the job takes longer than one call.
        start = f"{exports}chmod +x {marked}\nbash {script} < /dev/null &\nwait $!"
        yield from _waiting(start, stage.agent_timeout_s)


def _waiting(start: str, timeout_s: float) -> Iterator[Action]:
    calls = math.ceil(timeout_s / _CALL_S)
    for number in range(calls):
        left = timeout_s - number * _CALL_S
        command = start if number == 0 else "wait $!"
        yield Action("bash", {"command": command, "timeout_s": min(left, _CALL_S)})


def _write(path: Path, target: str) -> Iterator[Action]:
    data = read_task_file(path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        encoded = f"{target}.b64"
        content = base64.encodebytes(data).decode()
        yield Action("write_file", {"path": encoded, "content": content})
        decode = f"base64 -d {shlex.quote(encoded)} > {shlex.quote(target)}"
        yield Action("bash", {"command": f"{decode} && rm {shlex.quote(encoded)}"})
    else:
        yield Action("write_file", {"path": target, "content": text})


def _commands(path: Path, timeout_s: float) -> Iterator[Action]:
    """Yield the commands of a classic `solution.yaml`, which types them into a terminal."""
    entries = read_yaml(path)
    if not isinstance(entries, list):
        raise TaskError(f"{show_path(path)}: expected a list of commands")
    for entry in entries:
        command = entry.get("command", "") if isinstance(entry, dict) else ""
        if not command or entry.get("append_enter") is False or _is_key(command):
            raise TaskError(
                f"{show_path(path)}: {command!r} types keys, which only a terminal takes; "
                "expected whole commands"
            )
        seconds = float(entry.get("max_timeout_sec") or timeout_s)
        yield Action("bash", {"command": command, "timeout_s": min(seconds, _CALL_S)})


def _is_key(command: str) -> bool:
    return len(command) == 3 and command[:2] in ("C-", "M-")
