"""Checks of flyer-with-picture: the picture, the flyer with it, and the PDF of both."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

from agentgym import CheckResult, Evidence
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import brief, result

_READER = Path(__file__).with_name("reader.py")
_FOLDER = "/home/user/Flyer"
_FLYER = f"{_FOLDER}/flyer.docx"
_MOST_BYTES = 16 * 2**20
_MOST_OFF = 6.0
"""Largest mean difference of pixels, of 255; programs scale in different ways."""
_EMU_PER_CM = 360_000
_SHOWN_CM = (3.0, 17.0)


def picture(evidence: Evidence) -> CheckResult:
    """The new picture is the photograph without its strip, scaled to the width of the brief.

    Channel: state.
    """
    wanted = _wanted(evidence)
    seen = _ask(evidence, "picture", f"{_FOLDER}/{wanted['picture']}")
    fault = _picture_fault(seen, wanted)
    if not fault and seen["format"] != "PNG":
        fault = f"its format is {seen['format']}"
    return result(not fault, f"{wanted['picture']}: {fault or 'as the brief demands'}")


def lines(evidence: Evidence) -> CheckResult:
    """The flyer has its text with the two lines of the brief, and the mark is gone.

    Channel: state.
    """
    seen, wanted = _flyer(evidence)["texts"], _wanted(evidence)["texts"]
    if [_plain(text) for text in seen] == [_plain(text) for text in wanted]:
        return result(True, f"{len(wanted)} paragraphs as demanded")
    odd = [text for text in seen if _plain(text) not in map(_plain, wanted)]
    gone = [text for text in wanted if _plain(text) not in map(_plain, seen)]
    return result(False, f"odd: {brief((odd or ['nothing'])[0])}, missing: {(gone or ['-'])[0]!r}")


def embedded(evidence: Evidence) -> CheckResult:
    """The flyer holds the picture once, at the place of the mark, with its proportions.

    No text is beside it.

    Channel: state.
    """
    wanted, pictures = _wanted(evidence), _flyer(evidence)["pictures"]
    if len(pictures) != 1:
        return result(False, f"the flyer has {len(pictures)} pictures, expected one")
    (one,) = pictures
    if fault := _picture_fault(one, wanted):
        return result(False, f"the picture in the flyer: {fault}")
    place = wanted["place"]
    # A picture is tied to the paragraph of the mark, or to one beside it if that is gone.
    if one["before"] not in ({place - 1, place} if one["has_text"] else {place}):
        return result(False, f"it comes after {one['before']} paragraphs, expected {place}")
    wide, high = one["shown"]
    if (
        one["cropped"]
        or high <= 0
        or abs(wide / high / (one["size"][0] / one["size"][1]) - 1) > 0.03
    ):
        return result(False, f"its proportions are not kept: {wide} to {high}")
    if not one["alone"] or one["has_text"] and one["inline"]:
        return result(False, "text is beside it")
    shown = wide / _EMU_PER_CM
    good = _SHOWN_CM[0] <= shown <= _SHOWN_CM[1]
    return result(good, f"it is shown {shown:.1f} cm wide")


def exported(evidence: Evidence) -> CheckResult:
    """The PDF has one page with the text of the flyer and with the picture.

    Channel: state.
    """
    wanted = _wanted(evidence)
    pages = _ask(evidence, "pages", f"{_FOLDER}/{wanted['pdf']}")
    if len(pages) != 1:
        return result(False, f"{wanted['pdf']} has {len(pages)} pages, expected one")
    (page,) = pages
    if _plain(page["text"]) != _plain("".join(wanted["texts"])):
        return result(False, f"{wanted['pdf']} has the text {brief(page['text'])}")
    if len(page["pictures"]) != 1:
        return result(False, f"{wanted['pdf']} has {len(page['pictures'])} pictures, expected one")
    fault = _picture_fault(page["pictures"][0], wanted, any_size=True)
    return result(not fault, f"{wanted['pdf']}: {fault or 'one page with text and picture'}")


def _wanted(evidence: Evidence) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(evidence.gold("flyer.json"))
    return found


def _flyer(evidence: Evidence) -> dict[str, Any]:
    found: dict[str, Any] = _ask(evidence, "document", _FLYER)
    return found


def _ask(evidence: Evidence, what: str, path: str) -> Any:
    data = evidence.after.read(path, max_bytes=_MOST_BYTES)
    files = {"file": data, "gold": evidence.gold("picture.png")}
    return ask(_READER, {"what": what}, files, what=path)


def _picture_fault(seen: dict[str, Any], wanted: dict[str, Any], any_size: bool = False) -> str:
    """Return what is wrong with a picture; empty if it is right.

    Args:
        seen: What the reader says of it.
        wanted: The gold of the task.
        any_size: Whether it may have other pixels, as a program that exports it decides.
    """
    size, want = seen["size"], wanted["size"]
    if any_size:
        if abs(size[0] / size[1] / (want[0] / want[1]) - 1) > 0.02:
            return f"{size[0]} x {size[1]} pixels have other proportions"
    elif size[0] != want[0] or abs(size[1] - want[1]) > 1:
        return f"{size[0]} x {size[1]} pixels, expected {want[0]} x {want[1]}"
    if seen["off"] > _MOST_OFF:
        return f"shows another part of the photograph (its pixels are {seen['off']:.1f} off)"
    return ""


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())
