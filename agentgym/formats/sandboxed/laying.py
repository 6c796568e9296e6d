"""Copy a toolkit into a sandbox without using any program of the sandbox."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentgym import catalogue
from agentgym.errors import VerifierError
from agentgym.formats.sandboxed.rules import TOOLKIT_RECIPE
from agentgym.formats.sandboxed.toolkit import Toolkit
from agentgym.protocols import Sandbox
from agentgym.records import Json

# The same length as the placeholder that `assemble.py` of the recipe writes into the programs.
_PLACE = "/.agentgym-verifier-"
_PLACEHOLDER = _PLACE + "0" * 16
_SHIMS = ("apt", "apt-get", "curl", "pip", "pip3", "pytest", "uv", "uvx")
# Variables of an image that name files which programs load, and which the agent can write.
_PRELOADS = ("BASH_ENV", "ENV", "LD_AUDIT", "LD_PRELOAD", "PYTHONHOME")
# Names of the programs; curl must not be found under its own name.
_NAMES = {
    "python3": ("bin/python3", "bin/python"),
    "bash": ("bin/bash", "bin/sh"),
    "curl": ("libexec/curl",),
}


@dataclass(frozen=True, slots=True)
class Laid:
    """A toolkit inside a sandbox."""

    root: str

    @property
    def python(self) -> str:
        """Path of its Python."""
        return f"{self.root}/bin/python3"

    @property
    def bash(self) -> str:
        """Path of its bash."""
        return f"{self.root}/bin/bash"


async def lay(toolkit: Toolkit, sandbox: Sandbox, *, own_path: Sequence[str]) -> Laid:
    """Copy a toolkit into a sandbox.

    Args:
        toolkit: The toolkit.
        sandbox: The target; none of its own programs is used.
        own_path: Folders of the image's packages, for a script that tests those.
    """
    root = _PLACE + secrets.token_hex(8)
    for path in sorted(toolkit.programs.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            if path.parent.name == "bin":
                data = data.replace(_PLACEHOLDER.encode(), root.encode())
            for name in _NAMES.get(path.name, (str(path.relative_to(toolkit.programs)),)):
                await sandbox.write_file(f"{root}/{name}", data, mode=path.stat().st_mode & 0o755)
    shim = f"#!{root}/bin/python3 -IB\nimport sys\nsys.path.insert(0, {root!r})\nimport shims\n"
    for name in _SHIMS:
        await sandbox.write_file(f"{root}/bin/{name}", shim.encode(), mode=0o755)
    config: dict[str, Json] = {
        "root": root,
        "pip": list(toolkit.wants.pip),
        "apt": sorted({*toolkit.wants.apt, *toolkit.installed}),
        "own_path": list(own_path),
    }
    version = next(toolkit.programs.glob("lib/python*.*/os.py")).parent.name
    await sandbox.write_file(f"{root}/config.json", json.dumps(config).encode())
    guest = catalogue.find("sandboxes", TOOLKIT_RECIPE) / "guest"
    for name in ("shims.py", "prepare.py", "agentgym_ctrf.py"):
        await sandbox.write_file(f"{root}/{name}", (guest / name).read_bytes())
    startup = (guest / "startup.py").read_bytes()
    await sandbox.write_file(f"{root}/lib/{version}/sitecustomize.py", startup)
    archives = {"site.tar": toolkit.site, "additions.tar": toolkit.additions}
    for name, archive in archives.items():
        if archive is not None:
            await sandbox.write_file(f"{root}/{name}", archive.read_bytes())
    laid = Laid(root)
    await run_tool(laid, sandbox, "prepare.py")
    return laid


async def run_tool(laid: Laid, sandbox: Sandbox, script: str, *arguments: str) -> None:
    """Run a script of the toolkit as root.

    Raises:
        VerifierError: The script failed.
    """
    argv = [laid.python, "-IB", f"{laid.root}/{script}", *arguments]
    done = await sandbox.exec(argv, cwd="/", user="root", timeout_s=120)
    if done.exit_code != 0:
        said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[-400:]
        raise VerifierError(f"the tests cannot be made ready: {said or 'a program was ended'}")


def variables(laid: Laid, given: Mapping[str, str], *, first: bool) -> dict[str, str]:
    """Return the variables of a test script.

    Args:
        laid: The toolkit.
        given: Variables of the sandbox and of the task.
        first: Whether the toolkit's programs come before the sandbox's own of the same names.
    """
    own, path = f"{laid.root}/bin", given.get("PATH", "")
    found = {
        **given,
        "PATH": f"{own}:{path}" if first else f"{path}:{own}",
        "PYTEST_PLUGINS": "agentgym_ctrf",
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        # The toolkit's Python reads this after its own folders, so it cannot replace Python's
        # modules.
        "AGENTGYM_PYTHONPATH": given.get("PYTHONPATH", ""),
    }
    return {**found, "PYTHONPATH": "", **(dict.fromkeys(_PRELOADS, "") if first else {})}
