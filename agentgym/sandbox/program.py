"""The supervisor as a file that guests can start: compiled once, because every start would."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
from pathlib import Path

from agentgym.errors import SandboxError
from agentgym.sandbox import launch, supervisor


def compile_supervisor(root: Path) -> Path:
    """Compile the supervisor with the guest's own Python, once per source and interpreter."""
    source = Path(supervisor.__file__)
    python = Path(launch.GUEST_PYTHON).resolve()
    if not python.exists():
        raise SandboxError(f"{python}, which guests run, is absent; see: agentgym doctor")
    digest = hashlib.sha256(source.read_bytes() + f"{python}{python.stat().st_mtime_ns}".encode())
    target = root / f"supervisor-{digest.hexdigest()[:12]}.pyc"
    if not target.exists():
        draft = target.with_suffix(f".{os.getpid()}")
        code = "import py_compile, sys; py_compile.compile(*sys.argv[1:3], doraise=True)"
        done = subprocess.run(
            [str(python), "-I", "-c", code, str(source), str(draft)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if done.returncode:
            raise SandboxError(f"{python} cannot compile the guest supervisor: {done.stderr}")
        with contextlib.suppress(FileNotFoundError):
            os.replace(draft, target)
    return target
