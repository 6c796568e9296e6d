"""Solutions and mutants as actions: a shell script, or one action a line.

Both are files of a task folder; a mutant may also be a patch of the solution. The formats are those
of docs/architecture.md. A solution that has to look before it acts is a policy
(`agentgym.task.reference_policy`) and has no list of actions.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentgym.errors import ActionError, AgentGymError, TaskError
from agentgym.manifest import show_path
from agentgym.records import Action, Json, Step
from agentgym.task.model import Instance, Task
from agentgym.task.patch import Line, apply_patch, read_lines
from agentgym.task.reference_policy import POLICY_FILE
from agentgym.task.template import Filling, canonical, environment
from agentgym.task_formats import plugin_errors

SOLUTIONS = ("solve.sh", "actions.jsonl", POLICY_FILE)
"""Names that the file of a solution may have."""

SURFACE_ENDS = (".py", ".jsonl")
"""Endings of the solutions for one surface, which are named after it: ``browser.py``."""

_SCRIPT_TIMEOUT_S = 300
_SUBMIT = Action("submit")
_ANSWER_FILE = "/dev/shm/agentgym-answer"  # in memory, so not part of the judged state
_READ_ANSWER = Action("bash", {"command": f"cat {_ANSWER_FILE} 2>/dev/null; rm -f {_ANSWER_FILE}"})


@dataclass(frozen=True, slots=True)
class Cue:
    """An action and the ``file:line`` where it is written."""

    action: Action
    where: str


def reference(instance: Instance) -> tuple[Action, ...] | Path:
    """Return the actions of the task's own solution, or the file of a policy.

    Empty if the task has no solution.

    Raises:
        TaskError: The solution cannot be read; names file and line.
    """
    foreign = instance.task.foreign
    if foreign is not None:
        with plugin_errors(f"task format {foreign.format!r}: no solution of {instance.task.id}"):
            given = foreign.rules.reference_actions()
            return given if isinstance(given, Path) else tuple(given)
    path = solution(instance.task)
    if instance.task.manifest.unsolved and not path.exists():
        return ()
    return read_reference(path, instance)


def oracle(instance: Instance) -> tuple[Action, ...]:
    """Return the actions of the task's own solution; empty if a foreign task has no solution.

    Raises:
        TaskError: The solution cannot be read, or is a policy.
    """
    found = reference(instance)
    if isinstance(found, Path):
        raise TaskError(f"{show_path(found)}: a policy decides as it plays and lists no actions")
    return found


def answered(action: Action, history: Sequence[Step]) -> Action:
    """Return a `submit` with the answer that a script has left; any other action unchanged.

    Args:
        action: Next action of the reference actions.
        history: The steps taken; one of them may have read ``$AGENTGYM_ANSWER``.
    """
    if action != _SUBMIT:
        return action
    read = (step for step in reversed(history) if reads_answer(step.action))
    answer = next((step.observation.text.rstrip("\n") for step in read), "")
    return replace(action, arguments={"answer": answer}) if answer else action


def reads_answer(action: Action) -> bool:
    """Return whether a call is the one that reads the answer that a script has left."""
    return action == _READ_ANSWER


def solution(task: Task) -> Path:
    """Return the file that holds a task's solution.

    If the surfaces of the task were chosen, the first of them that has a solution of its own
    counts: ``solution/browser.py`` is a policy for the surface `browser`.
    """
    folder = task.folder / "solution"
    own = [folder / f"{surface}{end}" for surface in task.surfaces for end in SURFACE_ENDS]
    paths = [*own, *(folder / name for name in SOLUTIONS)]
    return next((path for path in paths if path.exists()), folder / SOLUTIONS[0])


def read_reference(path: Path, instance: Instance) -> tuple[Action, ...] | Path:
    """Return the actions of a solution or mutant; its file if it is a policy or patches one.

    Raises:
        TaskError: The file cannot be read; names file and line.
    """
    patches_policy = path.suffix == ".patch" and solution(instance.task).suffix == ".py"
    if path.suffix == ".py" or patches_policy:
        return path
    return read_reference_actions(path, instance)


def read_reference_actions(path: Path, instance: Instance) -> tuple[Action, ...]:
    """Return the actions of a solution or mutant; the last one ends the episode.

    Slots are filled, and a script finds the parameters exported.

    Raises:
        TaskError: The file cannot be read, is empty, is a patch that does not apply, or a line is
            not an action.
    """
    return tuple(cue.action for cue in read_cues(path, instance))


def read_cues(path: Path, instance: Instance) -> tuple[Cue, ...]:
    """Return the actions of `read_reference_actions`, each with its place in the file.

    Raises:
        TaskError: For the same reasons as `read_reference_actions`.
    """
    if path.suffix == ".patch":
        original = solution(instance.task)
        lines = apply_patch(read_lines(path, TaskError), read_lines(original, TaskError))
        cues = _cues(lines, original.suffix, TaskError, instance.params)
    else:
        cues = _read(path, TaskError, instance.params)
    if not cues:
        raise TaskError(f"{show_path(path)}: expected at least one command or action, got none")
    if cues[-1].action.tool not in ("submit", "give_up"):
        cues.append(Cue(_SUBMIT, cues[-1].where))
    return tuple(cues)


def read_actions(
    path: Path, error: type[AgentGymError], params: Mapping[str, Json] | None = None
) -> list[Action]:
    """Return the actions of a file.

    A ``.sh`` file is one `bash` call. If it names ``$AGENTGYM_ANSWER``, a second call reads that
    file, and a `submit` follows, whose answer `answered` fills in. A ``.jsonl`` file holds one
    action a line; lines that begin with ``#`` are comments.

    Args:
        path: The file.
        error: Error class to raise, that of the caller's boundary.
        params: Slots to fill and to export; None if the file has no slots.

    Raises:
        AgentGymError: Of class `error`, naming file and line.
    """
    return [cue.action for cue in _read(path, error, params)]


def _read(path: Path, error: type[AgentGymError], params: Mapping[str, Json] | None) -> list[Cue]:
    if path.suffix not in (".jsonl", ".sh") and path.exists():
        raise error(f"{show_path(path)}: expected a .jsonl or .sh file, got {path.suffix!r}")
    return _cues(read_lines(path, error), path.suffix, error, params)


def _cues(
    lines: Sequence[Line],
    suffix: str,
    error: type[AgentGymError],
    params: Mapping[str, Json] | None,
) -> list[Cue]:
    if suffix == ".sh":
        text = "\n".join(line.text for line in lines)
        calls = _script(text, params or {}) if text.strip() else ()
        return [Cue(call, lines[0].where) for call in calls]
    filling = None if params is None else Filling(params)
    return [
        Cue(_action(line, filling, error), line.where)
        for line in lines
        if line.text.strip() and not line.text.startswith("#")
    ]


def _script(text: str, params: Mapping[str, Json]) -> tuple[Action, ...]:
    """Return the calls that run a script, and read its answer if it may leave one."""
    variables = environment(params) if params else {}
    answers = "AGENTGYM_ANSWER" in text
    if answers:
        variables = {**variables, "AGENTGYM_ANSWER": _ANSWER_FILE}
    exports = [f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()]
    arguments: dict[str, Json] = {"command": "".join(exports) + text}
    run = Action("bash", {**arguments, "timeout_s": _SCRIPT_TIMEOUT_S})
    return (run, _READ_ANSWER, _SUBMIT) if answers else (run,)


def _action(line: Line, filling: Filling | None, error: type[AgentGymError]) -> Action:
    try:
        value = json.loads(line.text)
        filled = value if filling is None else filling.json(value, line.where)
        return _in_words(Action.from_json(filled))
    except (json.JSONDecodeError, RecursionError) as fault:
        raise error(f"{line.where}: expected an action in JSON: {fault}") from fault
    except ActionError as fault:
        raise error(f"{line.where}: {fault}") from fault


def _in_words(action: Action) -> Action:
    """Return a `submit` whose answer is text; a slot that stands alone leaves a number there."""
    answer = action.arguments.get("answer")
    if action.tool != "submit" or not isinstance(answer, bool | int | float):
        return action
    return replace(action, arguments={**action.arguments, "answer": canonical(answer)})
