"""Any MCP server as a surface: over stdio and HTTP, well-behaved and not."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from mcp import types
from odd_http_server import odd_http_server
from odd_server import TOOLS

from agentgym.errors import ActionError, ConfigError, SurfaceError, UnsupportedError
from agentgym.protocols import SurfaceContext
from agentgym.records import Action, Effect, SurfaceConfig
from agentgym.sandbox.absent import NoSandbox
from agentgym.services.http import serve_http
from agentgym.surfaces import server_process, transport
from agentgym.surfaces.calls import check_call
from agentgym.surfaces.inherited import inherited_variables
from agentgym.surfaces.mcp import McpKind
from agentgym.testing.surface import CHECKS

ODD = shlex.join([sys.executable, str(Path(__file__).with_name("odd_server.py"))])
SITE = SurfaceContext(NoSandbox())


def kind_of(**options):
    return McpKind(SurfaceConfig(options={"command": ODD, **options}))


@pytest.fixture
async def surface():
    surface = await kind_of().attach(SITE)
    yield surface
    await surface.close()


@pytest.fixture
def call(surface):
    tools = kind_of().tools()

    async def call(tool, **arguments):
        action = Action(tool, arguments)
        check_call(action, tools)
        return await surface.call(action)

    return call


@pytest.fixture(scope="module")
def url():
    with serve_http(odd_http_server().streamable_http_app()) as url:
        yield f"{url}/mcp"


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def gone(pid):
    for _ in range(200):
        if not is_alive(pid):
            return True
        await asyncio.sleep(0.05)
    return False


# --- the tools -------------------------------------------------------------------------------


def test_every_tool_has_a_name_that_any_model_api_takes():
    names = [tool.name for tool in kind_of().tools()]
    assert len(set(names)) == len(names) == len(TOOLS)
    assert all(0 < len(name) <= 64 and name.replace("_", "").isalnum() for name in names)
    assert {"submit_2", "dotted_name", "dotted_name_2"} <= set(names)
    assert "submit" not in names


def test_names_can_have_a_prefix():
    assert {"odd_count", "odd_submit"} <= {t.name for t in kind_of(prefix="odd_").tools()}


async def test_a_renamed_tool_is_the_servers_own(call):
    assert (await call("dotted_name_2")).text == "dotted/name: {}"
    assert (await call("submit_2")).text == "submit: {}"


async def test_references_are_resolved_and_mistyped_names_refused(call):
    assert (await call("refer", to={"who": "x"})).text == 'refer: {"to": {"who": "x"}}'
    for wrong in ({"to": {"who": 1}}, {}, {"to": {}, "too": 1}):
        with pytest.raises(ActionError):
            await call("refer", **wrong)
    assert (await call("anything", goes=[1])).text == 'anything: {"goes": [1]}'


# --- the results -----------------------------------------------------------------------------


async def test_effects(call):
    assert ((await call("count")).text, (await call("count")).text) == ("1", "2")
    assert (await call("count")).effect is Effect.CHANGED
    assert (await call("look")).effect is Effect.NO_CHANGE
    failed = await call("fail")
    assert (failed.text, failed.effect) == ("it failed", Effect.ERROR)
    refused = await call("refuse")
    assert (refused.text, refused.effect) == ("error: refused by the protocol", Effect.ERROR)


async def test_a_picture_is_shown_and_named(call):
    seen = await call("picture")
    assert seen.image.tolist() == [[[255, 0, 0], [0, 0, 255]]]
    (name,) = seen.data["images"]
    assert seen.text == f"see:\n[{name} image/png]"
    assert (await call("picture")).data["images"] == [name]
    broken = await call("broken_picture")
    assert broken.image is None and broken.data["images"] != [name]


async def test_structured_content_is_data_and_text(call):
    seen = await call("structure")
    assert seen.data == {"structured": {"n": 7}}
    assert json.loads(seen.text) == {"n": 7}


async def test_what_breaks_its_own_promise_is_an_error(call):
    seen = await call("promise")
    assert seen.effect is Effect.ERROR and "kept" in seen.text


async def test_resources_are_read_or_named(call):
    assert (await call("resources")).text.splitlines() == [
        "[resource note://2 a link]",
        "[resource note://1 text/plain]",
        "the note",
        "[resource blob://1]",
        "[audio audio/wav]",
    ]


async def test_long_text_is_cut_and_nul_is_visible(call):
    seen = await call("talk", size=100_000)
    assert seen.text.startswith("t\u2400xxx") and seen.text.endswith("more characters]")
    assert len(seen.text) < 33_000


# --- sessions --------------------------------------------------------------------------------


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_contract(check):
    # Its own bad manners apart: the contract is about what a surface does over any sane server.
    kind = kind_of(call_s=1.0)
    kind._tools = tuple(t for t in kind.tools() if t.name not in ("crash", "leave_a_child"))
    await check(kind, SITE)


async def test_every_episode_has_a_server_of_its_own():
    kind = kind_of()
    surface, other = await kind.attach(SITE), await kind.attach(SITE)
    assert (await surface.call(Action("count"))).text == "1"
    assert (await other.call(Action("count"))).text == "1"
    assert (await surface.call(Action("count"))).text == "2"
    await other.close()
    await surface.close()


async def test_a_server_runs_in_an_empty_folder_that_goes_with_it(call, surface):
    seen = json.loads((await call("surroundings")).text)
    assert seen["files"] == [] and seen["env"]["HOME"] == seen["cwd"]
    assert set(seen["env"]) <= {
        *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TMPDIR"),
        *("PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"),
        *inherited_variables(),
    }
    await surface.close()
    assert not Path(seen["cwd"]).exists() and not Path(seen["env"]["TMPDIR"]).exists()


async def test_variables_are_handed_over(monkeypatch):
    monkeypatch.setenv("ODD_TOKEN", "secret")
    surface = await kind_of(env={"TOKEN": "$ODD_TOKEN", "PLAIN": "a$$b"}).attach(SITE)
    seen = json.loads((await surface.call(Action("surroundings"))).text)
    await surface.close()
    assert (seen["env"]["TOKEN"], seen["env"]["PLAIN"]) == ("secret", "a$b")
    with pytest.raises(ConfigError, match="NOT_SET_ANYWHERE"):
        kind_of(env={"TOKEN": "$NOT_SET_ANYWHERE"})


async def test_packages_outlive_an_episode_and_proxies_and_certificates_are_handed_over(
    monkeypatch, tmp_path
):
    given = {name: f"/ca/{name}" for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")}
    given |= {"NODE_EXTRA_CA_CERTS": "/ca/node", "https_proxy": "http://small:1"}
    given |= {"HTTP_PROXY": "http://large:1", "NO_PROXY": "localhost", "no_proxy": "127.0.0.1"}
    for name in ("HTTPS_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**given, "MY_TOKEN": "secret", "OPENAI_API_KEY": "secret"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    seen = []
    for _ in range(2):
        surface = await kind_of(env={"UV_CACHE_DIR": "/mine"}).attach(SITE)
        seen.append(json.loads((await surface.call(Action("surroundings"))).text)["env"])
        await surface.close()
    first, second = seen
    assert given.items() <= first.items()
    assert not {"MY_TOKEN", "OPENAI_API_KEY", "HTTPS_PROXY", "ALL_PROXY"} & first.keys()
    assert first["HOME"] != second["HOME"]
    assert first["npm_config_cache"] == second["npm_config_cache"]
    assert Path(first["npm_config_cache"]).is_relative_to(tmp_path / "cache")
    assert (tmp_path / "cache/mcp-packages").stat().st_mode & 0o777 == 0o700
    assert first["UV_CACHE_DIR"] == "/mine"


def test_without_a_cache_folder_packages_are_fetched_each_time(monkeypatch, tmp_path):
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    assert "npm_config_cache" not in inherited_variables()


async def test_what_a_server_started_ends_with_it(call, surface):
    child = int((await call("leave_a_child")).text)
    assert is_alive(child)
    await surface.close()
    assert await gone(child)


async def test_a_stubborn_server_ends_all_the_same():
    surface = await kind_of(command=f"{ODD} stubborn").attach(SITE)
    child = int((await surface.call(Action("leave_a_child"))).text)
    parent = int(Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[1])
    await surface.close()
    assert await gone(parent) and await gone(child)


async def test_a_server_that_dies_is_nobodys_observation(call, surface):
    with pytest.raises(
        SurfaceError, match=r"is gone(.|\n)*about to crash\n\[ended with status 3\]"
    ):
        await call("crash")
    with pytest.raises(SurfaceError, match="is gone"):
        await call("count")
    again = await kind_of().attach(SITE)
    assert (await again.call(Action("count"))).text == "1"
    await again.close()


async def test_only_the_server_knows_its_state(surface):
    with pytest.raises(UnsupportedError, match="surface 'mcp': the state of the server"):
        await surface.save()


async def test_a_call_that_takes_too_long_is_a_timeout_and_the_session_goes_on():
    surface = await kind_of(call_s=0.5).attach(SITE)
    assert (await surface.call(Action("count"))).text == "1"
    late = await surface.call(Action("hang"))
    assert late.effect is Effect.TIMEOUT and "0.5 s" in late.text
    assert (await surface.call(Action("count"))).text == "2"
    await surface.close()


async def test_calls_at_once_and_a_call_that_is_given_up(call, surface):
    seen = await asyncio.gather(*(call("count") for _ in range(8)))
    assert sorted(int(one.text) for one in seen) == list(range(1, 9))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call("hang"), 0.3)
    assert (await call("count")).text == "9"


LEAVING = """
import os, signal, sys
import agentgym
env = agentgym.make(mcp=sys.argv[1])
env.reset(seed=1)
observation, *_ = env.step({"tool": "surroundings", "arguments": {}})
print(observation["text"], flush=True)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["leave", "kill"])
def test_nothing_is_left_of_who_ends_without_closing(how):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LEAVING, ODD, how],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (-9 if how == "kill" else 0, "")
    home = Path(json.loads(done.stdout)["cwd"])
    deadline = time.monotonic() + 20
    while home.parent.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not home.parent.exists()
    assert not [p for p in Path("/proc").glob("[0-9]*/cwd") if _target(p) == home]


