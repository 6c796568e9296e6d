"""Environment specifications: `envs/<name>/env.toml`, a sandbox recipe plus surfaces."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agentgym import catalogue
from agentgym.errors import ConfigError
from agentgym.manifest import Manifest, load_toml


class EnvSpec(Manifest):
    """`env.toml` as it is written."""

    schema_version: Literal["agentgym.env/1"]
    title: str
    sandbox: str
    surfaces: tuple[str, ...] = Field(min_length=1)
    max_steps: int = Field(default=50, gt=0)


def load_env_spec(name: str) -> EnvSpec:
    """Return the environment specification with a catalogue name.

    Raises:
        NotFoundError: No such folder.
        ConfigError: It does not validate; names file, line and field.
    """
    return load_toml(catalogue.find("envs", name) / "env.toml", EnvSpec, ConfigError)
