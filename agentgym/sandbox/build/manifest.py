"""The format of `recipe.toml`; docs/recipes.md explains every field."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from agentgym.manifest import LimitsManifest, Manifest

_NAME = r"^[A-Za-z_][A-Za-z0-9_.-]*$"
BASES = ("base", "image", "debootstrap", "archive", "dockerfile")
"""The fields that name the base; a recipe has one of them."""


class DebootstrapManifest(Manifest):
    """A ``[debootstrap]`` table."""

    suite: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")
    variant: Literal["minbase", "buildd", ""] = "minbase"
    mirror: str = Field(default="", pattern=r"^($|https?://|file:/)")


class FileManifest(Manifest):
    """A ``[[files]]`` table: a source in the recipe's folder and its target."""

    source: str = Field(min_length=1)
    target: str = Field(pattern=r"^/")
    mode: str = Field(default="", pattern=r"^(0?[0-7]{3,4})?$")
    owner: str = ""


class ServiceManifest(Manifest):
    """A ``[[services]]`` table."""

    name: str = Field(pattern=_NAME)
    command: str = Field(min_length=1)
    health: str = ""
    timeout_s: float = Field(default=30.0, gt=0)
    in_setup: bool = True


class RecipeManifest(Manifest):
    """The content of a `recipe.toml`."""

    schema_version: Literal["agentgym.recipe/1"]
    title: str
    stands_for: tuple[str, ...] = ()
    base: str = ""
    image: str = ""
    debootstrap: DebootstrapManifest | None = None
    archive: str = ""
    dockerfile: str = ""
    apt: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    files: tuple[FileManifest, ...] = ()
    run: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    user: str = ""
    workdir: str = Field(default="", pattern=r"^($|/)")
    services: tuple[ServiceManifest, ...] = ()
    ports: tuple[int, ...] = ()
    network: Literal["none", "allowlist", "open"] = "none"
    allow: tuple[str, ...] = ()
    hostname: str = Field(default="sandbox", pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    limits: LimitsManifest = LimitsManifest()

    @model_validator(mode="after")
    def _fits_together(self) -> RecipeManifest:
        given = [name for name in BASES if getattr(self, name)]
        if len(given) != 1:
            seen = " and ".join(given) or "none of them"
            raise ValueError(f"expected one of {', '.join(BASES)} to begin with, got {seen}")
        if self.base == "host":
            built = [name for name in ("apt", "pip", "files", "run") if getattr(self, name)]
            if built:
                raise ValueError(
                    f"base 'host' builds nothing, so there can be no {built[0]!r}; "
                    'begin with another recipe, e.g. base = "debian"'
                )
        if self.allow and self.network == "none":
            raise ValueError('\'allow\' needs network = "allowlist" or "open"')
        if bad := [port for port in self.ports if not 0 < port < 65536]:
            raise ValueError(f"expected ports from 1 to 65535, got {bad[0]}")
        names = [service.name for service in self.services]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two services are called {twice[0]!r}")
        return self
