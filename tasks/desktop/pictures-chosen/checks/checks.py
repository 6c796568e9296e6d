"""Checks of pictures-chosen: which photographs were copied, and under which names."""

from __future__ import annotations

import hashlib
import json

from agentgym import CheckResult, Evidence
from agentgym.verify.values import result

_IMAGE_BYTES = 4 * 2**20
_MOST_FILES = 60


def right_ones(evidence: Evidence, folder: str) -> CheckResult:
    """The pictures in a folder are copies of the right photographs, under any names.

    Channel: state.
    """
    wanted = _wanted(evidence)
    found = sorted(_pictures(evidence, folder).values())
    good = len(set(found) & set(wanted))
    message = f"{folder}: {len(found)} pictures, {good} of the {len(wanted)} right ones"
    return result(found == sorted(wanted), message)


def names(evidence: Evidence, folder: str, stem: str) -> CheckResult:
    """The pictures in a folder are numbered in the order of the originals.

    Channel: state.

    Args:
        evidence: Evidence of the episode.
        folder: The folder.
        stem: What is before the number.
    """
    wanted = {f"{stem}{n}.jpg": digest for n, digest in enumerate(_wanted(evidence), 1)}
    found = _pictures(evidence, folder)
    wrong = sorted(
        name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)
    )
    return result(
        not wrong, f"{folder}: wrong, missing or too many: {', '.join(wrong)[:200] or 'none'}"
    )


def _wanted(evidence: Evidence) -> list[str]:
    chosen: list[str] = json.loads(evidence.gold("chosen.json"))
    return chosen


def _pictures(evidence: Evidence, folder: str) -> dict[str, str]:
    """Return the digests of the new files in a folder by their names; a link has none."""
    tree, old = evidence.after, set(evidence.before.list(folder))
    found = {}
    for name in [name for name in tree.list(folder) if name not in old][:_MOST_FILES]:
        path = f"{folder}/{name}"
        about = tree.stat(path, follow=False)
        is_file = about is not None and about.kind == "file"
        data = tree.read(path, max_bytes=_IMAGE_BYTES) if is_file else b""
        found[name] = hashlib.sha256(data).hexdigest()
    return found
