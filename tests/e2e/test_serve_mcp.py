"""`agentgym serve --mcp` as its clients meet it: the official one, and our own around it."""

import os
import shlex
import signal
import socket
import subprocess
import time

import pytest
from agentgym_command import PROGRAM
from mcp import Client, StdioServerParameters, stdio_client
from small_task import write_task

import agentgym
from agentgym.errors import SurfaceError
from agentgym.record.store import RunStore

WRITE = {"command": "echo hello > word"}


@pytest.fixture
def folder(tmp_path):
    return write_task(tmp_path)


def served(folder, out, *options):
    arguments = ["serve", "--mcp", str(folder), "--out", str(out), *options]
    given = {name: value for name, value in os.environ.items() if name.startswith("AGENTGYM")}
    return StdioServerParameters(command=str(PROGRAM), args=arguments, env=given)


def only_episode(out):
    store = RunStore.open(out)
    (row,) = store.episodes()
    store.close()
    return row


async def test_a_client_plays_an_episode(folder, tmp_path):
    out = tmp_path / "run"
    async with Client(stdio_client(served(folder, out, "--tell"))) as client:
        assert client.instructions.startswith("Write hello into /root/word.")
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["bash", "read_file", "write_file", "edit_file", "submit", "give_up"]
        seen = await client.call_tool("bash", WRITE)
        assert (seen.is_error, seen.structured_content["exit_code"]) == (False, 0)
        assert (await client.call_tool("bash", {"command": "exit 3"})).is_error
        last = await client.call_tool("submit", {})
        assert last.structured_content == {"episode": {"over": True, "score": 1.0, "outcome": True}}
    row = only_episode(out)
    assert (row.verdict.score, row.steps, row.sandbox) == (1.0, 3, "bubblewrap")
    assert row.plan.agent == "mcp:mcp"
    report = subprocess.run([PROGRAM, "report", out], capture_output=True, text=True, timeout=60)
    assert "mcp:mcp" in report.stdout and (out / "results.json").exists()


async def test_a_client_that_leaves_is_recorded_as_such(folder, tmp_path):
    out = tmp_path / "run"
    async with Client(stdio_client(served(folder, out)), mode="legacy") as client:
        await client.call_tool("bash", WRITE)
    row = only_episode(out)
    assert (row.state, row.verdict.status, row.verdict.score) == ("done", "scored", 1.0)
    assert row.error == "the client left without submit or give_up"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_with_everything_recorded(folder, tmp_path, number):
    out = tmp_path / "run"
    # Tests started by `nohup` ignore SIGHUP, their children inherit that, and the server keeps it.
    server = subprocess.Popen(
        ["env", "--default-signal=HUP", PROGRAM, "serve", "--mcp", folder, "--out", out]
        + ["--http", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        token = next(line for line in server.stderr if "Bearer " in line).split()[-1]
        url = next(line for line in server.stderr if " at http" in line).split()[-1]
        with pytest.raises(SurfaceError, match="cannot be used"):
            agentgym.make(mcp=url)
        env = agentgym.make(mcp={"url": url, "headers": {"Authorization": f"Bearer {token}"}})
        env.reset()
        env.step({"tool": "bash", "arguments": WRITE})
        server.send_signal(number)
        assert server.wait(30) == 0
        env.close()
    finally:
        server.kill()
        server.wait()
        server.stderr.close()
    row = only_episode(out)
    assert (row.verdict.status, row.error) == ("error:agent", "the server was stopped")


def test_our_own_environment_around_our_own_server(folder, tmp_path):
    out = tmp_path / "run"
    parameters = served(folder, out, "--tell")
    variables = [f"{name}={value}" for name, value in parameters.env.items()]
    command = shlex.join(["env", *variables, parameters.command, *parameters.args])
    env = agentgym.make(mcp=command)
    observation, _ = env.reset(seed=4)
    assert "Write hello into /root/word." in observation["text"]
    names = [tool.name for tool in env.action_space.tools]
    assert names[:2] == ["bash", "read_file"] and names[-3:] == ["give_up_2", "submit", "give_up"]
    observation, *_ = env.step({"tool": "bash", "arguments": WRITE})
    assert observation["data"]["structured"]["exit_code"] == 0
    observation, *_ = env.step({"tool": "submit_2", "arguments": {"answer": "inner"}})
    assert "Score 1, outcome true" in observation["text"]
    *_, terminated, _, info = env.step({"tool": "submit", "arguments": {}})
    assert terminated and info["verdict"]["score"] == 0, "free play around it is not verified"
    env.close()
    assert only_episode(out).verdict.score == 1.0


async def test_a_run_grows_with_every_start_on_equal_terms(folder, tmp_path):
    out = tmp_path / "run"
    for _ in range(2):
        async with Client(stdio_client(served(folder, out))) as client:
            await client.call_tool("submit", {})
    store = RunStore.open(out)
    assert [(row.plan.trial, row.state) for row in store.episodes()] == [(0, "done"), (1, "done")]
    store.close()
    other = [PROGRAM, "serve", "--mcp", folder, "--out", out, "--seed", "7"]
    done = subprocess.run(other, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "with other options" in done.stderr


def test_a_taken_port_leaves_no_run(folder, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [PROGRAM, "serve", "--mcp", folder, "--http", "--port", port]
        done = subprocess.run(
            [*command, "--out", tmp_path / "run"], capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 2 and "choose another with --port" in done.stderr
    assert not (tmp_path / "run").exists()


async def test_an_environment_is_free_play(tmp_path):
    out = tmp_path / "run"
    async with Client(stdio_client(served("terminal", out))) as client:
        assert "Nothing is verified" in client.instructions
        await client.call_tool("give_up", {"reason": "enough"})
    row = only_episode(out)
    assert row.verdict.checkpoints[0].message == "free play: nothing is verified"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("terminl", "did you mean 'terminal'"),
        ("terminal/*", "tasks; name one"),
        ("./nowhere", "no task or environment"),
    ],
)
def test_a_wrong_target_is_said(target, told, tmp_path):
    began = time.monotonic()
    done = subprocess.run(
        [PROGRAM, "serve", "--mcp", target, "--out", tmp_path / "run"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "") and told in done.stderr
    assert not (tmp_path / "run").exists() and time.monotonic() - began < 60
