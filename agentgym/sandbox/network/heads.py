"""The head of a request to the proxy: its target, and the headers for the other end.

This module refuses heads that two readers could understand differently (request smuggling) and
that h11 accepts.
"""

from __future__ import annotations

import re

import h11

from agentgym.sandbox.network.address import parse_host, split_port

HTTP_PORT = 80
_ABSOLUTE = re.compile(r"http://([^/?#]+)([^#]*)", re.IGNORECASE)
# Headers of a single connection (RFC 9110, 7.6.1), and the framing, which h11 writes anew.
_HOP_BY_HOP = frozenset(
    (
        *(b"connection", b"proxy-connection", b"keep-alive", b"proxy-authorization"),
        *(b"proxy-authenticate", b"te", b"trailer", b"upgrade", b"transfer-encoding", b"host"),
    )
)
_FRAMING = frozenset((b"content-length", b"transfer-encoding"))
Headers = list[tuple[bytes, bytes]]


class RejectedError(Exception):
    """A request that the proxy answers itself, with a status and one line of text."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def read_target(request: h11.Request) -> tuple[str, int, str]:
    """Return (host, port, path and query) of a request in absolute form."""
    found = _ABSOLUTE.fullmatch(request.target.decode("ascii"))
    if not found:
        raise RejectedError(
            400, "this is a proxy: it takes http://host/path, and CONNECT for everything else"
        )
    host, port = read_authority(found[1], HTTP_PORT)
    path = found[2]
    return host, port, path if path.startswith("/") else "/" + path


def host_agrees(request: h11.Request, host: str, port: int) -> bool:
    """Return whether the Host header, if present, means the same host and port."""
    return all(
        _same(value.decode("latin-1"), host, port)
        for name, value in request.headers
        if name == b"host"
    )


def check_framing(request: h11.Request) -> None:
    """Refuse framing that other readers could understand differently and that h11 accepts."""
    if request.http_version not in (b"1.0", b"1.1"):
        raise RejectedError(505, "this is HTTP/1.1")
    framing = _FRAMING.intersection(name for name, _ in request.headers)
    if len(framing) > 1:
        raise RejectedError(400, "Content-Length and Transfer-Encoding exclude each other")
    if framing and request.method == b"CONNECT":
        raise RejectedError(400, "a CONNECT request has no body")
    if b"transfer-encoding" in framing and request.http_version == b"1.0":
        raise RejectedError(400, "HTTP/1.0 has no Transfer-Encoding")


def onward(request: h11.Request, host: str, port: int, path: str) -> h11.Request:
    """Return a request in the form in which the host receives it."""
    headers = end_to_end(request.headers.raw_items())
    headers += [
        (b"Host", (host if port == HTTP_PORT else f"{host}:{port}").encode("ascii")),
        (b"Connection", b"close"),
    ]
    if any(name == b"transfer-encoding" for name, _ in request.headers):
        headers.append((b"Transfer-Encoding", b"chunked"))
    return h11.Request(method=request.method, target=path, headers=headers)


def read_authority(text: str, default: int | None) -> tuple[str, int]:
    """Return host, an IPv6 address in its brackets, and port."""
    try:
        host, port = split_port(text)
    except ValueError as error:
        raise RejectedError(400, str(error)) from None
    if port is None and default is None:
        raise RejectedError(400, f"{text!r} lacks a port")
    if ":" in host and not host.endswith("]"):
        raise RejectedError(400, f"{host!r}: an IPv6 address is written in brackets")
    return host, port or default or 0


def _same(authority: str, host: str, port: int) -> bool:
    """Return whether a Host header means a host and port."""
    try:
        other, other_port = split_port(authority)
        return (parse_host(other), other_port or HTTP_PORT) == (parse_host(host), port)
    except ValueError:
        return False


def end_to_end(headers: Headers) -> Headers:
    """Return the headers for the other end, with their original names."""
    nominated = {
        token.strip().lower()
        for name, value in headers
        if name.lower() == b"connection"
        for token in value.split(b",")
    }
    dropped = _HOP_BY_HOP | (nominated - {b"content-length"})
    if any(name.lower() == b"transfer-encoding" for name, _ in headers):
        dropped |= {b"content-length"}
    return [(name, value) for name, value in headers if name.lower() not in dropped]
