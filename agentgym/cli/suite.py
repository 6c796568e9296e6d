"""`agentgym suite`: imports suites of other benchmarks, a command for each task format."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperGroup

app = typer.Typer(help="Import the suites of other benchmarks.", no_args_is_help=True)


class Importers(TyperGroup):
    """The commands of the formats whose suites can be imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of these formats; a format that cannot be used is left out."""
        from agentgym import task_formats
        from agentgym.errors import AgentGymError

        found = []
        for name in task_formats.names():
            with suppress(AgentGymError):
                if _command(name) is not None:
                    found.append(name)
        return found

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a format.

        Raises:
            NotFoundError: No format has the name.
            ConfigError: Suites of the format are not imported.
            PluginError: The format is broken.
        """
        from agentgym.errors import ConfigError

        command = _command(cmd_name)
        if command is not None:
            words = [name for parameter in command.params for name in _needed(parameter)]
            command.epilog = f"Example:  [bold]{' '.join([ctx.command_path, cmd_name, *words])}[/]"
        if command is None:
            raise ConfigError(
                f"suites of {cmd_name} are not imported; name a folder by its path, for example: "
                "agentgym eval ./FOLDER -a oracle"
            )
        return command


def _command(name: str) -> Any:
    """Return the command that imports suites of a format; None if the format has none.

    Raises:
        NotFoundError: No format has the name.
        PluginError: The format is broken.
    """
    from agentgym import task_formats

    found = task_formats.load_format(name)
    with task_formats.plugin_errors(f"task format {name!r}: no import command"):
        function = found.import_command()
        if function is None:
            return None
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(name, context_settings={"help_option_names": ["-h", "--help"]})(function)
        return typer.main.get_command(alone)


def _needed(parameter: Any) -> list[str]:
    """Return the words of a parameter that a call cannot do without."""
    if not parameter.required:
        return []
    metavar = parameter.metavar or parameter.human_readable_name
    return [metavar] if parameter.param_type_name == "argument" else [parameter.opts[0], metavar]


@app.callback()
def _suite() -> None:
    """Import the suites of other benchmarks."""


importers = typer.Typer(cls=Importers, no_args_is_help=True)
app.add_typer(importers, name="import", help="Import a suite: FORMAT PATH. Each has its options.")


@importers.callback()
def _import() -> None:
    """Import a suite of another benchmark; each format has options of its own."""
