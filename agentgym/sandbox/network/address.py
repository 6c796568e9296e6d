"""Hosts as guests and authors write them, and the distinction of public and private addresses.

Names follow RFC 1123 and IDNA 2008 (with the mapping of UTS 46); the ranges are those of the IANA
special-purpose address registries that are not globally reachable.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TypeAlias

import idna

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_MAX_NAME = 253
_PORT = re.compile(r"[0-9]{1,5}")
_SPECIAL_4 = tuple(
    IPv4Network(text)
    for text in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
    )
)
# Everything outside 2000::/3 and, within it, Teredo and its neighbours, documentation and 6to4.
# Addresses of 6to4 carry an arbitrary IPv4 address.
_SPECIAL_6 = tuple(
    IPv6Network(text)
    for text in (
        *("::/3", "4000::/2", "8000::/1"),
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)


def parse_host(text: str) -> str | Address:
    """Return an address, or a name in lower case, in ASCII and without the dot at its end.

    Raises:
        ValueError: The text is neither; the message states the reason.
    """
    bracketed = text.startswith("[") and text.endswith("]")
    bare = text[1:-1] if bracketed else text
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        if bracketed or ":" in bare:
            raise ValueError(f"{text!r} is not an IPv6 address") from None
        return _parse_name(bare)
    if isinstance(address, IPv4Address):
        if bracketed:
            raise ValueError(f"{text!r} is not an IPv6 address")
        return address
    if address.scope_id:
        raise ValueError(f"{text!r} names an interface of the host")
    return address.ipv4_mapped or address


def _parse_name(text: str) -> str:
    name = text.lower()
    if not name.isascii():
        try:
            name = idna.encode(name, uts46=True).decode()
        except idna.IDNAError as error:
            raise ValueError(f"{text!r} is not a host name: {error}") from None
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > _MAX_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError(f"{text!r} is not a host name")
    # Resolvers read 127.1 and 0x7f000001 as addresses (inet_aton).
    if _NUMBER.fullmatch(labels[-1]):
        raise ValueError(f"{text!r} is neither a host name nor an address of four numbers")
    return name


def split_port(text: str) -> tuple[str, int | None]:
    """Split ``host``, ``host:port``, ``[v6]`` or ``[v6]:port``; a bare IPv6 address has no port.

    Raises:
        ValueError: The port is not a number from 1 to 65535.
    """
    head, colon, tail = text.rpartition(":")
    if not colon or text.endswith("]") or (":" in head and not head.endswith("]")):
        return text, None
    port = int(tail) if _PORT.fullmatch(tail) else 0
    if not 0 < port < 65536:
        raise ValueError(f"{tail!r} is not a port number")
    return head, port


def special_range(network: Network) -> Network | None:
    """Return the range without public hosts that contains a network, or None."""
    if isinstance(network, IPv4Network):
        return next((known for known in _SPECIAL_4 if network.subnet_of(known)), None)
    return next((known for known in _SPECIAL_6 if network.subnet_of(known)), None)


def is_public(address: Address) -> bool:
    """Return whether an address belongs to the public internet and not to this host."""
    return special_range(ipaddress.ip_network(address)) is None and not is_own(address)


def is_own(address: Address) -> bool:
    """Return whether an address belongs to this host.

    A route to this host has equal source and destination. Connecting a datagram socket sends
    nothing but makes the kernel choose the source address.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return ipaddress.ip_address(probe.getsockname()[0]) == address
    except OSError:
        return False
