"""A checkout of tau2-bench on this machine: its domains, and the Python that can run them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from agentgym.errors import NotFoundError, TaskError
from agentgym.manifest import show_path

_DOMAINS = Path("src", "tau2", "domains")
_DATA = Path("data", "tau2", "domains")
_ENVIRONMENTS = ((".venv", "bin", "python"), (".venv", "Scripts", "python.exe"))


@dataclass(frozen=True)
class Checkout:
    """A folder with tau2-bench.

    Args:
        path: The folder, absolute.
        python: The interpreter that runs its code.
    """

    path: Path
    python: str

    def domains(self) -> tuple[str, ...]:
        """Return the names of its domains, sorted."""
        found = (self.path / _DOMAINS).glob("*/environment.py")
        return tuple(sorted(path.parent.name for path in found))

    def check(self, domain: str) -> None:
        """Raise if the checkout lacks a domain.

        Raises:
            NotFoundError: The checkout lacks it.
        """
        if domain not in self.domains():
            hint = f"{show_path(self.path)} has: {', '.join(self.domains())}"
            raise NotFoundError("tau2 domain", domain, self.domains(), hint)

    def data(self, domain: str) -> Path:
        """Return the folder with a domain's data."""
        return self.path / _DATA / domain

    def other_tasks(self, domain: str) -> list[Path]:
        """Return the smaller task files beside `tasks.json`, sorted, without the spoken ones."""
        found = self.data(domain).glob("tasks_*.json")
        return sorted(path for path in found if path.stem != "tasks_voice")


def open_checkout(path: Path, python: str | None = None) -> Checkout:
    """Return the checkout in a folder.

    Args:
        path: The folder with `src/tau2` and `data/tau2`.
        python: Interpreter for its code; by default that of its `.venv`, else this one.

    Raises:
        TaskError: The folder is not such a checkout.
    """
    path = Path(os.path.abspath(os.path.expanduser(path)))
    for part in (_DOMAINS, _DATA):
        if not os.path.isdir(path / part):
            raise TaskError(
                f"{show_path(path)}: expected a checkout of tau2-bench, but it has no folder {part}"
            )
    if python is None:
        own = (path.joinpath(*parts) for parts in _ENVIRONMENTS)
        python = next((str(found) for found in own if found.exists()), sys.executable)
    checkout = Checkout(path, python)
    if not checkout.domains():
        raise TaskError(f"{show_path(path)}: no domain below {_DOMAINS}")
    return checkout
