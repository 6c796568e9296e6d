"""Getters of what a task says, of commands, and of windows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from agentgym.formats.osworld.getters.value import Read, Value
from agentgym.formats.osworld.steps import Stage, truth
from agentgym.records import ExecResult

_TEXT_BYTES: Final = 2**20
_VIDEO: Final = ("mp4", "x-matroska", "webm", "mpeg", "ogg", "quicktime", "x-msvideo")
_WALK: Final = """
import json, os, sys
def tree(path, depth):
    if not os.path.isdir(path) or os.path.islink(path):
        return {"type": "file", "name": os.path.basename(path)}
    names = sorted(os.listdir(path))[:2000] if depth else []
    inside = [tree(os.path.join(path, name), depth - 1) for name in names]
    return {"type": "directory", "name": os.path.basename(path), "children": inside}
print(json.dumps(tree(sys.argv[1], 4) if os.path.isdir(sys.argv[1]) else None))
"""


async def rule(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return what the task itself says."""
    return Value(given["rules"])


async def vm_command_line(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return what a command prints."""
    return Value(_text((await _run(stage, given)).stdout))


async def vm_command_error(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return what a command prints to its error stream."""
    return Value(_text((await _run(stage, given)).stderr))


async def _run(stage: Stage, given: Mapping[str, Any]) -> ExecResult:
    return await stage.guest.run(given["command"], shell=truth(given.get("shell")))


def _text(data: bytes) -> str:
    return data[:_TEXT_BYTES].decode("utf-8", "replace")


async def list_directory(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return the names in a folder and below it; None if it is not there."""
    done = await stage.guest.run(["python3", "-c", _WALK, given["path"]])
    return Value(_json(done.stdout))


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


async def vm_screen_size(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return width and height of the screen."""
    return Value(await stage.guest.size())


async def vm_window_size(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return width and height of the first window of a class; None without one."""
    wanted = str(given["app_class_name"]).lower()
    for window in await stage.guest.windows():
        if wanted in str(window["class"]).lower():
            return Value({"width": window["width"], "height": window["height"]})
    return Value(None)


async def default_video_player(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return the application that opens most kinds of videos."""
    found = []
    for kind in _VIDEO:
        done = await stage.guest.run(["xdg-mime", "query", "default", f"video/{kind}"])
        found += [_text(done.stdout)] if done.stdout.strip() else []
    return Value(max(found, key=found.count) if found else "unknown")