def _target(link):
    try:
        return link.readlink()
    except OSError:
        return None


# --- what cannot begin -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "expected command"),
        ({"command": "x", "url": "http://x"}, "expected command"),
        ({"command": ""}, "got nothing"),
        ({"command": "'"}, "not a command line"),
        ({"url": "ftp://x"}, "a URL"),
        ({"command": "no-such-program-anywhere"}, "no program named 'no-such-program-anywhere'"),
        ({"comand": "x"}, "did you mean 'command'"),
        ({"command": "true", "call_s": 0}, "surface.mcp.call_s"),
        ({"command": "true", "prefix": "a b"}, "surface.mcp.prefix"),
    ],
)
def test_options_are_checked(options, told):
    with pytest.raises(ConfigError, match=told):
        McpKind(SurfaceConfig(options=options))


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            "sh -c 'echo no good >&2; exit 5'",
            r"cannot be used(.|\n)*no good\n\[ended with status 5\]",
        ),
        (
            "sh -c 'echo I say nothing >&2; exec sleep 60'",
            r"handshake within 1 s(.|\n)*I say nothing",
        ),
        ("cat", "cannot be used"),
        ("yes", "handshake within 1 s"),
    ],
)
def test_a_server_that_does_not_answer_is_told_with_its_last_words(command, told):
    began = time.monotonic()
    with pytest.raises(SurfaceError, match=told):
        McpKind(SurfaceConfig(options={"command": command, "start_s": 1.0}))
    assert time.monotonic() - began < 30


