"""The scripted agent: plays a file, whatever it sees.

A ``.jsonl`` file holds one action a line, ``{"tool": ..., "arguments": {...}}``; a ``.sh`` file
is one ``bash`` call. The agent submits when the file is over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from agentgym.agents import SUBMIT
from agentgym.errors import ActionError, ConfigError
from agentgym.records import Action, Briefing, Decision, Observation, Step, ToolSpec


class ScriptedAgent:
    """Plays the actions of a file by step number.

    Raises:
        ConfigError: The file is absent, or a line of it is not an action.
    """

    def __init__(self, argument: str = "") -> None:
        if not argument:
            raise ConfigError("agent 'scripted' needs a file; write e.g.: scripted:plan.jsonl")
        self._actions = read_script(Path(argument))

    async def start(self, briefing: Briefing) -> None:
        """Ignore the briefing."""

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Play the next action, or submit after the last."""
        step = len(history)
        return Decision(self._actions[step] if step < len(self._actions) else SUBMIT)

    async def close(self) -> None:
        """Nothing to release."""


def read_script(path: Path) -> tuple[Action, ...]:
    """Read the actions of a ``.jsonl`` or ``.sh`` file.

    Raises:
        ConfigError: Named by file and line.
    """
    if path.suffix not in (".jsonl", ".sh"):
        raise ConfigError(f"{path}: a script is a .jsonl or .sh file, not {path.suffix!r}")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8") from error
    if path.suffix == ".sh":
        return (Action("bash", {"command": text}),)
    numbered = enumerate(text.split("\n"), start=1)
    return tuple(_read_line(path, number, line) for number, line in numbered if line.strip())


def _read_line(path: Path, number: int, line: str) -> Action:
    try:
        return Action.from_json(json.loads(line))
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{path}:{number}: not JSON: {error.msg}, column {error.colno}"
        ) from error
    except (ActionError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}:{number}: {error}") from error
