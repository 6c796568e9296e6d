"""Environments whose methods are tools, for the ``environment_factory`` of TRL's `GRPOTrainer`.

TRL makes one instance an episode, reads the tools from names, type hints and docstrings of the
methods, and calls `reset`, the tools and `get_reward`. Written against the interface of TRL 1.16.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, cast

from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.env.opening import load_built
from agentgym.env.portal import portal
from agentgym.errors import AgentGymError, ConfigError, RecordError, UnsupportedError
from agentgym.gymnasium.registration import shared_provider
from agentgym.records import Action, ToolSpec, Verdict

_TYPES: Final[Mapping[object, Any]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}
_RESERVED: Final = frozenset({"reset", "get_reward"})
_OVER: Final = "The episode has ended. No tool does anything now."


class ToolEnvironment:
    """One episode at a time of a task; `tool_environment` adds its tools as methods.

    Attributes:
        missing: Why episodes of this class have no score.
    """

    missing: ClassVar[list[str]]
    _environment: ClassVar[Environment]

    def __init__(self) -> None:
        self._episode: Episode | None = None
        self._verdict: Verdict | None = None

    def reset(self, **row: Any) -> str:
        """Begin an episode.

        Args:
            row: A row of the data set; ``seed`` decides the instance.

        Returns:
            The first text, which TRL appends to the last message of the prompt.

        Raises:
            ConfigError: The row has no seed.
        """
        seed = row.get("seed")
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise ConfigError(f"seed: expected a column of integers from 0 on, got {seed!r}")
        self._verdict = None
        try:
            if self._episode is not None:
                portal().run(self._episode.close())
                self._episode = None
            self._episode = portal().run(self._environment.start(seed))
        except AgentGymError as error:
            return self._lose(error)
        return self._episode.first.text

    def get_reward(self) -> float | None:
        """End the episode if need be, and return its score; None if it has none."""
        if self._episode is not None and self._verdict is None:
            try:
                self._settle(portal().run(self._episode.finish()))
            except AgentGymError as error:
                self._lose(error)
        return self._verdict.score if self._verdict and self._verdict.scored else None

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        if self._episode is None or self._verdict is not None:
            return _OVER
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            done = portal().run(self._episode.step(Action(tool, given)))
        except AgentGymError as error:
            return self._lose(error)
        if done.verdict is not None:
            self._settle(done.verdict)
        return done.observation.text

    def _settle(self, verdict: Verdict) -> None:
        self._verdict = verdict
        if not verdict.scored:
            type(self).missing.append(verdict.status)

    def _lose(self, error: AgentGymError) -> str:
        """Note an episode that broke. A record that cannot be written ends the training."""
        if isinstance(error, RecordError):
            raise error
        type(self).missing.append(f"error:{error.boundary}: {error}")
        episode, self._episode = self._episode, None
        if episode is not None:
            portal().run(episode.close())
        return _OVER


def tool_environment(
    task: str, *, sandbox: str = "bubblewrap", max_steps: int | None = None
) -> type[ToolEnvironment]:
    """Return a class for ``environment_factory``, with a method for each tool of a task.

    Args:
        task: Task id, or the path of a task folder.
        sandbox: Name of the sandbox provider.
        max_steps: Steps before an episode is cut off; None for the task's own number.

    Raises:
        UnsupportedError: A tool cannot be a method.
    """
    environment = Environment(
        load_built(task), shared_provider(portal(), sandbox), max_steps=max_steps
    )
    return environment_class(environment)


def environment_class(environment: Environment) -> type[ToolEnvironment]:
    """Return the class of an environment that stays open; see `tool_environment`."""
    methods = {tool.name: _method(tool) for tool in environment.tools}
    fields = {**methods, "missing": [], "_environment": environment}
    name = re.sub(r"\W", "_", environment.task.id)
    return cast("type[ToolEnvironment]", type(name, (ToolEnvironment,), fields))


def _method(tool: ToolSpec) -> Callable[..., str]:
    """Return a tool as a method with a signature and a docstring that TRL can read."""
    if tool.name in _RESERVED or tool.name.startswith("_"):
        raise UnsupportedError(f"tool {tool.name!r} cannot be a method: TRL keeps that name")

    def call(self: ToolEnvironment, **arguments: Any) -> str:
        return self._call(tool.name, arguments)

    schema: Mapping[str, Any] = tool.parameters
    required = schema.get("required", ())
    hints: dict[str, Any] = {}
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    lines = [_line(tool.description) or f"{tool.name}.", "", "Args:"]
    # Parameters without a default come first.
    told = sorted(schema.get("properties", {}).items(), key=lambda item: item[0] not in required)
    for name, about in told:
        hints[name] = _TYPES.get(about.get("type"), Any)
        default: Any = inspect.Parameter.empty
        if name not in required:
            hints[name], default = hints[name] | None, None
        kind = inspect.Parameter.KEYWORD_ONLY
        try:
            parameter = inspect.Parameter(name, kind, default=default, annotation=hints[name])
        except ValueError as error:
            raise UnsupportedError(f"tool {tool.name!r} cannot be a method: {error}") from None
        parameters.append(parameter)
        lines.append(f"    {name}: {_line(about.get('description', '')) or name}")
    call.__name__ = call.__qualname__ = tool.name
    call.__doc__ = "\n".join(lines if told else lines[:1])
    call.__annotations__ = {**hints, "return": str}
    call.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    return call


def _line(text: str) -> str:
    return " ".join(text.split())
