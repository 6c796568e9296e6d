"""`agentgym serve --mcp` as its clients meet it: the official one, and our own around it."""

import asyncio
import os
import shlex
import signal
import socket
import subprocess
from contextlib import closing

import httpx
import pytest
from agentgym_command import PROGRAM
from mcp import Client, StdioServerParameters, stdio_client
from remains import Traces
from small_task import write_task

import agentgym
from agentgym.errors import SurfaceError
from agentgym.eval import serving
from agentgym.eval.serving import (
    ServeOptions,
    find_target,
    open_environments,
    open_run,
    serve_mcp,
)
from agentgym.eval.settings import Settings
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Observation
from agentgym.session.serve import take_port

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


async def test_a_client_plays_an_episode_and_the_run_grows(folder, tmp_path, cli):
    out = tmp_path / "run"
    async with Client(stdio_client(served(folder, out, "--tell", "score"))) as client:
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
    report = cli("report", out)
    assert "mcp:mcp" in report.stdout and (out / "results.json").exists()
    # The same command line goes on with the run; a client that leaves early is judged.
    async with Client(stdio_client(served(folder, out)), mode="legacy") as client:
        await client.call_tool("bash", WRITE)
    store = RunStore.open(out)
    rows = store.episodes()
    store.close()
    assert [(row.plan.trial, row.state) for row in rows] == [(0, "done"), (1, "done")]
    assert (rows[1].verdict.status, rows[1].verdict.score) == ("scored", 1.0)
    assert rows[1].error == "the client left without submit or give_up"
    done = cli("serve", "--mcp", folder, "--out", out, "--seed", "7")
    assert done.returncode == 2 and "with other options" in done.stderr


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGINT, marks=pytest.mark.full),
        pytest.param(signal.SIGHUP, marks=pytest.mark.full),
    ],
)
def test_a_signal_ends_it_with_everything_recorded(folder, tmp_path, number):
    out, traces = tmp_path / "run", Traces(tmp_path)
    command = [PROGRAM, "serve", "--mcp", folder, "--out", out, "--http", "--port", "0"]
    # Tests started by `nohup` ignore SIGHUP, their children inherit that, and the server keeps it.
    server = subprocess.Popen(
        ["env", "--default-signal=HUP", *command], stderr=subprocess.PIPE, text=True
    )
    try:
        token = next(line for line in server.stderr if "Bearer " in line).split()[-1]
        url = next(line for line in server.stderr if " at http" in line).split()[-1]
        with pytest.raises(SurfaceError, match="cannot be used"):
            agentgym.make(mcp=url)
        env = agentgym.make(mcp={"url": url, "headers": {"Authorization": f"Bearer {token}"}})
        env.reset()
        env.step({"tool": "bash", "arguments": WRITE})
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}) as client:
            vanish_in_a_call(client, url)
        traces.note(server.pid)
        server.send_signal(number)
        assert server.wait(60) == 0
        env.close()
    finally:
        server.kill()
        server.wait()
        server.stderr.close()
    assert traces.left() == {}
    store = RunStore.open(out)
    ends = [(row.verdict.status, row.error) for row in store.episodes()]
    store.close()
    assert ends == [("error:agent", "the server was stopped")] * 2


def vanish_in_a_call(client, url):
    """Begin a session by hand, and hang up in the middle of a call."""
    headers = {"accept": "application/json, text/event-stream"}

    def post(method, params, **options):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return client.post(url, json=body, headers=headers, **options)

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello["clientInfo"] = {"name": "vanishing", "version": "0"}
    headers["mcp-session-id"] = post("initialize", hello).headers["mcp-session-id"]
    call = {"name": "bash", "arguments": {"command": "echo begun; sleep 1"}}
    with pytest.raises(httpx.ReadTimeout):
        post("tools/call", call, timeout=0.3)


@pytest.mark.full
def test_our_own_environment_around_our_own_server(folder, tmp_path):
    out = tmp_path / "run"
    parameters = served(folder, out, "--tell", "score")
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


def test_what_a_killed_server_left_is_ended_by_the_next_one(tmp_path):
    settings = Settings(tasks=(find_target("office"),), agents=(), jobs=1)
    store = open_run(tmp_path / "run", settings)
    left = store.add(EpisodePlan(settings.tasks[0], 0, 0, "mcp:client"))
    store.begin(left, params={}, instruction="", sandbox="x", reset_s=0, first=Observation(""))
    store.close()
    open_run(tmp_path / "run", settings).close()
    row = only_episode(tmp_path / "run")
    assert (row.state, row.verdict.status) == ("done", "error:abandoned")


async def test_the_run_says_which_images_were_replaced(tmp_path, monkeypatch):
    settings = Settings(tasks=(find_target("office"),), agents=(), jobs=1)
    used = {settings.tasks[0]: {"shop:1": "debian"}}
    monkeypatch.setattr(serving, "used_fallbacks", lambda tasks: used)
    for _ in range(2):  # the same command line goes on with the run
        with closing(open_run(tmp_path / "run", settings)) as store:
            async with open_environments(store):
                assert store.settings["image_fallbacks"] == used


def test_a_taken_port_leaves_no_run(folder, tmp_path, cli):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = cli("serve", "--mcp", folder, "--http", "--port", port, "--out", tmp_path / "run")
    assert done.returncode == 2 and "choose another with --port" in done.stderr
    assert not (tmp_path / "run").exists()


async def test_an_environment_is_free_play(tmp_path):
    settings = Settings(tasks=(find_target("terminal"),), agents=(), jobs=1)
    store = open_run(tmp_path / "run", settings)
    told = asyncio.Queue()
    with take_port(0) as listening:
        options = ServeOptions(listening=listening)
        serving = asyncio.create_task(serve_mcp(store, options, told.put_nowait))
        async with Client((await told.get()).split()[-1]) as client:
            assert "Nothing is verified" in client.instructions
            await client.call_tool("give_up", {"reason": "enough"})
        os.kill(os.getpid(), signal.SIGTERM)
        await serving
    store.close()
    row = only_episode(tmp_path / "run")
    assert row.verdict.checkpoints[0].message == "ad-hoc task: nothing is verified"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("terminl", "did you mean 'terminal'"),
        ("terminal/*", "tasks; name one"),
        ("./nowhere", "no task or environment"),
    ],
)
def test_a_wrong_target_is_said(target, told, tmp_path, cli):
    done = cli("serve", "--mcp", target, "--out", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "") and told in done.stderr
    assert not (tmp_path / "run").exists()
