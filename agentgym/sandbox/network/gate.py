"""The gate of all connections to hosts: it checks, resolves once, connects and records.

It connects to the very address that it has checked, so a name cannot change its address between
check and use (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from concurrent.futures import ThreadPoolExecutor

from agentgym.sandbox.network.address import Address, parse_host
from agentgym.sandbox.network.journal import Attempt, Journal
from agentgym.sandbox.network.policy import Policy
from agentgym.sandbox.network.stream import Stream, is_scarce

CONNECT_S = 20.0
# One address that does not answer must leave time for the next.
_ADDRESS_S = 8.0
_MAX_ADDRESSES = 8
_LOOKUPS_AT_ONCE = 4
# Lookups have their own threads, so that hanging ones do not keep the engine from its files.
_LOOKUPS = ThreadPoolExecutor(16, "agentgym-lookup")


class RefusedError(Exception):
    """The policy refuses a connection; the text gives the guest and the audit the reason."""


class UnreachableError(Exception):
    """An allowed connection failed; `code` is an errno value."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Gate:
    """Makes the connections of one sandbox.

    Args:
        policy: The hosts that the guest may reach.
        journal: Records every attempt.
    """

    def __init__(self, policy: Policy, journal: Journal) -> None:
        self._policy, self._journal = policy, journal
        self._lookups = asyncio.Semaphore(_LOOKUPS_AT_ONCE)

    async def connect(self, host: str, port: int, via: str) -> tuple[Stream, Attempt]:
        """Connect to a host under the name that the guest wrote.

        Raises:
            RefusedError: The policy does not allow the host.
            UnreachableError: The host cannot be resolved or does not answer.
        """
        attempt = self._journal.begin(host, port, via)
        try:
            async with asyncio.timeout(CONNECT_S):
                sock = await self._reach(host, port)
        except RefusedError as error:
            attempt.outcome = f"refused: {error}"
            raise
        except UnreachableError as error:
            attempt.outcome = f"failed: {error}"
            raise
        except TimeoutError:
            attempt.outcome = f"failed: no answer within {CONNECT_S:g} s"
            raise UnreachableError(errno.ETIMEDOUT, "no answer") from None
        attempt.outcome = "open"
        return Stream(sock), attempt

    def refuse(self, host: str, port: int, via: str, reason: str) -> None:
        """Record an attempt that is refused regardless of the policy."""
        self._journal.begin(host, port, via).outcome = f"refused: {reason}"

    async def _reach(self, text: str, port: int) -> socket.socket:
        try:
            host = parse_host(text)
        except ValueError as error:
            raise RefusedError(str(error)) from None
        reason = self._policy.refuses(host, port)
        if reason:
            raise RefusedError(reason)
        found = await self._resolve(host) if isinstance(host, str) else [host]
        reasons = [self._policy.refuses_address(address, port) for address in found]
        addresses = [a for a, reason in zip(found, reasons, strict=True) if not reason]
        if not addresses:
            raise RefusedError(reasons[0])
        failure = UnreachableError(errno.EHOSTUNREACH, "no route")
        for address in addresses[:_MAX_ADDRESSES]:
            try:
                return await _connect(address, port)
            except OSError as error:
                code = error.errno or errno.ETIMEDOUT
                failure = UnreachableError(code, os.strerror(code))
        raise failure

    async def _resolve(self, name: str) -> list[Address]:
        try:
            async with self._lookups:
                loop = asyncio.get_running_loop()
                texts = await loop.run_in_executor(_LOOKUPS, lookup, name)
        except OSError as error:
            raise UnreachableError(errno.ENOENT, error.strerror or "no such name") from None
        # A link-local address has a scope (the name of an interface) and is never a destination.
        parsed = [parse_host(text) for text in texts if "%" not in text]
        addresses = [address for address in dict.fromkeys(parsed) if not isinstance(address, str)]
        if not addresses:
            raise UnreachableError(errno.ENOENT, "the name has no address")
        return addresses


def lookup(name: str) -> list[str]:
    """Return the addresses of a name, best first. Blocks; raises OSError."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


async def _connect(address: Address, port: int) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        if is_scarce(sock):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        async with asyncio.timeout(_ADDRESS_S):
            await asyncio.get_running_loop().sock_connect(sock, (str(address), port))
    except BaseException:
        sock.close()
        raise
    return sock
