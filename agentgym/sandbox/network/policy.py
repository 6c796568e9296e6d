"""The hosts that a sandbox may reach, as patterns of a recipe's `allow`.

A pattern is a name, ``*.`` and a name, an address or a network in CIDR notation, each with an
optional port; without a port it means the ports 80 and 443.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from agentgym.errors import SandboxError
from agentgym.records import Recipe
from agentgym.sandbox.network.address import (
    Address,
    Network,
    is_public,
    parse_host,
    special_range,
    split_port,
)

MODES = ("none", "allowlist", "open")
_WEB_PORTS = frozenset((80, 443))
_LOCALHOST = (ipaddress.ip_network("127.0.0.1"), ipaddress.ip_network("::1"))


@dataclass(frozen=True, slots=True)
class Pattern:
    """One entry of `allow`.

    Attributes:
        ports: The ports that it allows.
        name: The allowed name or, with `below`, the parent of the allowed names; may be empty.
        below: Whether the pattern began with ``*.``.
        networks: The addresses that it allows.
    """

    ports: frozenset[int]
    name: str = ""
    below: bool = False
    networks: tuple[Network, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read a pattern.

        Raises:
            SandboxError: The pattern is invalid; the message states the reason.
        """
        try:
            host, port = split_port(text)
            ports = _WEB_PORTS if port is None else frozenset((port,))
            below = host.startswith("*.")
            bare = host.removeprefix("*.")
            network = None if below else _network(bare)
            if network is not None:
                return cls(ports, networks=(network,))
            name = parse_host(bare)
        except ValueError as error:
            raise SandboxError(
                f"allow: {text!r}: {error}; expected a name, *.name, address or network, "
                'with or without a port: "pypi.org", "*.debian.org", "example.com:8080"'
            ) from None
        if not isinstance(name, str):
            raise SandboxError(f"allow: {text!r}: *. stands before a name, not before an address")
        if name != "localhost" or below:
            return cls(ports, name, below)
        if port is None:
            raise SandboxError(f"allow: {text!r}: name the port: 'localhost:8000'")
        return cls(ports, name, networks=_LOCALHOST)

    def allows_name(self, name: str, port: int) -> bool:
        """Return whether it allows a name, in the form of `parse_host`."""
        if port not in self.ports or not self.name:
            return False
        return name.endswith("." + self.name) if self.below else name == self.name

    def allows_address(self, address: Address, port: int) -> bool:
        """Return whether it allows an address."""
        return port in self.ports and any(address in network for network in self.networks)

    def opens(self, address: Address, port: int) -> bool:
        """Return whether it allows an address that is not public.

        This needs the address itself, or a network without any public address: 0.0.0.0/0 does not
        include the host's own services.
        """
        return port in self.ports and any(
            address in network
            and (network.num_addresses == 1 or special_range(network) is not None)
            for network in self.networks
        )


def _network(text: str) -> Network | None:
    """Return the network that a pattern names, or None if the pattern is a name."""
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if "/" in bare:
        return ipaddress.ip_network(bare)
    host = parse_host(text)
    return None if isinstance(host, str) else ipaddress.ip_network(host)


@dataclass(frozen=True, slots=True)
class Policy:
    """The network policy of a recipe."""

    open: bool
    patterns: tuple[Pattern, ...]

    @classmethod
    def of(cls, network: str, allow: Sequence[str]) -> Policy | None:
        """Read a recipe's policy; return None if it allows nothing.

        Raises:
            SandboxError: The mode or a pattern is wrong.
        """
        if network not in MODES:
            raise SandboxError(f"network is {network!r}, expected one of: {', '.join(MODES)}")
        patterns = tuple(map(Pattern.parse, allow))
        return None if network == "none" else cls(network == "open", patterns)

    def refuses(self, host: str | Address, port: int) -> str:
        """Return why a host is refused; empty if it may be resolved and tried."""
        if self.open:
            return ""
        if isinstance(host, str):
            allowed = any(pattern.allows_name(host, port) for pattern in self.patterns)
        else:
            allowed = any(pattern.allows_address(host, port) for pattern in self.patterns)
        if allowed:
            return ""
        entry = write_pattern(host, port)
        return f'not in the allowlist; the author of the recipe can add "{entry}" to its allow'

    def refuses_address(self, address: Address, port: int) -> str:
        """Return why a connection to an address is refused; empty if it is allowed."""
        if any(pattern.opens(address, port) for pattern in self.patterns) or is_public(address):
            return ""
        return (
            "not a public address; the author of the recipe can add the address to its allow, "
            f'as in "{write_pattern(address, port)}"'
        )


def write_pattern(host: str | Address, port: int) -> str:
    """Return the pattern that allows a host on a port."""
    if port in _WEB_PORTS:
        return str(host)
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"


def proxy_variables(recipe: Recipe, port: int) -> dict[str, str]:
    """Return the variables that lead programs to the proxy, in both spellings."""
    if recipe.network == "none":
        return {}
    proxy = f"127.0.0.1:{port}"
    lower = {
        "http_proxy": f"http://{proxy}",
        "https_proxy": f"http://{proxy}",
        # No all_proxy: clients without SOCKS support (httpx) fail if it names a SOCKS proxy.
        "no_proxy": "localhost,127.0.0.1,::1",
    }
    return lower | {name.upper(): value for name, value in lower.items()}
