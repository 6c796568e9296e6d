"""Runs on disk: one folder, one SQLite database, content-addressed blobs (docs/record.md).

Example:
    >>> from agentgym.record import RunStore, read_steps
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentgym.record.episode_rows import EpisodePlan, EpisodeRow
    from agentgym.record.store import RunStore
    from agentgym.record.trajectories import read_steps

__all__ = ["EpisodePlan", "EpisodeRow", "RunStore", "read_steps"]

_MODULES = {
    "EpisodePlan": "episode_rows",
    "EpisodeRow": "episode_rows",
    "RunStore": "store",
    "read_steps": "trajectories",
}


def __getattr__(name: str) -> Any:
    # Importing them loads numpy and Pillow, which most commands do not need.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
