"""A command without standard streams, as some schedulers start it."""

import os
import subprocess
import sys

import pytest

from agentgym.record.store import RunStore


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_command_works_without_standard_streams(demo, tmp_path, closed):
    folder = tmp_path / "run"
    command = f'exec "$0" -m agentgym eval demo/hello-v1 --agent noop --out "$1" {closed}'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, str(folder)],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    store = RunStore.open(folder)
    try:
        assert [episode.verdict.score for episode in store.episodes()] == [0.0]
    finally:
        store.close()
