"""Finds parts of a recorded run that the user must name again for `eval --resume`.

The record is not trusted, see `agentgym.rollout.trust`. Bundled agents and users that run no code
of their own on this machine are taken from it, as are tasks of the catalogues.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from agentgym import catalogue
from agentgym.errors import AgentGymError
from agentgym.eval.settings import Settings
from agentgym.record.store import EpisodeRow
from agentgym.rollout.trust import NOTHING_NAMED, Named, UnnamedError, isolates
from agentgym.task.load import find_task

_HARMLESS: Final = {
    "agents": ("noop", "openai", "oracle", "random"),
    "judge": ("openai",),
    "user": ("openai", "scripted"),
}
"""Kinds whose spec names no file to read and no code to run."""

_OPTIONS: Final = {"agents": "--agent", "judge": "--judge", "user": "--user"}


def unnamed(
    folder: Path, settings: Settings, rows: Sequence[EpisodeRow], asked: Mapping[str, Any]
) -> list[str]:
    """Return the recorded names that the user must confirm, with the line to type.

    Args:
        folder: The run folder.
        settings: The recorded settings.
        rows: The recorded episodes, whose tasks and agents may differ from the settings.
        asked: Names given by the user, as for `resume_run`.
    """
    tasks = [*settings.tasks, *(row.plan.task for row in rows)]
    agents = [*settings.agents, *(row.plan.agent for row in rows)]
    named = Named(_matched(asked.get("patterns", ())), asked.get("sandbox"))
    problems = [
        *_tasks(dict.fromkeys(tasks), named),
        *_sandbox(settings.sandbox, named),
        *_makers("agents", dict.fromkeys(agents), asked.get("agents", ())),
        *_makers("judge", (settings.judge,), (asked.get("judge"),)),
        *_makers("user", (settings.user,), (asked.get("user"),)),
    ]
    if problems:
        words = ["agentgym", "eval", *words_that_name(settings), "--out", str(folder), "--resume"]
        problems[-1] += f"\nif you trust what this record names, run:\n  {shlex.join(words)}"
    return problems


def words_that_name(settings: Settings) -> list[str]:
    """Return the command-line words that name everything a record may not name."""
    words: list[str] = []
    if any(True for _ in _tasks(settings.tasks, NOTHING_NAMED)):
        words += _patterns(settings.tasks)
    if any(True for _ in _makers("agents", settings.agents, ())):
        words += [word for spec in settings.agents for word in ("--agent", spec)]
    for kind, spec in (("judge", settings.judge), ("user", settings.user)):
        if any(True for _ in _makers(kind, (spec,), ())):
            words += [_OPTIONS[kind], spec]
    if any(True for _ in _sandbox(settings.sandbox, NOTHING_NAMED)):
        words += ["--sandbox", settings.sandbox]
    return words


def _tasks(recorded: Collection[str], named: Named) -> Iterator[str]:
    for name in recorded:
        # A folder of the same name elsewhere does not count: the run uses the recorded one.
        exact = Named((name,)) if name in named.tasks else NOTHING_NAMED
        try:
            exact.admit(name, find_task(exact.task(name)))
        except UnnamedError as error:
            yield error.reason
        except AgentGymError:
            pass  # a broken task runs nothing, and `check` reports it


def _sandbox(recorded: str, named: Named) -> Iterator[str]:
    with suppress(AgentGymError):
        if not named.sandbox and not isolates(recorded):
            yield (
                f"the record names sandbox {recorded!r}, which isolates nothing: agents would read "
                "your files and use your network"
            )


def _makers(kind: str, recorded: Collection[str], given: Collection[str | None]) -> Iterator[str]:
    noun = kind.removesuffix("s")
    for spec in recorded:
        if spec and spec.partition(":")[0] not in _HARMLESS[kind] and spec not in given:
            yield f"the record names {noun} {spec!r}: making it would read files or run code of it"


def _matched(patterns: Sequence[str]) -> tuple[str, ...]:
    found: list[str] = []
    for pattern in patterns:
        with suppress(AgentGymError):
            found += catalogue.match_tasks(pattern)
    return tuple(found)


def _patterns(tasks: Sequence[str]) -> list[str]:
    """Return the tasks, with a folder in place of all task folders in it."""
    words: dict[str, None] = {}
    for name in tasks:
        folder = str(Path(name).parent)
        with suppress(AgentGymError):
            if catalogue.path_of(name) and set(catalogue.match_tasks(folder)) <= set(tasks):
                name = folder
        words[name] = None
    return list(words)
