"""docs/server.md: its example runs, and what it says of messages is what the server reads."""

import re
from pathlib import Path

from live_server import TASK, TOKEN, live_server
from typer.main import get_command

from agentgym.cli.app import app
from agentgym.env.remote import wire
from agentgym.session.accounts import Quota, read_accounts

PAGE = (Path(__file__).parents[2] / "docs/server.md").read_text()


def test_the_example_runs(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    with live_server(tmp_path / "run") as server:
        code = code.replace("ws://127.0.0.1:8765", server.url)
        code = code.replace("tools/rooms-run-out-v1", TASK)
        found = {"TOKEN": TOKEN}
        exec(code, found)
    assert found["terminated"] and found["reward"] == 0.0
    assert len(found["observations"]["text"]) == 8
    assert server.episodes()[0].plan.group == "g1"


def test_the_messages_are_read():
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.S)
    types = [wire.read_request(line).type for line in block.splitlines()]
    assert set(types) == set(wire.schemas()["client"]["discriminator"]["mapping"])


def test_the_file_of_accounts_is_read(tmp_path):
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    path = tmp_path / "accounts.toml"
    path.write_text(text)
    path.chmod(0o600)
    found = read_accounts(path, Quota()).find("Bearer at least 16 characters")
    assert (found.name, found.quota.messages) == ("trainer", 1_000_000)


def test_the_options_exist():
    serve = get_command(app).commands["serve"]
    known = {name for each in serve.params for name in each.opts}
    named = set(re.findall(r"`(--[a-z][a-z-]*)", PAGE))
    assert {"--rate", "--resume", "--accounts"} <= named <= known
