"""The origin of this copy of agentgym, and the command that adds an extra to it.

The distribution is called `agentgym-suite`; the distribution named `agentgym` on the package index
belongs to another project. The origin of a copy is read from `direct_url.json` (PEP 610).
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from agentgym.errors import MissingExtraError

DISTRIBUTION: Final = "agentgym-suite"
_PACKAGE: Final = Path(__file__).resolve().parent
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA: Final = re.compile(r"""\bextra\s*==\s*["']([^"']+)["']""")


def missing_extra(what: str, extra: str) -> MissingExtraError:
    """Return the error for a package that an extra installs.

    Args:
        what: The missing package.
        extra: The extra of `agentgym-suite` that includes it.
    """
    return MissingExtraError(what, install_line(extra))


def install_line(extra: str) -> str:
    """Return the shell command that adds an extra to this copy."""
    return f"{_installer()} {arguments(extra)}"


def arguments(extra: str) -> str:
    """Return the installer's arguments that add an extra to this copy, quoted for a shell."""
    name = f"{DISTRIBUTION}[{extra}]"
    copy = _installed()
    if copy is None:
        checkout = _checkout()
        return f"-e {shlex.quote(f'{checkout}[{extra}]')}" if checkout else shlex.quote(name)
    origin = _origin(copy)
    if not origin:  # It came from an index.
        return shlex.quote(name)
    folder = _local(origin["url"])
    if folder is not None and ("vcs_info" in origin or not folder.exists()):
        # The origin is gone, or is a repository of this machine, which not every pip accepts with
        # an extra. So the packages themselves are named.
        return " ".join(map(shlex.quote, _requirements(copy).get(extra, [name])))
    if "dir_info" in origin and folder is not None:
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return editable + shlex.quote(f"{folder}[{extra}]")
    return shlex.quote(f"{name} @ {_reference(origin)}")


def absent_extras() -> dict[str, list[str]]:
    """Return the extras of this copy that lack a package, with those packages.

    The result is empty if this copy has no metadata.
    """
    copy = _installed()
    found = _requirements(copy) if copy else {}
    absent = {
        extra: [name for each in needed if not _present(name := _name(each))]
        for extra, needed in sorted(found.items())
        if extra != "all"
    }
    return {extra: names for extra, names in absent.items() if names}


def _installed() -> Distribution | None:
    """Return the metadata of the running copy; None if another copy has it or it is missing."""
    try:
        found = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        return None
    places = [Path(str(found.locate_file("")))]
    origin = _origin(found)
    if origin.get("dir_info", {}).get("editable") and (folder := _local(origin["url"])):
        places.append(folder)
    return found if any((each / "agentgym").resolve() == _PACKAGE for each in places) else None


def _origin(copy: Distribution) -> dict[str, Any]:
    return dict(json.loads(copy.read_text("direct_url.json") or "{}"))


def _checkout() -> Path | None:
    """Return the folder of the source tree that is running."""
    try:
        project = tomllib.loads((_PACKAGE.parent / "pyproject.toml").read_text())["project"]
    except (OSError, ValueError, KeyError):
        return None
    return _PACKAGE.parent if project.get("name") == DISTRIBUTION else None


def _installer() -> str:
    """Return the `pip install` command of the running environment, whichever tool it has."""
    python = Path(sys.executable)
    pip = shutil.which("pip")
    if pip is not None and Path(pip).parent == python.parent:
        return "pip install"
    if find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {shlex.quote(str(python))}"
    return f"{shlex.quote(str(python))} -m pip install"


def _local(url: str) -> Path | None:
    parts = urlsplit(url)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


def _reference(origin: Mapping[str, Any]) -> str:
    """Return a direct URL in the form of PEP 508: the same commit, the same subdirectory."""
    url = quote(str(origin["url"]), safe="%:/@?&=+,;~!$()")  # pip leaves blanks in that of a clone
    if source := origin.get("vcs_info"):
        url = f"{source['vcs']}+{url}@{source['commit_id']}"
    return f"{url}#subdirectory={below}" if (below := origin.get("subdirectory")) else url


def _requirements(copy: Distribution) -> dict[str, list[str]]:
    """Return the requirements that each extra adds, without their markers."""
    found: dict[str, list[str]] = {}
    for line in copy.requires or ():
        requirement, _, marker = line.partition(";")
        for extra in _EXTRA.findall(marker):
            found.setdefault(extra, []).append(requirement.strip())
    return found


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found[0] if found else requirement


def _present(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