async def test_http_has_a_session_an_episode(url):
    surface = await McpKind(SurfaceConfig(options={"url": url, "call_s": 5.0})).attach(SITE)
    first = int((await surface.call(Action("count"))).text)
    assert int((await surface.call(Action("count"))).text) == first + 1
    assert (await surface.call(Action("fail"))).effect is Effect.ERROR
    await surface.close()


def test_what_a_server_says_of_its_use_is_known_before_any_session(url):
    assert "Mind the gaps." in kind_of(command=None, url=url).instructions


def test_nobody_at_the_url():
    with pytest.raises(SurfaceError, match=r"cannot be used"):
        McpKind(SurfaceConfig(options={"url": "http://127.0.0.1:9/mcp", "start_s": 5.0}))


async def test_one_request_that_fails_over_http_does_not_end_the_session(url, monkeypatch):
    surface = await McpKind(SurfaceConfig(options={"url": url, "call_s": 5.0})).attach(SITE)
    monkeypatch.setattr(transport, "MESSAGE_BYTES", 1 << 18)
    seen = await surface.call(Action("talk", {"size": 10**6}))
    assert seen.effect is Effect.ERROR and "more than 262144 bytes" in seen.text
    # The SDK sends this argument as a header too, and servers read a limited size of headers.
    assert (await surface.call(Action("headed", {"at": "x" * 200_000}))).effect is Effect.ERROR
    assert (await surface.call(Action("look"))).effect is Effect.NO_CHANGE
    await surface.close()


