"""OpenEnv, installed: its client plays on our server, and our environments on its server."""

import contextlib
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import agentgym
import agentgym.vector
from agentgym.errors import ServerError

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/session"))

from live_server import TASK, TOKEN, live_server  # noqa: E402 - found on the path above

CALLS = [{"tool": "add", "arguments": {"n": 2}}] * 2 + [{"tool": "submit"}, {"tool": "add"}]


pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(1200)]  # slow indexes


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    venv = tmp_path_factory.mktemp("openenv") / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python = venv / "bin/python"
    subprocess.run((python, "-m", "pip", "install", "-q", "openenv-core==0.3.0"), check=True)
    return python


@contextlib.contextmanager
def server_of_openenv(python, kind):
    """Run the server of openenv-core with two places; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = Path(__file__).with_name("openenv_server.py")
    with subprocess.Popen((python, program, kind, str(port))) as running:
        try:
            until = time.monotonic() + 120
            while not _answers(port):
                assert running.poll() is None and time.monotonic() < until
                time.sleep(0.1)
            yield f"openenv+http://127.0.0.1:{port}"
        finally:
            running.terminate()


def _answers(port):
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(("kind", "tool"), [("counter", "step"), ("tools", "add")])
def test_episodes_are_played_on_a_server_of_openenv(python, kind, tool):
    def add(n):
        return {"tool": tool, "arguments": {"n": n}}

    with server_of_openenv(python, kind) as server:
        env = agentgym.make(server=server).unwrapped
        assert [(one.name, set(one.parameters["properties"])) for one in env.environment.tools] == [
            (tool, {"n"})
        ]
        env.reset(seed=3)
        observation, *rest, _ = env.step(add(1))
        assert "1" in observation["text"] and rest == [0.0, False, False]
        assert env.step(add("much"))[0]["text"].startswith("error: ")
        if kind == "counter":
            assert env.step(add(13))[0]["text"] == "error: thirteen"
        assert env.step(add(3))[1:4] == (1.0, True, False)
        env.reset(seed=4)
        assert env.step(add(9))[1:4] == (0.0, True, False)
        env.close()
        # Its places are free again, both of them.
        envs = agentgym.vector.make("", 2, server=server)
        envs.reset(seed=1)
        assert envs.step([add(4), add(1)])[1].tolist() == [1.0, 0.0]
        with pytest.raises(ServerError, match="at capacity|max_concurrent_envs"):
            agentgym.make(server=server).reset()
        envs.close()


def test_the_client_of_openenv_plays_to_the_verdict(python, tmp_path):
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
