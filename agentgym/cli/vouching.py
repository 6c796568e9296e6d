"""``--task`` and ``--sandbox`` for re-executing a record: the user names what is trusted."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from agentgym.errors import AgentGymError, ConfigError

if TYPE_CHECKING:
    from agentgym.record.store import EpisodeRow
    from agentgym.rollout.trust import Named, UnnamedError

TaskOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        metavar="FOLDER",
        help="A task folder outside the catalogues that the record names and you trust; "
        "repeatable.",
    ),
]


def vouched_for(
    rows: Sequence[EpisodeRow], tasks: Sequence[str] | None, sandbox: str | None
) -> Named:
    """Return the names that the user gave, if they cover everything the episodes would use.

    Raises:
        ConfigError: They do not; the message holds the line to type.
    """
    from agentgym.rollout.trust import Named, named_tasks

    named = Named(named_tasks(tasks or ()), sandbox)
    refused = refusals([row.plan.task for row in rows], [row.sandbox for row in rows], named)
    if not refused:
        return named
    options = [option for error in refused for option in error.options]
    reasons = "\n  - ".join(["", *(error.reason for error in refused)])
    raise ConfigError(
        "a record is not trusted to choose what runs with your rights:"
        f"{reasons}\nif you trust that, run:\n  {command_line(options)}"
    )


def command_line(options: Sequence[str]) -> str:
    """Return the line the user typed with options added."""
    return shlex.join(["agentgym", *sys.argv[1:], *options])


def refusals(tasks: Sequence[str], sandboxes: Sequence[str], named: Named) -> list[UnnamedError]:
    """Return the reasons why recorded tasks and sandboxes may not be used again, each once."""
    from agentgym.rollout.trust import UnnamedError
    from agentgym.task.load import find_task

    found: dict[str, UnnamedError] = {}
    for name in dict.fromkeys(tasks):
        try:
            named.admit(name, find_task(named.task(name)))
        except UnnamedError as error:
            found[error.reason] = error
        except AgentGymError:
            pass  # a broken task runs nothing, and opening it reports the error
    for name in dict.fromkeys(sandboxes):
        try:
            named.provider(name)
        except UnnamedError as error:
            found[error.reason] = error
        except AgentGymError:
            pass  # a missing provider starts nothing, and opening it reports the error
    return list(found.values())
