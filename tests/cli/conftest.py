"""A catalogue of the test's own, and the command line as a user starts it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from demo_suite import Cli, write_task
from warm_command import WarmCommand


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "catalogue"
    write_task(root, "hello")
    write_task(root, "world")
    monkeypatch.setenv("AGENTGYM_PATH", str(root))
    monkeypatch.chdir(tmp_path)
    return root


@pytest.fixture
def cli(demo: Path, tmp_path: Path, warm_command: WarmCommand) -> Cli:
    def call(*arguments: str, lines: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return warm_command.run(
            arguments, cwd=tmp_path, env={**os.environ, **env}, input=lines, timeout=300
        )

    return call
