"""Environment specifications: `envs/<name>/env.toml`, the world and the agent's surfaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field, JsonValue, model_validator

from agentgym import catalogue, plugins
from agentgym.errors import ConfigError
from agentgym.manifest import Manifest, load_toml
from agentgym.protocols import SurfaceKind
from agentgym.records import Limits, SurfaceConfig, ToolSpec
from agentgym.records.pattern import fits_glob
from agentgym.services.backend import ServiceSet
from agentgym.services.load import find_services
from agentgym.task.answer import Answer
from agentgym.task.model import Task

if TYPE_CHECKING:
    from agentgym.sites.load import LoadedSite

_LIMITS = Limits()


class EnvSpec(Manifest):
    """The content of `env.toml`.

    Attributes:
        title: Title, in one line.
        about: Text below every instruction that describes the place; ``{{now}}`` stands for the day
            and the logical time.
        sandbox: Catalogue name of a sandbox recipe; None if the environment has no computer.
        services: Name of the environment that defines the services, or a list of several whose
            services share one state; None without services.
        sites: Web sites by name, such as ``office/mail`` or ``office/*``; the first is the start.
        surfaces: Names of the surfaces, in the order of their tools.
        surface: Options of surfaces, by name.
        max_steps: Largest number of steps in an episode whose task sets no limit.
        answer: What `submit` takes in a task that does not say so: a text, or nothing.
    """

    schema_version: Literal["agentgym.env/1"]
    title: str
    about: str = ""
    sandbox: str | None = None
    services: str | tuple[str, ...] | None = None
    sites: tuple[str, ...] = ()
    surfaces: tuple[str, ...] = Field(min_length=1)
    surface: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    max_steps: int = Field(default=50, gt=0)
    answer: Literal["text", "none"] = "text"

    @model_validator(mode="after")
    def _options_have_a_surface(self) -> EnvSpec:
        for name in self.surface:
            if name not in self.surfaces:
                raise ValueError(f"surface.{name}: expected one of surfaces = {self.surfaces}")
        return self

    def with_options(self, given: Mapping[str, Mapping[str, JsonValue]]) -> EnvSpec:
        """Return a copy with additional options of surfaces, which override its own."""
        added = tuple(name for name in given if name not in self.surfaces)
        options = {name: {**self.surface.get(name, {}), **table} for name, table in given.items()}
        update = {"surfaces": self.surfaces + added, "surface": {**self.surface, **options}}
        return self.model_copy(update=update)

    def with_surfaces(self, names: Sequence[str]) -> EnvSpec:
        """Return a copy with these surfaces instead of its own, whose options it keeps."""
        options = {name: table for name, table in self.surface.items() if name in names}
        return self.model_copy(update={"surfaces": tuple(names), "surface": options})

    def find_services(self) -> ServiceSet | None:
        """Return its services, None if the environment has no services.

        Raises:
            NotFoundError: No environment of this name has services.
            ServiceError: A service is broken.
        """
        if not self.services:
            return None
        return find_services(
            *([self.services] if isinstance(self.services, str) else self.services)
        )

    def find_sites(self, *, has_sandbox: bool = False) -> tuple[LoadedSite, ...]:
        """Return its web sites, the start first.

        Args:
            has_sandbox: Whether a task brings a sandbox.

        Raises:
            NotFoundError: A site is unknown.
            ConfigError: A site is broken, two sites have one host, or a program has no sandbox.
        """
        if not self.sites:
            return ()
        # Most environments have no sites, and should start without a template engine.
        from agentgym.sites.load import find_sites

        found = find_sites(self.sites)
        programs = [site for site in found if site.manifest.port is not None]
        if programs and not (has_sandbox or self.sandbox):
            host = programs[0].manifest.host
            raise ConfigError(
                f"{self.title}: the site {host} is a program of its own; add sandbox = '…' of a "
                "recipe that starts it"
            )
        return found

    def service_tools(self, withheld: Sequence[str] = ()) -> tuple[ToolSpec, ...]:
        """Return the tools of its services, without those that match one of the globs."""
        services = self.find_services()
        tools = () if services is None else services.tools
        return tuple(t for t in tools if not any(fits_glob(t.name, glob) for glob in withheld))

    def make_surface_kinds(
        self,
        brought: Sequence[ToolSpec] = (),
        *,
        withheld: Sequence[str] = (),
        limits: Limits = _LIMITS,
        has_sandbox: bool = False,
    ) -> tuple[SurfaceKind, ...]:
        """Return the kinds of its surfaces, unopened.

        Args:
            brought: Service tools that a task brings.
            withheld: Globs of another actor's service tools, which no surface offers.
            limits: Limits of its sandbox.
            has_sandbox: Whether a task brings a sandbox.

        Raises:
            NotFoundError: A surface is unknown.
            ConfigError: A surface rejects its options, or two surfaces have a tool of one name.
        """
        tools = (*brought, *self.service_tools(withheld))
        there = has_sandbox or self.sandbox is not None
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
    """Return the specification of a task's environment, with the task's surfaces and options.

    Raises:
        NotFoundError: The environment is unknown.
        ConfigError: The specification is invalid.
    """
    spec = load_env_spec(task.manifest.env).with_options(task.manifest.surface)
    return spec.with_surfaces(task.surfaces) if task.surfaces else spec


def answer_of(task: Task) -> Answer:
    """Return what `submit` takes in a task: as the task says, or else its environment.

    Raises:
        NotFoundError: The environment is unknown.
        ConfigError: The specification is invalid.
    """
    said = "answer" in task.manifest.model_fields_set
    return task.manifest.answer if said else load_env_spec(task.manifest.env).answer


def load_env_spec(name: str) -> EnvSpec:
    """Return the environment specification with a catalogue name.

    Raises:
        NotFoundError: The folder does not exist.
        ConfigError: The specification is invalid; the message names file, line and field.
    """
    path = catalogue.find("envs", name) / "env.toml"
    return _load(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _load(path: Path, changed_ns: int) -> EnvSpec:
    return load_toml(path, EnvSpec, ConfigError)
