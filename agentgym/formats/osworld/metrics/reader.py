"""Run one metric; `agentgym.verify.subprocess_reader` starts this file with limits."""

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgym.formats.osworld.metrics.registry import MODULES


def answer(order: Mapping[str, Any], folder: str) -> float:
    """Return the score of a metric over files of a folder."""
    os.chdir(folder)
    module = importlib.import_module(f"agentgym.formats.osworld.metrics.{MODULES[order['metric']]}")
    given = [_value(one, Path(folder)) for one in order["given"]]
    return float(getattr(module, order["metric"])(*given, **order["options"]))


def _value(given: Mapping[str, Any], folder: Path) -> Any:
    if "files" in given:
        return [name and folder / name for name in given["files"]]
    if "file" in given:
        return given["file"] and folder / given["file"]
    return given["value"]
