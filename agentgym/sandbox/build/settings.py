"""The settings of a step as OCI config: variables, working directory, user, shell."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from agentgym.records import Json
from agentgym.sandbox.build.dockerfile import expand
from agentgym.sandbox.build.plan import Configure

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SHELL = ("/bin/sh", "-c")


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of an image while it is built."""

    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = ""
    user: str = ""
    shell: tuple[str, ...] = _SHELL
    other: Mapping[str, Json] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Mapping[str, Json]) -> Settings:
        """Read the `config` object of an image."""
        known = ("Env", "WorkingDir", "User", "Shell")
        pairs = [entry.partition("=") for entry in _strings(config.get("Env"))]
        return cls(
            env={name: value for name, _, value in pairs},
            workdir=str(config.get("WorkingDir") or ""),
            user=str(config.get("User") or ""),
            shell=tuple(_strings(config.get("Shell"))) or _SHELL,
            other={name: value for name, value in config.items() if name not in known},
        )

    def config(self) -> dict[str, Json]:
        """Return the `config` object for an image."""
        config = dict(self.other)
        if self.env:
            config["Env"] = [f"{name}={value}" for name, value in self.env.items()]
        if self.workdir:
            config["WorkingDir"] = self.workdir
        if self.user:
            config["User"] = self.user
        if self.shell != _SHELL:
            config["Shell"] = list(self.shell)
        return config

    def after(self, action: Configure) -> Settings:
        """Return the settings with those of an action applied. Raises ValueError."""
        variables = self.variables(action.args)
        env = {name: expand(value, variables) for name, value in action.env}
        workdir = posixpath.join(self.workdir or "/", expand(action.workdir, variables))
        merged = dict(self.other)
        for name, value in cast(Mapping[str, Json], action.other).items():
            before = merged.get(name)
            joins = isinstance(before, Mapping) and isinstance(value, Mapping)
            merged[name] = {**before, **value} if joins else value  # type: ignore[dict-item]
        return replace(
            self,
            env={**self.env, **env},
            workdir=posixpath.normpath(workdir) if action.workdir else self.workdir,
            user=expand(action.user, variables) or self.user,
            shell=action.shell or self.shell,
            other=merged,
        )

    def variables(self, args: Mapping[str, str]) -> dict[str, str]:
        """Return the values of ``$names``; variables take precedence over build arguments."""
        return {"PATH": PATH, **args, **self.env}


def _strings(value: Json) -> list[str]:
    return [str(entry) for entry in value] if isinstance(value, list | tuple) else []
