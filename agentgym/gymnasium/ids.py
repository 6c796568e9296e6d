"""Registers the tasks on the search path with Gymnasium, as soon as Gymnasium is imported.

``terminal/git-repair-v1`` is ``agentgym/terminal.git-repair-v1`` in Gymnasium, whose ids have one
slash. Importing Gymnasium takes longer than the rest of a command's start, so importing agentgym
only arranges for the registration, which happens once Gymnasium has been imported. Every process of
the package imports this module, so it imports little itself.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

from agentgym.errors import AgentGymError

if TYPE_CHECKING:
    from importlib.abc import Loader

    from gymnasium.envs.registration import EnvSpec

_GYMNASIUM: Final = "gymnasium"
_TASK_ID: Final = re.compile(r"[\w.-]+/[\w.-]+-v\d+")


def register_with_gymnasium() -> None:
    """Register the tasks now if Gymnasium has been imported, else as soon as it is.

    A broken search path does not break an import: the next use of the path reports the error.
    """
    if _GYMNASIUM in sys.modules:
        _register_quietly()
    elif not any(isinstance(finder, _Watch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watch())


def register_tasks() -> None:
    """Register every task on the search path with Gymnasium. This reads only folder listings."""
    import gymnasium

    from agentgym.catalogue import folders

    for task_id in folders("tasks"):
        if _TASK_ID.fullmatch(task_id):
            spec = spec_of(task_id)
            gymnasium.registry.setdefault(spec.id, spec)


def spec_of(task_id: str, **arguments: Any) -> EnvSpec:
    """Return the specification with which Gymnasium can create an environment, in any process."""
    from gymnasium.envs.registration import EnvSpec

    return EnvSpec(
        f"agentgym/{task_id.replace('/', '.')}",
        entry_point="agentgym.gymnasium.registration:make",
        # GymEnv enforces the order of calls itself and is checked by its own tests.
        order_enforce=False,
        disable_env_checker=True,
        kwargs={"task_id": task_id, **arguments},
    )


def _register_quietly() -> None:
    with suppress(AgentGymError, OSError):
        register_tasks()


class _Watch:
    """Detects the first import of Gymnasium, and lets the other finders find it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _GYMNASIUM:
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = cast("Loader", _ThenRegister(spec.loader))
        return spec


class _ThenRegister:
    """Imports a module through another loader, then registers the tasks."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        """Return the other loader's attribute: for resources, sources and the like."""
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        _register_quietly()
