"""Groups in a file."""

import json
from pathlib import Path
from typing import Any

from gauge.groups import Groups
from gauge.moments import Moments

VERSION = 1
_FIELDS = ("count", "sum", "squares", "least", "most")


def save(path: Path, groups: Groups) -> None:
    """Write groups to a file."""
    content = {
        "version": VERSION,
        "groups": {name: {field: getattr(groups[name], field) for field in _FIELDS} for name in groups},
    }
    Path(path).write_text(json.dumps(content), encoding="utf-8")


def load(path: Path) -> Groups:
    """Return the groups of a file.

    Raises:
        ValueError: The file is of a version that is not known.
    """
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    if content["version"] != VERSION:
        raise ValueError(f"{path}: version {content['version']} is not known")
    groups = Groups()
    for name, fields in content["groups"].items():
        _fill(groups[name], fields)
    return groups


def _fill(moments: Moments, fields: dict[str, Any]) -> None:
    for field in _FIELDS:
        setattr(moments, field, fields[field])
