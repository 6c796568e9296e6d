"""Globs that select some of the tools there are: the option `tools` of surfaces and agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgym.errors import ConfigError, NotFoundError
from agentgym.records import Json, ToolSpec
from agentgym.records.pattern import fits_glob


def selected_tools(
    surface: str,
    tools: Sequence[ToolSpec],
    options: Mapping[str, Json],
    default: Sequence[str] = ("*",),
) -> tuple[ToolSpec, ...]:
    """Return the tools that a surface offers, in their order.

    Args:
        surface: Name of the surface.
        tools: The tools that it has.
        options: Its options; `tools` is the only one.
        default: The globs if the option is absent.

    Raises:
        ConfigError: An option is unknown, `tools` is not a list of globs, or a glob fits nothing.
    """
    if unknown := sorted(set(options) - {"tools"}):
        raise ConfigError(str(NotFoundError(f"option of surface.{surface}", unknown[0], ["tools"])))
    globs = options.get("tools", list(default))
    if not isinstance(globs, Sequence) or isinstance(globs, str) or not globs:
        raise ConfigError(f"surface.{surface}.tools: expected a list of globs, got {globs!r}")
    return picked(f"surface.{surface}.tools", tools, [str(glob) for glob in globs])


def picked(option: str, tools: Sequence[ToolSpec], globs: Sequence[str]) -> tuple[ToolSpec, ...]:
    """Return the tools that some glob fits, in their order.

    Args:
        option: Name of the option, for messages.
        tools: The tools to choose from.
        globs: Globs of names.

    Raises:
        ConfigError: A glob fits no tool.
    """
    for glob in globs:
        if not any(fits_glob(tool.name, glob) for tool in tools):
            known = ", ".join(tool.name for tool in tools[:20])
            raise ConfigError(f"{option}: {glob!r} picks no tool; known: {known}")
    return tuple(tool for tool in tools if any(fits_glob(tool.name, glob) for glob in globs))
