"""The red team: cheats, filled in for a task.

A file below `cheats/` is a cheat in the format of mutants; its first comment states its aim.
Further slots hold what a cheater knows of the task: ``task_needs``, ``task_paths`` (named in the
instruction), ``task_files`` (left by the setup), ``task_folders``, ``task_instruction``,
``task_words``; a script finds them as ``PARAM_TASK_…``, a line each.
Cheats in one folder do not disturb each other and can be played one after the other, by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path

from agentgym.authoring.redteam.claims import claim
from agentgym.authoring.subject import InitialState
from agentgym.env.spec import answer_of
from agentgym.records import Action, Json
from agentgym.task.model import ACTIONS_SUFFIXES, Instance
from agentgym.task.reference_actions import read_reference_actions

_MOST_CHARS = 20_000
"""Longest value of one slot, in characters: an environment variable must hold it."""


@dataclass(frozen=True, slots=True)
class Cheat:
    """A cheat filled in for a task; the last action ends the episode."""

    name: str
    actions: tuple[Action, ...]


def load_cheats(initial: InitialState, folder: Path | None = None) -> list[list[Cheat]]:
    """Return the cheats for a task, in groups that can share an episode.

    Args:
        initial: Initial state of the episode.
        folder: Folder of cheats; by default those that come with agentgym.
    """
    if folder is None:
        with as_file(files("agentgym.authoring.redteam") / "cheats") as bundled:
            return load_cheats(initial, bundled)
    instance = replace(initial.instance, params={**initial.instance.params, **_known(initial)})
    teams = [[path] for path in _cheat_files(folder)]
    teams += [_cheat_files(team) for team in sorted(folder.iterdir()) if team.is_dir()]
    return [[_read(path, instance) for path in team] for team in teams if team]


def _cheat_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in ACTIONS_SUFFIXES)


def _read(path: Path, instance: Instance) -> Cheat:
    wanted = answer_of(instance.task)
    *work, end = read_reference_actions(path, instance)
    answer = end.arguments.get("answer")
    if end.tool == "submit" and isinstance(answer, str):
        end = claim(wanted, answer)
    return Cheat(path.stem.lstrip("0123456789-"), (*work, end))


def _known(initial: InitialState) -> Mapping[str, Json]:
    """Return what a cheater can know of a task, as slots."""
    instruction = initial.instance.instruction
    return {
        "task_needs": _lines(initial.instance.task.manifest.needs),
        "task_paths": _lines(initial.named),
        "task_files": _lines(initial.files),
        "task_folders": _lines(initial.folders),
        "task_instruction": instruction[:_MOST_CHARS],
        "task_words": _lines(sorted(set(re.findall(r"[\w./:@+-]{2,}", instruction)))),
    }


def _lines(names: Sequence[str]) -> str:
    text = "\n".join(name for name in names if "\0" not in name and "\n" not in name)
    return text if len(text) <= _MOST_CHARS else text[:_MOST_CHARS].rpartition("\n")[0]
