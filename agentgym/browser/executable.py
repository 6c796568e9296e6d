"""Finds Chromium on this machine: the system's package, or what Playwright has installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from agentgym.errors import ConfigError

VARIABLE: Final = "AGENTGYM_CHROMIUM"
INSTALL: Final = (
    "install it with `apt-get install chromium-headless-shell` or "
    "`playwright install --only-shell chromium`, or name a program in " + VARIABLE
)
_VERSION_S: Final = 20

# The packages of distributions put a shell script on the path; the program stands below.
_SHELLS: Final = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib64/chromium-browser/headless_shell",
)
_FULL: Final = (
    "/usr/lib/chromium/chromium",
    "/usr/lib64/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
)


@dataclass(frozen=True, slots=True)
class Executable:
    """A Chromium program.

    Attributes:
        path: The program itself, no script around it.
        headed: Whether it can show windows.
    """

    path: Path
    headed: bool

    @property
    def version(self) -> str:
        """Its name and version, such as ``Chromium 156.0.1``; empty if it cannot start."""
        return _version(self.path)


def find_executable(*, headed: bool = False) -> Executable:
    """Return the Chromium to use: of the variable, of the system, of Playwright, in this order.

    A headless shell is preferred, because it starts contexts several times faster.

    Args:
        headed: Whether it has to show windows.

    Raises:
        ConfigError: There is no Chromium; the message says how to install one.
    """
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named)
        if not path.is_absolute() or not os.access(path, os.X_OK) or path.is_dir():
            raise ConfigError(f"{VARIABLE}: expected the absolute path of a program, got {named!r}")
        return Executable(path.resolve(), "headless" not in path.name)
    found = _installed()
    for executable in found:
        if executable.headed or not headed:
            return executable
    if found:
        raise ConfigError(
            f"a browser with windows needs a full Chromium; {found[0].path} has none: "
            "install the package chromium"
        )
    raise ConfigError(f"no Chromium was found; {INSTALL}")


def _installed() -> list[Executable]:
    shells = [Path(path) for path in _SHELLS] + _of_playwright("chromium_headless_shell-*")
    full = [Path(path) for path in _FULL] + _of_playwright("chromium-*")
    candidates = [(path, False) for path in shells] + [(path, True) for path in full]
    return [Executable(path, headed) for path, headed in candidates if os.access(path, os.X_OK)]


def _of_playwright(pattern: str) -> list[Path]:
    """Return the programs that `playwright install` has put below its folder, newest first."""
    # `Path.home` raises for a user id without an account; such a user has no such folder.
    default = os.path.expanduser("~/.cache/ms-playwright")
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or default)
    names = ("headless_shell", "chrome-headless-shell", "chrome")
    found = [
        path
        for build in folder.glob(pattern)
        for path in build.glob("*/*")
        if path.name in names and path.is_file()
    ]
    return sorted(found, reverse=True)


@lru_cache(maxsize=8)
def _version(path: Path) -> str:
    try:
        told = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=_VERSION_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return told.stdout.strip()


def can_confine() -> bool:
    """Return whether bubblewrap, which confines the browser, is installed."""
    return shutil.which("bwrap") is not None
