"""The network part of the sandbox contract: guests get out only if the recipe allows it.

Run it like `agentgym.testing.sandbox`. The recipe's guests need bash. A check that plays a host
listens on this machine's loopback, so the provider's proxy must run on this machine too. A provider
without network policies passes by refusing such recipes with UnsupportedError.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TypeAlias

from agentgym.errors import SandboxError, UnsupportedError
from agentgym.protocols import Sandbox, SandboxProvider
from agentgym.records import Capability, Recipe

Contract: TypeAlias = Callable[[SandboxProvider, Recipe], Awaitable[None]]
CHECKS: list[Contract] = []

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
# Sends its argument to the proxy and prints the answer.
_SCRIPT = """
proxy=${http_proxy#http://}
exec 3<>"/dev/tcp/${proxy%:*}/${proxy##*:}" && printf %b "$1" >&3 && cat <&3
"""


def _check(function: Contract) -> Contract:
    CHECKS.append(function)
    return function


def _needs_network(function: Contract) -> Contract:
    """Run a check only if the provider supports network policies."""

    async def checked(provider: SandboxProvider, recipe: Recipe) -> None:
        try:
            box = await provider.start(replace(recipe, network="open"))
        except UnsupportedError:
            return
        await box.close()
        await function(provider, recipe)

    checked.__name__ = function.__name__
    checked.__doc__ = function.__doc__
    return checked


@asynccontextmanager
async def _running(
    provider: SandboxProvider, recipe: Recipe, network: str, *allow: str
) -> AsyncIterator[Sandbox]:
    box = await provider.start(replace(recipe, network=network, allow=allow))
    try:
        yield box
    finally:
        await box.close()


@asynccontextmanager
async def _host() -> AsyncIterator[int]:
    """Serve one fixed answer on this machine's loopback; yields the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_ANSWER)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


async def _ask(box: Sandbox, request: str) -> str:
    """Send a request to the proxy in the guest's variables, and return its answer."""
    result = await box.exec(["bash", "-c", _SCRIPT, "bash", request])
    return result.stdout.decode()


def _get(host: str) -> str:
    return rf"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"


def _connect(host: str) -> str:
    return rf"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n"


@_check
async def without_a_network_there_is_no_proxy(provider: SandboxProvider, recipe: Recipe) -> None:
    """No variable names a proxy, nothing listens, and `allow` has no effect."""
    if Capability.ISOLATION not in provider.capabilities:
        return
    async with _running(provider, recipe, "none", "example.com") as box:
        found = await box.exec(["bash", "-c", "compgen -e | grep -i _proxy; cat /proc/net/tcp*"])
        lines = [line for line in found.stdout.splitlines() if b"local_address" not in line]
        assert lines == [], found.stdout
        assert (await box.audit()).connections == ()


@_check
@_needs_network
async def there_is_no_way_past_the_proxy(provider: SandboxProvider, recipe: Recipe) -> None:
    """A guest has no interface but its loopback, whatever its network policy."""
    async with _host() as port, _running(provider, recipe, "open") as box:
        for address in (f"127.0.0.1/{port}", "192.0.2.1/80"):
            result = await box.exec(["bash", "-c", f"exec 3<>/dev/tcp/{address}"], timeout_s=20)
            assert result.exit_code != 0 and not result.timed_out, address


@_check
@_needs_network
async def the_allowlist_decides_by_host_and_port(provider: SandboxProvider, recipe: Recipe) -> None:
    """Listed hosts are reached; all others get 403 and the pattern to add."""
    async with _host() as port, _running(provider, recipe, "allowlist", f"127.0.0.1:{port}") as box:
        answer = await _ask(box, _get(f"127.0.0.1:{port}"))
        assert answer.startswith("HTTP/1.1 200 ") and answer.endswith("\r\n\r\nhello"), answer
        for host, pattern in (
            ("example.com:80", "example.com"),
            ("example.com:8080", "example.com:8080"),
        ):
            for request in (_get(host), _connect(host)):
                answer = await _ask(box, request)
                assert answer.startswith("HTTP/1.1 403 ") and f'"{pattern}"' in answer, answer


@_check
@_needs_network
async def a_tunnel_carries_bytes_both_ways(provider: SandboxProvider, recipe: Recipe) -> None:
    """CONNECT leads to the host, and the host's bytes come back as they are."""
    async with _host() as port, _running(provider, recipe, "allowlist", f"127.0.0.1:{port}") as box:
        answer = await _ask(box, _connect(f"127.0.0.1:{port}") + r"GET / HTTP/1.1\r\n\r\n")
        head, _, rest = answer.partition("\r\n\r\n")
        assert re.match(r"HTTP/1.1 200 ", head) and rest.encode() == _ANSWER, answer


@_check
@_needs_network
async def open_does_not_lead_to_the_host_itself(provider: SandboxProvider, recipe: Recipe) -> None:
    """Loopback, private and metadata addresses are refused unless they are listed."""
    async with _host() as port:
        hosts = [f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}", "10.0.0.1:80"]
        hosts += ["169.254.169.254:80", "[fe80::1]:80", "0.0.0.0:80"]
        async with _running(provider, recipe, "open") as box:
            for host in hosts:
                answer = await _ask(box, _connect(host))
                assert answer.startswith("HTTP/1.1 403 "), answer
        async with _running(provider, recipe, "open", f"localhost:{port}") as box:
            assert (await _ask(box, _get(f"127.0.0.1:{port}"))).endswith("hello")


@_check
@_needs_network
async def every_attempt_is_in_the_audit(provider: SandboxProvider, recipe: Recipe) -> None:
    """The audit lists attempts in order, with protocol, outcome and number of bytes."""
    async with _host() as port, _running(provider, recipe, "allowlist", f"127.0.0.1:{port}") as box:
        await _ask(box, _connect("example.com:443"))
        await _ask(box, _connect(f"127.0.0.1:{port}") + r"GET / HTTP/1.1\r\n\r\n")
        refused, opened = (await box.audit()).connections
        assert (refused.host, refused.port, refused.via) == ("example.com", 443, "connect")
        assert refused.outcome.startswith("refused: ")
        assert (refused.sent_bytes, refused.received_bytes) == (0, 0)
        assert (opened.host, opened.port, opened.outcome) == ("127.0.0.1", port, "open")
        assert (opened.sent_bytes, opened.received_bytes) == (18, len(_ANSWER))


@_check
@_needs_network
async def a_wrong_policy_is_refused(provider: SandboxProvider, recipe: Recipe) -> None:
    """An invalid pattern is an error at the start, not in the middle of an episode."""
    for network, allow in (("allowlist", "http://example.com/"), ("full", "example.com")):
        try:
            box = await provider.start(replace(recipe, network=network, allow=(allow,)))
        except SandboxError:
            continue
        await box.close()
        raise AssertionError(f"network {network!r} with {allow!r} should not start")


@_check
async def connect_reaches_a_port_of_the_guest(provider: SandboxProvider, recipe: Recipe) -> None:
    """The socket connects to a server inside; without a server there, it is an error."""
    serve = (
        "import socket; s = socket.create_server(('127.0.0.1', 8123)); print(flush=True);"
        "c, _ = s.accept(); c.sendall(c.recv(100).upper()); c.close()"
    )
    async with _running(provider, recipe, "none") as box:
        try:
            (await box.connect(8123)).close()
        except SandboxError as error:
            assert "8123" in str(error)
        else:
            raise AssertionError("nothing listens on port 8123, and connect works")
        if (await box.exec(["python3", "-c", ""])).exit_code:
            return
        serving = asyncio.create_task(box.exec(["python3", "-c", serve]))
        sock = await _once_it_listens(box, 8123, serving)
        reader, writer = await asyncio.open_connection(sock=sock)
        writer.write(b"word")
        assert await reader.read() == b"WORD"
        writer.close()
        await writer.wait_closed()
        assert (await serving).exit_code == 0


@_check
async def the_host_answers_on_a_port_of_the_guest(
    provider: SandboxProvider, recipe: Recipe
) -> None:
    """A program inside reaches the host's socket; a second one on the port is an error."""
    call = (
        "import socket; s = socket.create_connection(('127.0.0.1', 8124));"
        "s.sendall(b'word'); s.shutdown(socket.SHUT_WR); print(s.makefile().read(), end='')"
    )

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read()).upper())
        writer.close()

    async with _running(provider, recipe, "none") as box:
        listening = await box.listen(8124)
        try:
            (await box.listen(8124)).close()
        except SandboxError as error:
            assert "8124" in str(error)
        else:
            raise AssertionError("port 8124 was given away twice")
        async with await asyncio.start_server(answer, sock=listening):
            if (await box.exec(["python3", "-c", ""])).exit_code == 0:
                told = await box.exec(["python3", "-c", call])
                assert told.stdout == b"WORD", told
        (await box.listen(8124)).close()


async def _once_it_listens(box: Sandbox, port: int, serving: asyncio.Task[object]) -> socket.socket:
    while True:
        assert not serving.done(), serving
        try:
            return await box.connect(port)
        except SandboxError:
            await asyncio.sleep(0.02)
