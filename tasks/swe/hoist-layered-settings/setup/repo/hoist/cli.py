"""Commands."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from hoist.files import file_layers
from hoist.layers import Setting, joined
from hoist.options import add_options, option_layers
from hoist.plan import plan, read_manifest
from hoist.settings import SettingsError
from hoist.variables import variable_layers


def main(arguments: Sequence[str], variables: Mapping[str, str] = os.environ) -> int:
    """Run a command; return the exit code."""
    parser = argparse.ArgumentParser(prog="hoist")
    commands = parser.add_subparsers(required=True, dest="command")
    for name, count in (("plan", "+"), ("settings", 1)):
        command = commands.add_parser(name)
        add_options(command)
        command.add_argument("environments", metavar="ENVIRONMENT", nargs=count)
    options = parser.parse_args(arguments)
    try:
        if options.command == "settings":
            _show(settings_of(options, options.environments[0], variables))
        else:
            artifacts = read_manifest(options.manifest)
            for environment in options.environments:
                found = settings_of(options, environment, variables)
                print("\n".join(plan(environment, artifacts, found)))
    except (SettingsError, ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def settings_of(
    options: argparse.Namespace, environment: str, variables: Mapping[str, str]
) -> dict[str, Setting]:
    """Return the settings for an environment.

    Raises:
        SettingsError: There are mistakes.
    """
    return joined(
        [
            *file_layers(options.user_file, environment),
            *file_layers(options.file, environment),
            *variable_layers(variables),
            *option_layers(options),
        ]
    )


def _show(found: Mapping[str, Setting]) -> None:
    for key, setting in found.items():
        value = ", ".join(setting.value) if isinstance(setting.value, list) else setting.value
        shown = str(value).lower() if isinstance(value, bool) else f"{value}"
        print(f"{key:<8} {shown:<16} {setting.source}".rstrip())
