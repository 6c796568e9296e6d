"""Getters of files: of the computer, of the local folder, and those that steps have written."""

from __future__ import annotations

import io
import posixpath
from collections.abc import Mapping
from typing import Any, Final

from agentgym.formats.osworld.getters.value import Files, Read
from agentgym.formats.osworld.guest import HOME
from agentgym.formats.osworld.steps import Stage
from agentgym.threads import to_thread

_ZIP_ENTRY: Final = b"PK\x01\x02"
_MOST_ENTRIES: Final = 50_000


async def vm_file(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return one file of the computer, or several of which some are given to the metric."""
    names: list[str | None] = []
    for path, name in _pairs(given):
        data = await stage.guest.read(path)
        names.append(None if data is None else stage.keep(name, data))
    return _given(names, given)


async def cloud_file(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return the local copy of one online file, or of several."""
    names: list[str | None] = []
    for url, name in _pairs(given):
        names.append(stage.keep(name, stage.files.read(url, stage.task)))
    return _given(names, given)


def _pairs(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    if not given.get("multi"):
        return [(given["path"], given["dest"])]
    return list(zip(given["path"], given["dest"], strict=True))


def _given(names: list[str | None], given: Mapping[str, Any]) -> Files:
    chosen = tuple(names[at] for at in sorted(given.get("gives", (0,))))
    return Files(chosen, is_list=len(chosen) > 1)


async def cache_file(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return a file that a step or another getter has written."""
    name = posixpath.basename(given["path"])
    return Files((name if name in stage.kept else None,))


async def _settings(stage: Stage, given: Mapping[str, Any], path: str) -> Read:
    data = await stage.guest.read(path)
    name = given.get("dest") or posixpath.basename(path)
    return Files((None if data is None else stage.keep(name, data),))


async def gimp_config_file(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return a file of GIMP's settings."""
    return await _settings(stage, given, f"{HOME}/.config/GIMP/2.10/{given['file_name']}")


async def vlc_config(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return VLC's settings."""
    return await _settings(stage, given, f"{HOME}/.config/vlc/vlcrc")


async def _slide_part(stage: Stage, given: Mapping[str, Any], kind: str) -> Read:
    """Return the first medium of a slide whose relation is of a kind."""
    data = await stage.guest.read(given["ppt_file_path"])
    number = int(given["slide_index"]) + 1
    found = None if data is None else await to_thread(_medium, data, number, kind)
    return Files((None if found is None else stage.keep(given["dest"], found),))


def _medium(data: bytes, number: int, kind: str) -> bytes | None:
    """Return the first medium of a slide, numbered from 1, whose relation is of a kind."""
    import zipfile
    from xml.etree import ElementTree

    # A reader keeps half a kilobyte for each entry.
    if data.count(_ZIP_ENTRY) > _MOST_ENTRIES:
        return None
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            relations = archive.open(f"ppt/slides/_rels/slide{number}.xml.rels").read(2**20)
            for one in ElementTree.fromstring(relations):
                target = one.get("Target", "")
                if str(one.get("Type")).endswith(kind) and one.get("TargetMode") != "External":
                    path = posixpath.normpath(posixpath.join("ppt/slides", target))
                    return archive.open(path).read(2**26)
    except Exception:  # noqa: BLE001 - a hostile archive makes the reader raise anything
        pass
    return None


async def background_image_in_slide(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return the picture behind a slide."""
    return await _slide_part(stage, given, "/image")


async def audio_in_slide(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return the sound in a slide."""
    return await _slide_part(stage, given, "/audio")
