"""`agentgym serve TASK…` as its users meet it: the command, a real sandbox, and a signal."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from agentgym_command import PROGRAM
from small_task import write_task

import agentgym
from agentgym.cli.serve import serve
from agentgym.errors import ConfigError, NotFoundError, ServerError
from agentgym.record.store import RunStore

WRITE = {"tool": "bash", "arguments": {"command": "echo hello > word"}}
TASK = "tools/largest-debtors-v1"
HERE = Path(__file__)


def test_a_client_plays_in_a_sandbox_and_a_signal_records_what_is_live(tmp_path):
    folder, out = write_task(tmp_path), tmp_path / "run"
    command = [str(PROGRAM), "serve", str(folder), "--port", "0", "--out", str(out)]
    given = {**os.environ, "AGENTGYM_SERVE_TOKEN": "the token of this test"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=given) as process:
        lines = iter(process.stderr.readline, "")
        url = next(found[1] for line in lines if (found := re.search(r"at (ws://\S+)", line)))
        env = agentgym.make(server=url, server_token="the token of this test")
        env.reset(seed=0)
        env.step(WRITE)
        *_, reward, terminated, truncated, info = env.step({"tool": "submit"})
        assert (reward, terminated, truncated) == (1.0, True, False), info
        env.reset(seed=1)
        env.step(WRITE)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        with pytest.raises(ServerError, match="the server ended"):
            env.step(WRITE)
        env.close()
    store = RunStore.open(out)
    played, stopped = store.episodes()
    store.close()
    assert (played.verdict.status, played.steps) == ("scored", 2)
    assert (stopped.verdict.status, stopped.steps) == ("error:agent", 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tasks": [TASK], "host": "0.0.0.0", "no_token": True}, "every machine"),
        ({"tasks": [TASK], "mcp": TASK}, "--mcp"),
        ({}, "--mcp"),
        ({"tasks": [TASK], "tls_cert": "no.pem"}, "--tls-key"),
        ({"tasks": [TASK], "accounts": "no.toml", "no_token": True}, "contradict"),
        ({"tasks": [TASK], "tls_cert": HERE, "tls_key": HERE}, "--tls-cert .* PEM files"),
        ({"mcp": TASK, "tell": "verdict"}, "--tell"),
        ({"mcp": TASK, "host": "0.0.0.0"}, "with --mcp the server listens on 127.0.0.1"),
        ({"tasks": [TASK], "http": True}, "--http is for --mcp"),
    ],
)
def test_options_that_do_not_fit_are_refused(tmp_path, options, said):
    with pytest.raises(ConfigError, match=said):
        serve(sandbox="none", port=0, out=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_a_mistyped_task_is_refused(tmp_path):
    with pytest.raises(NotFoundError, match="largest-debtors"):
        serve(tasks=["tools/largest-debtor-v1"], sandbox="none", out=tmp_path / "run")
