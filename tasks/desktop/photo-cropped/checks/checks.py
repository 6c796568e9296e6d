"""Checks of photo-cropped: where in the scan the saved picture comes from.

A cropped picture has exactly the pixels of a part of the scan. `reader.py` finds that part, in a
process with limits.
"""

from __future__ import annotations

import json
from pathlib import Path

from agentgym import CheckResult, Evidence, GuestFileError
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import result

_READER = Path(__file__).with_name("reader.py")
_SCAN = "/home/user/Pictures/scan-0412.png"
_IMAGE_BYTES = 8 * 2**20
_SIDES = ("left", "top", "right", "bottom")


def is_part(evidence: Evidence, path: str, reach: int) -> CheckResult:
    """A picture is a part of the scan that ends near the edges of the photograph.

    Channel: state.

    Args:
        evidence: Evidence of the episode.
        path: The picture.
        reach: Largest distance from the edges of the photograph in pixels.
    """
    found = _place(evidence, path)
    far = max(map(abs, _gaps(evidence, found)))
    return result(far <= reach, f"{path}: is the part {found} of the scan")


def lies_within(evidence: Evidence, path: str) -> CheckResult:
    """A picture shows nothing but the photograph.

    Channel: state.
    """
    gaps = _gaps(evidence, _place(evidence, path))
    over = [f"{-gap} on the {side}" for side, gap in zip(_SIDES, gaps, strict=True) if gap < 0]
    return result(not over, f"{path}: pixels of the border: {', '.join(over) or 'none'}")


def reaches(evidence: Evidence, path: str, lost: int) -> CheckResult:
    """A picture lacks at most so many pixels of the photograph on each side.

    Channel: state.

    Args:
        evidence: Evidence of the episode.
        path: The picture.
        lost: The pixels.
    """
    gaps = _gaps(evidence, _place(evidence, path))
    short = [f"{gap} on the {side}" for side, gap in zip(_SIDES, gaps, strict=True) if gap > lost]
    return result(not short, f"{path}: too many pixels lost: {', '.join(short) or 'none'}")


def _place(evidence: Evidence, path: str) -> list[int]:
    """Return left, top, right and bottom of the part of the scan that the picture shows."""
    files = {
        "scan": evidence.before.read(_SCAN, max_bytes=_IMAGE_BYTES),
        "image": evidence.after.read(path, max_bytes=_IMAGE_BYTES),
    }
    found = ask(_READER, {}, files, what=path)
    if not found:
        raise GuestFileError(f"{path}: is no part of the scan")
    place: list[int] = found
    return place


def _gaps(evidence: Evidence, place: list[int]) -> list[int]:
    """Return by how many pixels each side lies within the photograph; negative beyond it."""
    box = json.loads(evidence.gold("photo.json"))["box"]
    return [place[0] - box[0], place[1] - box[1], box[2] - place[2], box[3] - place[3]]
