"""Sockets that lead past the network namespace, or down into the kernel."""

from __future__ import annotations

import fcntl
import socket
import struct

from agentgym.testing.attacks.probing import attempt, program

_FAMILIES = {
    "packet": (17, 3, 0x0300),
    "key": (15, 3, 2),
    "can": (29, 3, 1),
    "bluetooth": (31, 3, 1),
    "alg": (38, 5, 0),
    "vsock": (40, 1, 0),
    "xdp": (44, 3, 0),
    "tipc": (30, 1, 0),
    "rds": (21, 5, 0),
    "qipcrtr": (42, 2, 0),
}
_NETLINK = {"audit": 9, "connector": 11, "netfilter": 12, "uevent": 15, "generic": 16, "xfrm": 6}


@program("system call filter")
def odd_families() -> None:
    """Open sockets of families that are outside network namespaces or seldom tested."""
    for name, (family, kind, protocol) in _FAMILIES.items():
        attempt(name, socket.socket, family, kind, protocol)
    for name, protocol in _NETLINK.items():
        attempt(f"netlink {name}", socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, protocol)


@program("capabilities")
def raw_sockets() -> None:
    """Forge packets, or reconfigure the network."""
    attempt("raw", socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    attempt("raw IPv6", socket.socket, socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    attempt("take loopback down", _set_flags)
    attempt("add an address", _set_address)


def _set_flags() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        # SIOCSIFFLAGS with what loopback has when it is up.
        fcntl.ioctl(link, 0x8914, struct.pack("16sh14x", b"lo", 0x49))


def _set_address() -> None:
    address = struct.pack("16sHH4s16x", b"lo:9", socket.AF_INET, 0, bytes((127, 9, 9, 9)))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        fcntl.ioctl(link, 0x8916, address)


@program("network namespace without a route")
def ways_out(host: str = "192.0.2.1") -> None:
    """Reach a network: TCP, UDP, IPv6, a name server, the machine below."""
    attempt("TCP", _tcp, socket.AF_INET, host, 80)
    attempt("UDP", _udp, socket.AF_INET, host, 53)
    attempt("IPv6", _tcp, socket.AF_INET6, "2001:db8::1", 80)
    attempt("metadata service", _tcp, socket.AF_INET, "169.254.169.254", 80)
    attempt("multicast", _udp, socket.AF_INET, "224.0.0.1", 5353)
    attempt("name server", socket.getaddrinfo, "example.com", 80)


def _tcp(family: int, host: str, port: int) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as link:
        link.settimeout(3)
        link.connect((host, port))


def _udp(family: int, host: str, port: int) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as link:
        link.sendto(b"x", (host, port))
