"""Environment specifications: `envs/<name>/env.toml`, what there is and how an agent acts on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, model_validator

from agentgym import catalogue, plugins
from agentgym.errors import ConfigError
from agentgym.manifest import Manifest, load_toml
from agentgym.protocols import SurfaceKind
from agentgym.records import Limits, SurfaceConfig, ToolSpec
from agentgym.services.backend import ServiceSet
from agentgym.services.load import find_services
from agentgym.task.model import Task

_LIMITS = Limits()


class EnvSpec(Manifest):
    """`env.toml` as it is written.

    Attributes:
        title: What it is, in a line.
        about: What stands below every instruction: whose place this is; ``{{now}}`` is the day and
            the logical time.
        sandbox: Catalogue name of a sandbox recipe; None where there is no computer.
        services: Name of the environment whose services these are; None where there are none.
        surfaces: Names of the surfaces, in the order of their tools.
        surface: Options of surfaces, by name.
        max_steps: How many steps an episode has, where its task does not say.
    """

    schema_version: Literal["agentgym.env/1"]
    title: str
    about: str = ""
    sandbox: str | None = None
    services: str | None = None
    surfaces: tuple[str, ...] = Field(min_length=1)
    surface: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    max_steps: int = Field(default=50, gt=0)

    @model_validator(mode="after")
    def _options_have_a_surface(self) -> EnvSpec:
        for name in self.surface:
            if name not in self.surfaces:
                raise ValueError(f"surface.{name}: expected one of surfaces = {self.surfaces}")
        return self

    def with_options(self, given: Mapping[str, Mapping[str, JsonValue]]) -> EnvSpec:
        """Return it with options of surfaces put over its own; those it lacks are added."""
        added = tuple(name for name in given if name not in self.surfaces)
        options = {name: {**self.surface.get(name, {}), **table} for name, table in given.items()}
        update = {"surfaces": self.surfaces + added, "surface": {**self.surface, **options}}
        return self.model_copy(update=update)

    def find_services(self) -> ServiceSet | None:
        """Return its services, None where it has none.

        Raises:
            NotFoundError: No environment of this name has services.
            ServiceError: One of them is broken.
        """
        return None if self.services is None else find_services(self.services)

    def service_tools(self, withheld: Sequence[str] = ()) -> tuple[ToolSpec, ...]:
        """Return the tools of its services, but for those that one of some globs names."""
        services = self.find_services()
        tools = () if services is None else services.tools
        return tuple(t for t in tools if not any(fnmatchcase(t.name, glob) for glob in withheld))

    def make_surface_kinds(
        self,
        brought: Sequence[ToolSpec] = (),
        *,
        withheld: Sequence[str] = (),
        limits: Limits = _LIMITS,
    ) -> tuple[SurfaceKind, ...]:
        """Return the kinds of its surfaces, unopened.

        Args:
            brought: Tools of services that a task brings with it.
            withheld: Globs of services' tools that no surface has: they are somebody else's.
            limits: Of its sandbox.

        Raises:
            NotFoundError: There is no surface of a name.
            ConfigError: One cannot be made with these options, or two have a tool of one name.
        """
        tools, there = (*brought, *self.service_tools(withheld)), self.sandbox is not None
        shown = limits.output_bytes
        kinds: list[SurfaceKind] = [
            plugins.load("agentgym.surfaces", name)(
                SurfaceConfig(tools, self.surface.get(name, {}), there, shown)
            )
            for name in self.surfaces
        ]
        names = [tool.name for kind in kinds for tool in kind.tools()]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(
                    f"{self.title}: two surfaces have a tool named {name!r}; those of a server "
                    "can have a prefix: [surface.mcp] prefix = '…'"
                )
        return tuple(kinds)


def spec_of(task: Task) -> EnvSpec:
    """Return the specification of a task's environment, with the task's own options of surfaces.

    Raises:
        NotFoundError: There is no such environment.
        ConfigError: It does not validate.
    """
    return load_env_spec(task.manifest.env).with_options(task.manifest.surface)


def load_env_spec(name: str) -> EnvSpec:
    """Return the environment specification with a catalogue name.

    Raises:
        NotFoundError: No such folder.
        ConfigError: It does not validate; names file, line and field.
    """
    path = catalogue.find("envs", name) / "env.toml"
    return _load(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _load(path: Path, changed_ns: int) -> EnvSpec:
    return load_toml(path, EnvSpec, ConfigError)
