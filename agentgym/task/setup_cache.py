"""The cache of prepared setups: the gold of each, with a note of its origin.

<cache>/gold/<key>/        gold files
<cache>/gold/<key>.json    the note
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from agentgym import catalogue
from agentgym.records import Json


@dataclass(frozen=True, slots=True)
class CachedSetup:
    """One prepared setup; its task is empty if the note does not name it.

    Attributes:
        key: Key in the cache.
        provider: Name of the provider that has its snapshot.
        task: Id of its task.
        params: Values of the task's slots.
        digest: Digest of its result, files and gold.
    """

    key: str
    provider: str = ""
    task: str = ""
    params: Mapping[str, Json] | None = None
    digest: str = ""


def gold_folder(key: str) -> Path:
    """Return the folder of a prepared setup's gold, which may not exist yet."""
    return catalogue.cache_dir() / "gold" / key


def note(gold: Path, setup: CachedSetup) -> None:
    """Write the note of the setup whose gold is in a folder."""
    gold.with_suffix(".json").write_text(json.dumps(asdict(setup)))


def noted(gold: Path) -> CachedSetup:
    """Return the note of the setup whose gold is in a folder."""
    try:
        return CachedSetup(**json.loads(gold.with_suffix(".json").read_text()))
    except (OSError, ValueError, TypeError):
        return CachedSetup(gold.name)


def cached_setups() -> Iterator[CachedSetup]:
    """Yield every setup whose gold is in the cache."""
    for folder in sorted(gold_folder("").glob("*")):
        if folder.is_dir() and not folder.suffix:
            yield noted(folder)


def forget(setup: CachedSetup) -> None:
    """Remove the gold of a setup, and the note."""
    folder = gold_folder(setup.key)
    folder.with_suffix(".json").unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
