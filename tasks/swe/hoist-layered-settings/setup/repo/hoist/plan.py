"""Plans."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hoist.layers import Setting


@dataclass(frozen=True)
class Artifact:
    name: str
    hosts: int
    tags: frozenset[str]


def read_manifest(path: Path) -> list[Artifact]:
    """Return the artifacts of a manifest: a name, a number of hosts and tags a line.

    Raises:
        ValueError: A line is wrong.
    """
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        name, *rest = line.split() or [""]
        if not name or name.startswith("#"):
            continue
        if not rest or not rest[0].isdigit():
            raise ValueError(f"{path}:{number}: expected NAME HOSTS [TAG]...")
        found.append(Artifact(name, int(rest[0]), frozenset(rest[1:])))
    return found


def plan(environment: str, artifacts: list[Artifact], settings: Mapping[str, Setting]) -> list[str]:
    """Return the lines of a plan: groups of hosts that are served at once."""
    tags, skip = settings["tags"].value, settings["skip"].value
    hosts = [
        f"{artifact.name}@{environment}-{settings['region'].value}-{number}"
        for artifact in artifacts
        if artifact.name not in skip and (not tags or artifact.tags & set(tags))
        for number in range(1, artifact.hosts + 1)
    ]
    jobs = settings["jobs"].value
    how = f"timeout {settings['timeout'].value:g}" + (", verified" if settings["verify"].value else "")
    groups = [hosts[at : at + jobs] for at in range(0, len(hosts), jobs)]
    return [f"{' '.join(group)} ({how})" for group in groups]
