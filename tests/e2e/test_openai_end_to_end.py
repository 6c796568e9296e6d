"""The `openai:` agent from the command line to results.json, against a real HTTP server."""

import json
import math
import os
import signal
import socket
import subprocess

import pytest
from agentgym_command import PROGRAM
from remains import ended_within
from small_task import write_task

from agentgym.record.store import RunStore


def results_of(folder):
    return json.loads((folder / "results.json").read_text())


def bash(chat_server, command):
    return chat_server.says(chat_server.call("bash", {"command": command}), content="I will.")


def submit(chat_server):
    return chat_server.call("submit")


@pytest.mark.parametrize("model", ["test", "test?stream=true"])
def test_a_model_solves_a_task_and_its_tokens_are_counted(
    cli, catalogue, chat_server, tmp_path, model
):
    write_task(catalogue)
    replies = [
        chat_server.Status(429, headers={"Retry-After": "0"}),
        bash(chat_server, "echo hello > /root/word; cat /root/word"),
        chat_server.says(submit(chat_server), usage=(150, 7, 100)),
    ]
    with chat_server.ChatServer(replies) as server:
        where = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-e2e"}
        done = cli("eval", "demo", "-a", f"openai:{model}", "-o", "run", **where)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 3
    last = server.requests[-1]["messages"]
    assert "Write hello into /root/word." in last[1]["content"]
    assert last[-1]["role"] == "tool" and "hello\n" in last[-1]["content"]

    results = results_of(tmp_path / "run")
    (episode,) = results["tasks"][0]["episodes"]
    assert (episode["status"], episode["outcome"], episode["score"]) == ("scored", True, 1.0)
    assert episode["steps"] == 2
    assert episode["tokens"] == {"prompt": 250, "completion": 17, "total": 267}
    assert results["summary"][f"openai:{model}"]["tokens"] == episode["tokens"]
    shown = cli("replay", "run", 1)
    assert "I will." in shown.stdout
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or b"sk-e2e" not in file.read_bytes(), f"the key is in {file}"


@pytest.mark.full
def test_a_server_that_is_down_is_the_agent_s_error_and_no_zero(
    cli, catalogue, chat_server, tmp_path
):
    write_task(catalogue)
    with socket.socket() as taken:  # bound, so that nobody else listens; refuses, as it does not
        taken.bind(("127.0.0.1", 0))
        where = {"OPENAI_BASE_URL": f"http://127.0.0.1:{taken.getsockname()[1]}/v1"}
        asked = ("eval", "demo", "-a", "openai:test", "-a", "oracle")
        done = cli(*asked, "-o", "run", **where)
        allowed = cli(*asked, "-o", "other", "--allow-unscored", **where)
    assert done.returncode == 3, done.stderr
    assert allowed.returncode == 0, allowed.stderr
    assert "1 of 1 episodes have no score (1 × error:agent)" in done.stdout
    assert "unscored: 1 × error:agent" in done.stderr
    results = results_of(tmp_path / "run")
    failed, solved = sorted(results["tasks"][0]["episodes"], key=lambda e: e["status"])
    assert (failed["status"], failed["outcome"], failed["score"]) == ("error:agent", None, None)
    assert "cannot connect" in failed["error"] and where["OPENAI_BASE_URL"] in failed["error"]
    assert solved["score"] == 1.0
    summary = results["summary"]["openai:test"]
    assert (summary["scored"], summary["errors"], summary["mean_score"]) == (0, 1, None)

    # Once there is a server, the same run is completed.
    replies = [bash(chat_server, "echo hello > /root/word"), chat_server.says(submit(chat_server))]
    with chat_server.ChatServer(replies) as server:
        done = cli("eval", "--out", "run", "--resume", OPENAI_BASE_URL=server.url)
    assert done.returncode == 0, done.stderr
    assert "1 of 2 episodes were done before" in done.stderr
    assert results_of(tmp_path / "run")["summary"]["openai:test"]["mean_score"] == 1.0


def test_prose_is_worth_what_its_states_are_worth(cli, catalogue, chat_server, tmp_path):
    """A model that solves one task and talks in the others is scored in all of them."""
    for name in ("hello", "world", "again"):
        write_task(catalogue, name)

    def reply(request):
        if "Write hello" not in request["messages"][1]["content"]:
            return chat_server.says(content="I would rather talk.")
        if request["messages"][-1]["role"] == "tool":
            return chat_server.says(submit(chat_server))
        return bash(chat_server, "echo hello > /root/word")

    with chat_server.ChatServer(reply) as server:
        where = {"OPENAI_BASE_URL": server.url}
        done = cli("eval", "demo", "-a", "openai:test", "-o", "run", **where)
        asked = len(server.requests)
        again = cli("eval", "--out", "run", "--resume", **where)
        assert (again.returncode, len(server.requests)) == (0, asked), "nobody gets another try"
    assert done.returncode == 0, done.stderr
    results = results_of(tmp_path / "run")
    summary = results["summary"]["openai:test"]
    assert (summary["scored"], summary["errors"], summary["policy_failures"]) == (3, 0, 2)
    assert summary["mean_score"] == summary["pass@1"] == 1 / 3
    assert "in 2 of 3 episodes the policy failed" in done.stdout
    (talked,) = [task for task in results["tasks"] if task["task"] == "demo/world-v1"]
    (episode,) = talked["episodes"]
    assert (episode["score"], episode["outcome"]) == (0.0, False)
    assert "no usable tool call in 3 replies" in episode["error"]
    shown = cli("replay", "run", episode["id"], "--full").stdout
    assert shown.count("reply: I would rather talk.") == 3
    assert "told: Your reply called no tool." in shown


def test_no_endpoint_at_all_is_said_before_anything_runs(cli, catalogue, tmp_path):
    write_task(catalogue)
    done = cli("eval", "demo", "--agent", "openai:test", "--out", "run")
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr and "OPENAI_BASE_URL" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.full
def test_a_killed_run_asks_the_model_again_only_for_the_step_in_flight(
    catalogue, chat_server, tmp_path
):
    """The commands count: one that was recorded is neither asked nor paid for twice."""
    write_task(catalogue, changes={"solution/solve.sh": "true\n"})

    def reply(request):
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        if turn == 8:
            return chat_server.says(submit(chat_server))
        return bash(chat_server, f"echo {turn} >> /root/word; sleep 0.1; cat /root/word")

    with chat_server.ChatServer(reply) as server:
        for kills in range(3):
            with subprocess.Popen(
                [PROGRAM, "eval", "demo", "-a", "openai:test", "-o", "run", "--resume"],
                cwd=tmp_path,
                env={**os.environ, "OPENAI_BASE_URL": server.url},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            ) as process:
                try:
                    asked = 3 * (kills + 1) if kills < 2 else math.inf
                    while len(server.requests) < asked and not ended_within(process, 0.02):
                        pass
                finally:
                    process.kill()
                words = process.stderr.read()
            assert process.returncode == (0 if kills == 2 else -signal.SIGKILL), words
    turns = [
        sum(message["role"] == "assistant" for message in request["messages"])
        for request in server.requests
    ]
    assert turns == sorted(turns) and set(turns) == set(range(9))
    assert len(turns) <= 9 + 2, "one question in flight may be lost to each kill"
    store = RunStore.open(tmp_path / "run")
    (row,) = store.episodes()
    texts = [step.observation.text for step in store.steps(1)]
    store.close()
    assert row.log == "" and row.verdict.scored
    assert texts[-2] == "".join(f"{turn}\n" for turn in range(8))
    assert row.usage.total == 9 * 110
