"""State files: the last run of each job."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path


def read_state(path: Path | str) -> dict[str, datetime]:
    """Return the last runs by job; none if there is no file."""
    path = Path(path)
    if not path.exists():
        return {}
    content = json.loads(path.read_text(encoding="utf-8"))
    return {name: datetime.fromisoformat(text) for name, text in content.items()}


def write_state(path: Path | str, last: Mapping[str, datetime]) -> None:
    content = {name: due.isoformat() for name, due in sorted(last.items())}
    Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
