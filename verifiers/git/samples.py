"""Repositories for the calibration cases, made by a few commands in a folder."""

import os
import subprocess
import tempfile
from pathlib import Path

from agentgym.testing.checks import File, Folder, Link

BEGIN = """
git init -q -b main . && git config user.name Ada && git config user.email ada@example.org
echo one > a.txt && git add . && git commit -qm "Begin"
echo two > a.txt && git commit -qam "Fix the number" && git tag v1
"""


def repository(script: str = "", begin: str = BEGIN) -> dict:
    """Return the files of a repository with two commits, changed by a shell script."""
    env = {f"GIT_{who}_DATE": "2026-01-02T03:04:05Z" for who in ("AUTHOR", "COMMITTER")}
    env |= {"PATH": os.defpath, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "work")
        work.mkdir()
        argv, env["HOME"] = ["bash", "-e", "-c", begin + script], folder
        subprocess.run(argv, cwd=work, env=env, check=True, capture_output=True, timeout=60)
        found = {}
        for path in sorted(work.rglob("*")):
            name = path.relative_to(work).as_posix()
            if path.is_symlink():
                found[name] = Link(os.readlink(path))
            elif path.is_dir():
                found[name] = Folder()
            elif "/hooks/" not in name:
                found[name] = File(path.read_bytes(), path.stat().st_mode & 0o777)
        return found
