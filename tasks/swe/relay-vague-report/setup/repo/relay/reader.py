"""Job files."""

import re
from pathlib import Path

from relay.errors import JobError
from relay.graph import Graph, Job

_LINE = re.compile(r"(?P<name>[\w.-]+)\s*(?::(?P<needs>[^!]*))?(?:!(?P<priority>-?\d+))?$")


def read_jobs(path: str | Path) -> Graph:
    """Return the jobs of a file."""
    graph = Graph()
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        text = line.split("#")[0].strip()
        if not text:
            continue
        found = _LINE.match(text)
        if found is None:
            raise JobError(f"{path}:{number}: expected NAME: NEEDS !PRIORITY, got {text!r}")
        needs = tuple((found["needs"] or "").split())
        graph.add(Job(found["name"], needs, int(found["priority"] or 0)))
    graph.check()
    return graph
