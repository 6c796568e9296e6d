"""Sessions over HTTP, the accounts of a server, and what it tells of itself."""

import json

import httpx
import numpy as np
import pytest
from live_server import TASK, TOKEN, live_server

from agentgym.env.remote import wire
from agentgym.errors import ConfigError
from agentgym.records import Effect, Observation
from agentgym.session.accounts import Account, Accounts, Quota, new_token, read_accounts
from agentgym.session.answers import Reply
from agentgym.session.listening import is_loopback, listen
from agentgym.session.requests import response_of


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with live_server(tmp_path_factory.mktemp("server") / "run") as running:
        yield running


class Caller:
    """Sends messages, one a request."""

    def __init__(self, server, token=TOKEN):
        self.headers = {"Authorization": f"Bearer {token}"}
        self.url = server.url.replace("ws:", "http:")

    def post(self, content, path="/v1/call", **headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        return httpx.post(self.url + path, content=text, headers={**self.headers, **headers})

    def get(self, path):
        return httpx.get(self.url + path, headers=self.headers)


def test_an_episode_over_http_and_a_message_sent_again(server):
    caller = Caller(server)
    welcome = caller.post({"type": "hello", "version": 1, "name": "curl"}).json()
    token = welcome["session"]
    assert (welcome["tasks"], welcome["bounds"]["episodes"]) == ([TASK], 64)
    told = caller.post({"type": "describe", "call": 1}, agentgym_session=token).json()
    assert [tool["name"] for tool in told["tools"]] == ["add", "submit"]
    first = caller.post({"type": "reset", "call": 2, "seed": 9}, agentgym_session=token).json()
    assert first["facts"] == {"task": TASK, "seed": 9, "params": {"to": 4}}
    add = {"tool": "add", "arguments": {"n": 2}}
    step = {"type": "step", "call": 3, "episode": first["episode"], "action": add}
    answers = [caller.post(step, agentgym_session=token).json() for _ in range(3)]
    assert answers[0]["observation"]["data"] == {"number": 2}
    assert answers[0] == answers[1] == answers[2]
    finish = {"type": "finish", "call": 4, "episode": first["episode"]}
    end = caller.post(finish, agentgym_session=token).json()
    assert (end["terminated"], end["score"], end["verdict"]["score"]) == (True, 0.5, 0.5)
    again = caller.post({**step, "call": 5}, agentgym_session=token)
    assert (again.status_code, again.json()["code"]) == (200, "episode_over")
    assert caller.post({"type": "leave", "call": 6}, agentgym_session=token).status_code == 200
    assert caller.post(step, agentgym_session=token).json()["code"] == "unknown_session"


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("no JSON", 400),
        ("[" * 50_000, 400),
        ({"type": "step"}, 400),
        ({"type": "state", "call": 1}, 404),
        (b"x" * (4 * 2**20 + 1), 413),
    ],
)
def test_a_wrong_request_has_its_status(server, content, status):
    assert Caller(server).post(content).status_code == status


def test_other_paths_and_tokens_are_refused(server):
    hello = {"type": "hello", "version": 1}
    assert Caller(server).post(hello, path="/v1/other").status_code == 404
    refused = Caller(server, "wrong").post(hello)
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert Caller(server, "wrong").get("/metrics").status_code == 401


def test_health_metrics_and_schema(server):
    caller = Caller(server)
    assert Caller(server, "none").get("/health").json()["status"] == "ok"
    text = caller.get("/metrics").text
    assert text.endswith("\n") and "# TYPE agentgym_call_seconds histogram" in text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    assert int(values['agentgym_call_seconds_bucket{le="+Inf"}']) == int(
        values["agentgym_call_seconds_count"]
    )
    schema = caller.get("/v1/schema").json()
    assert {"Hello", "Step", "Fork", "Leave"} <= schema["client"]["$defs"].keys()
    assert {"Welcome", "ReplyMessage", "ErrorMessage"} <= schema["server"]["$defs"].keys()


def test_web_pages_are_refused_where_no_token_protects(tmp_path):
    with live_server(tmp_path / "run", accounts=Accounts(())) as server:
        hello = {"type": "hello", "version": 1}
        assert Caller(server).post(hello, Origin="https://example.org").status_code == 403
        assert Caller(server).post(hello).status_code == 200


# --- pictures -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["png", "rgb"])
def test_a_picture_arrives_unchanged(form):
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    seen = Observation("seen", image, {"a": [1]}, Effect.CHANGED)
    frame = wire.pack(*response_of(Reply("e1", seen), 3, form))
    message, picture = wire.read_response(frame)
    assert isinstance(frame, bytes) and message.observation.text == "seen"
    assert (wire.read_picture(message.observation.image, picture) == image).all()
    with pytest.raises(ValueError):
        wire.read_picture(message.observation.image, picture[:30])


@pytest.mark.parametrize("frame", [b"", b"\0\0\0\xff{}", b"\xff" * 9, "[]", '{"type":"reply"}'])
def test_what_is_no_frame_of_a_server_is_refused(frame):
    with pytest.raises(ValueError):
        wire.read_response(frame)


# --- accounts -------------------------------------------------------------------------------

FILE = """
[accounts.trainer]
token = "a long enough token"
sessions = 2
messages_per_s = 10.5

[accounts.other]
token = "another long token"
"""


def written(tmp_path, text, mode=0o600):
    path = tmp_path / "accounts.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_accounts_are_read_with_their_quotas(tmp_path):
    accounts = read_accounts(written(tmp_path, FILE), Quota(sessions=7))
    found = accounts.find("Bearer a long enough token")
    assert (found.name, found.quota.sessions, found.quota.messages_per_s) == ("trainer", 2, 10.5)
    assert accounts.find("bearer another long token").quota.sessions == 7
    assert accounts.find("Bearer a long enough toke") is None
    assert accounts.find("") is None and not accounts.are_open


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        (FILE, 0o640, "chmod 600"),
        (FILE.replace("another long token", "a long enough token"), 0o600, "share a token"),
        (FILE.replace("a long enough token", "short"), 0o600, "accounts.trainer.token"),
        (FILE.replace("sessions = 2", "sessions = 0"), 0o600, "sessions"),
        (FILE.replace("sessions = 2", "session = 2"), 0o600, "session"),
        (FILE.replace("accounts.other", 'accounts."a b"'), 0o600, "letters"),
        ("", 0o600, "accounts"),
    ],
)
def test_a_wrong_file_of_accounts_is_refused(tmp_path, text, mode, said):
    with pytest.raises(ConfigError, match=said):
        read_accounts(written(tmp_path, text, mode), Quota())


def test_an_account_earns_its_messages_with_time(monkeypatch):
    now_s = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    account = Account("a", Quota(messages_per_s=2.0))
    assert [account.take() for _ in range(3)] == [0.0, 0.0, 0.5]
    now_s += 0.5
    assert account.take() == 0.0 and account.take() > 0
    assert account.messages == 3


def test_tokens_differ():
    assert len({new_token() for _ in range(10)}) == 10


def test_addresses():
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("localhost")
    assert not is_loopback("0.0.0.0") and not is_loopback("example.org")
    with listen("127.0.0.1", 0) as taken, pytest.raises(ConfigError, match="--port"):
        listen("127.0.0.1", taken.getsockname()[1])
