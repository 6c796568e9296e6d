"""`agentgym suite`: imports suites of other benchmarks, a command for each task format."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Callable

app = typer.Typer(help="Import the suites of other benchmarks.", no_args_is_help=True)


class Importers(TyperGroup):
    """The commands of the formats whose suites can be imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of these formats; a format that cannot be loaded is left out."""
        from agentgym import task_formats
        from agentgym.errors import AgentGymError

        found = []
        for name in task_formats.names():
            with suppress(AgentGymError):
                if task_formats.load_format(name).import_command() is not None:
                    found.append(name)
        return found

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a format.

        Raises:
            NotFoundError: No format has the name.
            ConfigError: Suites of the format are not imported.
            PluginError: The format is broken.
        """
        from agentgym import task_formats
        from agentgym.errors import ConfigError

        command = task_formats.load_format(cmd_name).import_command()
        if command is None:
            raise ConfigError(
                f"suites of {cmd_name} are not imported; name a folder by its path, for example: "
                "agentgym eval ./FOLDER -a oracle"
            )
        return _command(cmd_name, command)


def _command(name: str, function: Callable[..., None]) -> Any:
    alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
    alone.command(
        name,
        epilog=f"Example:  [bold]agentgym suite import {name} ../CHECKOUT[/]",
        context_settings={"help_option_names": ["-h", "--help"]},
    )(function)
    return typer.main.get_command(alone)


@app.callback()
def _suite() -> None:
    """Import the suites of other benchmarks."""


_importers = typer.Typer(cls=Importers, no_args_is_help=True)
app.add_typer(_importers, name="import", help="Import a suite: FORMAT PATH. Each has its options.")


@_importers.callback()
def _import() -> None:
    """Import a suite of another benchmark; each format has options of its own."""
