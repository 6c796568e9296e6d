"""OpenEnv's own client, installed, plays on an environment server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/session"))

from live_server import TASK, TOKEN, live_server  # noqa: E402 - found on the path above

CALLS = [{"tool": "add", "arguments": {"n": 2}}] * 2 + [{"tool": "submit"}, {"tool": "add"}]


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(1200)  # an index may be slow
def test_the_client_of_openenv_plays_to_the_verdict(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    install = (python, "-m", "pip", "install", "-q", "openenv-core==0.3.0")
    subprocess.run(install, check=True)
    with live_server(tmp_path / "run", max_live=1) as server:
        url = f"http://token:{TOKEN}@127.0.0.1:{server.port}/openenv".replace(" ", "%20")

        def play(calls):
            done = subprocess.run(
                (python, ROOT / "examples/bridges/openenv_client.py", url, TASK, "3"),
                input="".join(f"{json.dumps(call)}\n" for call in calls),
                stdout=subprocess.PIPE,
                text=True,
                check=True,
                timeout=120,
            )
            return [json.loads(line) for line in done.stdout.splitlines()]

        answers = play(CALLS)
        assert [each["reward"] for each in answers] == [0.0, 0.0, 0.0, 1.0]
        assert "it is 4" in answers[2]["text"] and not answers[2]["done"]
        assert (answers[3]["done"], answers[3]["truncated"]) == (True, False)
        assert answers[3]["status"] == "scored"
        # One that leaves early holds no place on the server.
        assert len(play(CALLS[:1])) == len(play(CALLS[:1])) == 2
    assert [row.verdict.score for row in server.episodes()] == [1.0, 0.5, 0.5]
