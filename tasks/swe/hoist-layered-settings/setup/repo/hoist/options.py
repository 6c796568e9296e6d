"""Options of commands."""

import argparse
from pathlib import Path

from hoist.layers import Layer
from hoist.settings import DEFAULTS, LISTS, from_text

_NAMES = {"tags": "--tag", "skip": "--skip"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of all commands."""
    parser.add_argument("--user-file", type=Path, default=Path.home() / ".hoist.toml")
    parser.add_argument("--file", type=Path, default=Path("hoist.toml"))
    parser.add_argument("--manifest", type=Path, default=Path("manifest.txt"))
    for key, value in DEFAULTS.items():
        if key == "verify":
            parser.add_argument("--verify", action=argparse.BooleanOptionalAction, default=value)
        elif key in LISTS:
            parser.add_argument(_NAMES[key], dest=key, action="append", default=value)
        else:
            parser.add_argument(f"--{key}", default=str(value))


def option_layers(options: argparse.Namespace) -> list[Layer]:
    """Return the layers of the options that are given.

    Raises:
        SettingsError: A value is wrong.
    """
    layers = []
    for key, default in DEFAULTS.items():
        given = getattr(options, key)
        if key not in LISTS and key != "verify":
            given = from_text(key, given)
        if given != default:
            layers.append(Layer(_NAMES.get(key, f"--{key}"), {key: given}))
    return layers