@pytest.mark.parametrize(
    "tool, effect, told",
    [
        ("half", Effect.CHANGED, "half of ?"),
        ("rich", Effect.ERROR, "far more than 100,000 values"),
        ("unreadable", Effect.ERROR, "cannot be"),
        ("ask", Effect.ERROR, "asks for roots/list, which is not offered"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_told_at_once(call, tool, effect, told):
    began = time.monotonic()
    seen = await call(tool)
    assert (seen.effect, told in seen.text) == (effect, True), seen.text
    assert (await call("look")).effect is Effect.NO_CHANGE
    assert time.monotonic() - began < 30, "it waited until the call took too long"


async def test_a_server_that_is_never_ready_has_the_time_of_one_call():
    surface = await kind_of(call_s=1.0).attach(SITE)
    assert (await surface.call(Action("poll"))).effect is Effect.TIMEOUT
    assert (await surface.call(Action("look"))).effect is Effect.NO_CHANGE
    await surface.close()


async def test_one_response_that_is_too_rich_does_not_end_the_session(url):
    surface = await McpKind(SurfaceConfig(options={"url": url})).attach(SITE)
    assert "far more than 100,000 values" in (await surface.call(Action("rich"))).text
    assert (await surface.call(Action("look"))).effect is Effect.NO_CHANGE
    await surface.close()


class OlderServer:
    """A server of the protocol before 2026, which answers in streams of events."""

    def __init__(self, app):
        self._app = app

    async def __call__(self, scope, receive, send):
        if (b"mcp-method", b"server/discover") in scope.get("headers", ()):
            await send({"type": "http.response.start", "status": 400, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._app(scope, receive, send)


async def test_an_event_of_a_server_may_be_as_large_as_any_message():
    with serve_http(OlderServer(odd_http_server().streamable_http_app())) as url:
        surface = await McpKind(SurfaceConfig(options={"url": f"{url}/mcp"})).attach(SITE)
        seen = await surface.call(Action("anything", {"n": "x" * (2 << 20)}))
        assert seen.effect is Effect.CHANGED and "xxx" in seen.text
        assert (await surface.call(Action("rich"))).effect is Effect.ERROR
        assert (await surface.call(Action("look"))).effect is Effect.NO_CHANGE
        await surface.close()


@pytest.mark.parametrize("code", [types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT])
@pytest.mark.parametrize("over_http", [False, True], ids=["stdio", "http"])
async def test_an_error_with_a_code_of_the_sdk_is_an_observation(url, code, over_http):
    options = {"url": url} if over_http else {"command": ODD}
    surface = await McpKind(SurfaceConfig(options=options)).attach(SITE)
    seen = await surface.call(Action("refuse", {"code": code}))
    assert (seen.effect, seen.text) == (Effect.ERROR, "error: refused by the protocol")
    assert (await surface.call(Action("look"))).effect is Effect.NO_CHANGE
    await surface.close()


async def test_an_http_server_that_goes_away():
    with serve_http(odd_http_server().streamable_http_app()) as url:
        kind = McpKind(SurfaceConfig(options={"url": f"{url}/mcp", "call_s": 5.0}))
        surface = await kind.attach(SITE)
        await surface.call(Action("look"))
    with pytest.raises(SurfaceError, match="is gone"):
        await surface.call(Action("look"))
    await surface.close()


@pytest.mark.parametrize(
    "state, flags, gone", [("S", 0x0, False), ("R", 0x4, True), ("Z", 0x0, True)]
)
def test_a_host_that_is_ending_counts_as_gone(monkeypatch, state, flags, gone):
    # It has closed its files by then, so the server may have ended before it.
    about = f"{state} 1 1 1 0 -1 {flags} 0".encode().split()
    monkeypatch.setattr(server_process, "_stat", lambda pid: about)
    assert server_process._is_gone(os.getppid()) is gone
