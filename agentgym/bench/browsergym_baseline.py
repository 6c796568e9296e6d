"""A BrowserGym baseline: resets and steps of the same page of MiniWoB++ in the same run.

BrowserGym pins versions that agentgym does not, so it runs in the Python that
AGENTGYM_BENCH_BROWSERGYM names, else in this one if the package is installed here.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentgym.bench import browsergym_program
from agentgym.browser.executable import find_executable

PYTHON: Final = "AGENTGYM_BENCH_BROWSERGYM"
_MISSING: Final = (
    f"BrowserGym is not measured: it is not installed; name a Python that has browsergym-core and "
    f"browsergym-miniwob in {PYTHON}"
)
_LIMIT_S: Final = 600


@dataclass(frozen=True, slots=True)
class PeerTimes:
    """Times of BrowserGym.

    Attributes:
        reset_ms: Milliseconds of each reset.
        step_ms: Milliseconds of each step.
        version: Version of browsergym-core.
    """

    reset_ms: list[float]
    step_ms: list[float]
    version: str


def peer_python() -> str:
    """Return the Python that has BrowserGym; empty if it is not installed."""
    if os.environ.get(PYTHON):
        return os.environ[PYTHON]
    found = importlib.util.find_spec("browsergym")
    return sys.executable if found is not None else ""


async def measure_peer(page: Path, resets: int, steps: int, *, waits: bool) -> PeerTimes | str:
    """Return what BrowserGym takes for a page, or why it cannot be measured.

    Args:
        page: The page of MiniWoB++, as a file.
        resets: Number of resets.
        steps: Number of steps.
        waits: Whether it waits after an action as it does by default, or not at all.
    """
    python = peer_python()
    if not python:
        return _MISSING
    browser = str(find_executable().path)
    given = [page.as_uri(), browser, str(resets), str(steps), "defaults" if waits else "none"]
    try:
        process = await asyncio.create_subprocess_exec(
            python,
            browsergym_program.__file__,
            *given,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        return f"BrowserGym is not measured: {python}: {error.strerror}"
    try:
        async with asyncio.timeout(_LIMIT_S):
            told, complaint = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return f"BrowserGym is not measured: it took longer than {_LIMIT_S} s"
    if process.returncode:
        last = complaint.decode(errors="replace").strip().splitlines()[-1:]
        return f"BrowserGym is not measured: {' '.join(last)[:300]}"
    found = json.loads(told.decode().splitlines()[-1])
    return PeerTimes(found["reset_ms"], found["step_ms"], found["version"])
