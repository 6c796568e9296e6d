"""Runs the setup of services repeatedly, each time in a Python process of its own.

Run as a program, this module is that process: ``python -m agentgym.authoring.rows_afresh FOLDER
SEED FILE`` sets up the services of the task in a folder and writes their initial state to a file.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import agentgym
from agentgym.env.hosting import ServicesStart, prepare_services
from agentgym.env.spec import spec_of
from agentgym.errors import TaskError
from agentgym.records import RowChange
from agentgym.scratch import scratch_folder
from agentgym.services.backend import ServiceSet
from agentgym.services.diff import diff
from agentgym.services.state import Snapshot, hash_from_scratch
from agentgym.task.load import load_folder
from agentgym.task.model import Instance
from agentgym.threads import to_thread

_TIMEOUT_S = 120.0
_NAMED = 5


async def differing_rows(
    instance: Instance,
    services: ServiceSet,
    variables: Sequence[Mapping[str, str]],
    python: Path,
) -> list[str]:
    """Return the differences that runs of the services' setup leave, a line each.

    Args:
        instance: Task instance to set up.
        services: Services to set up.
        variables: Environment variables of each run's process.
        python: Folder that comes first on the module search path of the process.

    Raises:
        TaskError: The setup fails in one of the runs.
    """
    here = _left(prepare_services(services, instance))
    runs = [here, *[await to_thread(_run, instance, each, python) for each in variables]]
    for was, now in pairwise(runs):
        rows = diff(_snapshot(services, was), _snapshot(services, now))
        found = [f"setup/services.py: {_told(row)}" for row in rows[:_NAMED]]
        names = sorted(was["gold"].keys() | now["gold"].keys())
        found += [
            f"setup/services.py: gold {name!r} differs between two runs"
            for name in names
            if was["gold"].get(name) != now["gold"].get(name)
        ]
        if found:
            return found
    return []


def _run(instance: Instance, variables: Mapping[str, str], python: Path) -> Mapping[str, Any]:
    package = str(Path(agentgym.__file__).parents[1])
    path = os.pathsep.join(filter(None, [str(python), package, os.environ.get("PYTHONPATH")]))
    with scratch_folder("rows") as folder:
        left = Path(folder, "left.json")
        arguments = [str(instance.task.folder), str(instance.seed), str(left)]
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-m", __name__, *arguments],
                env={**os.environ, **variables, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            raise TaskError(f"setup/services.py did not end within {_TIMEOUT_S:g} s") from None
        if done.returncode != 0:
            said = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
            raise TaskError(f"setup/services.py fails in a process of its own: {said}")
        found: Mapping[str, Any] = json.loads(left.read_text())
        return found


def _snapshot(services: ServiceSet, run: Mapping[str, Any]) -> Snapshot:
    data = base64.b64decode(run["database"])
    return Snapshot(data, run["now"], services.layout, hash_from_scratch(services.layout, data))


def _told(row: RowChange) -> str:
    key = ", ".join(map(repr, row.key))
    if row.kind == "changed":
        before, after = dict(row.before or {}), dict(row.after or {})
        column = next(iter(before))
        what = f"{column} is {before[column]!r} after one run and {after[column]!r}"
        return f"{row.table} {key}: {what} after another"
    return f"{row.table} {key} is there after one run and not after another"


def _main(folder: str, seed: str, target: str) -> None:
    task = load_folder(Path(folder))
    services = spec_of(task).find_services()
    assert services is not None
    begun = prepare_services(services, task.instance(int(seed)))
    Path(target).write_text(json.dumps(_left(begun)))


def _left(begun: ServicesStart) -> Mapping[str, Any]:
    return {
        "now": begun.snapshot.now,
        "database": base64.b64encode(begun.snapshot.data).decode(),
        "gold": {name: base64.b64encode(data).decode() for name, data in begun.gold.items()},
    }


if __name__ == "__main__":
    _main(*sys.argv[1:])
