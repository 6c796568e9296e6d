"""The sites of one episode as one application: requests go to a site by their host."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from socket import socket
from typing import Final

from agentgym.errors import ConfigError
from agentgym.protocols import ASGIApplication, ASGIMessage, Sandbox, Services, Sites
from agentgym.sites.application import SiteApplication, SiteFailure
from agentgym.sites.load import LoadedSite
from agentgym.sites.program import ProgramSite
from agentgym.sites.request import Live, Reader
from agentgym.sites.variation import Variation

_KEPT: Final = 100


class HostRouter:
    """An ASGI application that passes requests to the application of their host.

    Args:
        applications: Application by host.

    Attributes:
        failures: The first failures of the sites' own code.
    """

    def __init__(
        self, applications: Mapping[str, ASGIApplication], failures: list[SiteFailure]
    ) -> None:
        self._applications = applications
        self.failures = failures

    async def __call__(
        self,
        scope: ASGIMessage,
        receive: Callable[[], Awaitable[ASGIMessage]],
        send: Callable[[ASGIMessage], Awaitable[None]],
    ) -> None:
        """Answer one request."""
        hosts = [value for name, value in scope.get("headers", ()) if name.lower() == b"host"]
        host = hosts[0].decode("latin-1").rsplit(":", 1)[0].lower() if len(hosts) == 1 else ""
        application = self._applications.get(host)
        if application is not None:
            await application(scope, receive, send)
            return
        body = b"No such site."
        headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 421, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def open_sites(
    sites: tuple[LoadedSite, ...],
    *,
    services: Services | None,
    reader: Reader | None,
    seed: str,
    sandbox: Sandbox | None = None,
) -> Sites:
    """Return the sites of one episode; the first site's home page is the start.

    All state is that of the services, of the browser's cookies and of programs in the sandbox, so a
    fork of an episode opens the same sites over its own services and sandbox.

    Args:
        sites: The loaded sites, at least one.
        services: The services as the agent's tools reach them; None without services.
        reader: Reads their tables.
        seed: Text that determines the variation and the secrets: the task and the seed.
        sandbox: Where the programs of sites run; None if no site is a program.

    Raises:
        ConfigError: A site is a program, and there is no sandbox.
    """
    failures: list[SiteFailure] = []
    applications: dict[str, ASGIApplication] = {}
    programs: dict[str, ProgramSite] = {}
    for site in sites:
        host, port = site.manifest.host, site.manifest.port
        if port is not None:
            if sandbox is None:
                raise ConfigError(f"the site {host} is a program, and there is no sandbox")
            applications[host] = programs[host] = ProgramSite(sandbox, port)
            continue
        variation = Variation(f"{seed}:{site.folder.parent.parent.name}")
        key = hashlib.sha256(f"agentgym.site/1\0{seed}\0{host}".encode()).digest()
        live = Live(services, reader, variation, key)
        report = functools.partial(_report, failures, reader)
        applications[host] = SiteApplication(site, live, report)
    start = f"http://{sites[0].manifest.host}/"
    router = HostRouter(applications, failures)
    connect = functools.partial(_connect, programs) if programs else None
    return Sites(router, frozenset(applications), start, _version(sites), connect)


async def _connect(programs: Mapping[str, ProgramSite], host: str) -> socket | None:
    return await programs[host].connect() if host in programs else None


def _version(sites: tuple[LoadedSite, ...]) -> str:
    """Return what names static pages; empty if a site answers otherwise in each episode."""
    if any(site.static is None or site.manifest.tools for site in sites):
        return ""
    return "\n".join(f"{site.manifest.host} {site.static}" for site in sites)


def _report(failures: list[SiteFailure], reader: Reader | None, failure: SiteFailure) -> None:
    if len(failures) < _KEPT:
        failures.append(failure)
        if reader is not None:
            what = f"site {failure.host}: {failure.request}"
            reader.note_failure("world", what, failure.raised)
