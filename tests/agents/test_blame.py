"""Whose failure an agent's exception is: decided by where it was raised, not by its name."""

from __future__ import annotations

import asyncio
import socket
import types
import urllib.request

import httpx
import openai
import pytest
from chat_server import ChatServer, Status

from agentgym.agents.blame import blame
from agentgym.errors import AgentError, PolicyError, SandboxError, UserError


class Agent:
    """Its module is this one: what is raised here is its own."""


def closed_port():
    with socket.socket() as taken:  # bound, so that nobody else listens
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def installed(tmp_path, source, name="vendor_sdk"):
    """Return a module that lies where a package manager would have put it."""
    module = types.ModuleType(name)
    file = tmp_path / "site-packages" / name / "__init__.py"
    exec(compile(source, str(file), "exec"), module.__dict__)
    return module


def raised_by(call, *arguments):
    try:
        result = call(*arguments)
        if asyncio.iscoroutine(result):
            asyncio.run(result)
    except BaseException as error:  # noqa: BLE001 - whatever it is, somebody is to blame
        return error
    raise AssertionError("nothing was raised")


def connect_by_hand():
    urllib.request.urlopen(f"http://127.0.0.1:{closed_port()}/v1")


def connect_with_httpx():
    httpx.get(f"http://127.0.0.1:{closed_port()}/v1")


async def connect_with_the_sdk():
    async with openai.AsyncOpenAI(
        base_url=f"http://127.0.0.1:{closed_port()}/v1", api_key="x", max_retries=0
    ) as client:
        await client.models.list()


def connect_and_wrap():
    try:
        connect_with_httpx()
    except httpx.HTTPError as error:
        raise RuntimeError("my model is down") from error


async def connect_in_a_group():
    async with asyncio.TaskGroup() as group:
        group.create_task(connect_with_the_sdk())


@pytest.mark.parametrize(
    "call",
    [
        connect_by_hand,
        connect_with_httpx,
        connect_with_the_sdk,
        connect_and_wrap,
        connect_in_a_group,
    ],
)
def test_a_connection_that_was_refused_is_nobody_s_policy(call):
    assert type(blame(raised_by(call), Agent())) is AgentError


async def ask(url):
    async with openai.AsyncOpenAI(base_url=url, api_key="x", max_retries=0) as client:
        await client.chat.completions.create(
            model="m", messages=[{"role": r, "content": "x"} for r in ("system", "user")]
        )


def test_a_server_that_cannot_read_the_call_of_its_model():
    with ChatServer([Status(500, "error parsing tool call: raw='{', err=end")]) as server:
        failure = blame(raised_by(ask, server.url), Agent())
    assert type(failure) is PolicyError


@pytest.mark.parametrize("code", [400, 401, 403, 404, 429, 500, 503])
def test_what_a_server_answers(code):
    with ChatServer([Status(code)]) as server:
        failure = blame(raised_by(ask, server.url), Agent())
    assert type(failure) is (PolicyError if code == 400 else AgentError)


def raise_it(error):
    raise error


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connection refused"),
        httpx.ConnectError("refused"),
        SandboxError("the sandbox is gone"),
        UserError("the user is gone"),
        AgentError("the endpoint is down"),
        MemoryError(),
        SystemExit(1),
    ],
    ids=lambda error: type(error).__name__,
)
def test_the_class_of_an_error_says_nothing(error):
    assert type(blame(raised_by(raise_it, error), Agent())) is PolicyError


def test_an_error_in_the_agent_s_own_package_is_its_own_where_it_is_installed(tmp_path):
    package = installed(tmp_path, "def fail():\n    raise ConnectionError('no')\n")
    failure = raised_by(package.fail)
    assert type(blame(failure, Agent())) is AgentError
    package.Agent = type("Agent", (), {"__module__": "vendor_sdk"})
    assert type(blame(failure, package.Agent())) is PolicyError


def test_a_slow_reply_may_be_a_model_that_talks_for_ever(tmp_path):
    source = (
        "class APIConnectionError(Exception): pass\n"
        "class APITimeoutError(APIConnectionError): pass\n"
        "class ConnectTimeout(Exception): pass\n"
        "def fail(name):\n    raise globals()[name]('slow')\n"
    )
    sdk = installed(tmp_path, source)
    late, lost = (raised_by(sdk.fail, name) for name in ("APITimeoutError", "ConnectTimeout"))
    assert type(blame(late, Agent())) is PolicyError
    assert type(blame(lost, Agent())) is AgentError


def test_a_bug_that_installed_code_trips_over_is_the_agent_s():
    failure = blame(raised_by(lambda: __import__("json").loads("{")), Agent())
    assert type(failure) is PolicyError
    assert "JSONDecodeError: Expecting property name" in str(failure)


class Hostile(Exception):
    def __str__(self):
        raise RuntimeError("no text")

    @property
    def status_code(self):
        raise RuntimeError("no status")


def test_no_exception_breaks_the_judgement(tmp_path):
    hostile = installed(tmp_path, "def fail(error):\n    raise error\n")
    failure = blame(raised_by(hostile.fail, Hostile()), Agent())
    assert type(failure) is PolicyError and "Hostile" in str(failure)

    def deep(n):
        return deep(n + 1)

    told = blame(raised_by(deep, 0), Agent())
    assert type(told) is PolicyError and len(told.detail) < 30_000
    long = blame(raised_by(raise_it, ValueError("x" * 10**7)), Agent())
    assert len(str(long)) < 3_000 and len(long.detail) < 30_000
    circle = ValueError("a")
    circle.__cause__ = TypeError("b")
    circle.__cause__.__cause__ = circle
    assert type(blame(circle, Agent())) is PolicyError


def with_detail(detail):
    error = PolicyError("why")
    error.detail = detail
    return error


class Exits(Exception):
    def __str__(self):
        raise SystemExit(3)


class OddUsage(Exception):
    @property
    def usage(self):
        raise ValueError("no usage")


class OddCause(Exception):
    @property
    def __cause__(self):
        raise SystemExit(3)


@pytest.mark.parametrize(
    "error", [Exits(), OddUsage(), OddCause(), with_detail(5), with_detail("x" * 10**6)]
)
def test_no_attribute_of_an_exception_breaks_the_judgement(error):
    failure = blame(error, object())
    assert type(failure) is PolicyError
    assert type(failure.detail) is str and len(failure.detail) < 30_000
