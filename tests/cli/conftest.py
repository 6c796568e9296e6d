"""A catalogue of the test's own, and the command line as a user starts it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from demo_suite import COMMAND, Cli, write_task


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "catalogue"
    write_task(root, "hello")
    write_task(root, "world")
    monkeypatch.setenv("AGENTGYM_PATH", str(root))
    monkeypatch.chdir(tmp_path)
    return root


@pytest.fixture
def cli(demo: Path, tmp_path: Path) -> Cli:
    def call(*arguments: str, lines: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=tmp_path,
            env={**os.environ, **env},
            input=lines,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return call
