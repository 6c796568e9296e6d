"""`agentgym serve TASK…`: environments over WebSocket and HTTP."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agentgym.cli.serving import choose_token, printer
from agentgym.errors import ConfigError

if TYPE_CHECKING:
    from agentgym.cli.console import Tell
    from agentgym.eval.serving_environments import SessionTerms
    from agentgym.eval.settings import Settings
    from agentgym.session.accounts import Accounts, Quota
    from agentgym.session.bounds import ServerBounds
    from agentgym.session.listening import Certificate


@dataclass(frozen=True, slots=True)
class Access:
    """The address of a server and the clients that it lets in.

    Attributes:
        host: Address to listen on.
        port: TCP port, 0 for a free one.
        no_token: Whether clients need no token.
        accounts: TOML file with tokens and quotas.
        tls_cert: PEM file with a certificate.
        tls_key: PEM file with its key.
    """

    host: str
    port: int
    no_token: bool
    accounts: Path | None
    tls_cert: Path | None
    tls_key: Path | None


def serve_tasks(
    folder: Path,
    settings: Settings,
    access: Access,
    quota: Quota,
    terms: SessionTerms,
    bounds: ServerBounds,
) -> None:
    """Serve tasks until a signal. A port that is taken leaves no run behind.

    Args:
        folder: Folder of the run.
        settings: Settings of the run.
        access: Address of the server, and the clients that it lets in.
        quota: Quota of an account for what the file of accounts leaves out.
        terms: The terms of sessions.
        bounds: The bounds of connections.

    Raises:
        AgentGymError: An option is wrong, or a task is broken.
    """
    from agentgym.eval.serving import open_run
    from agentgym.eval.serving_environments import EnvironmentServing, serve_environments
    from agentgym.session.listening import listen, spare_collections

    say, certificate = printer(), _certificate(access)
    accounts = _accounts(access, quota, say)
    with ExitStack() as stack:
        listening = stack.enter_context(listen(access.host, access.port))
        store = open_run(folder, settings)
        stack.callback(store.close)
        say(f"recording into {store.folder}; afterwards: agentgym report {store.folder}")
        serving = EnvironmentServing(listening, accounts, terms, bounds, certificate)
        spare_collections()
        asyncio.run(serve_environments(store, serving, say))


def _accounts(access: Access, quota: Quota, say: Tell) -> Accounts:
    """Return who may use the server; a generated token is printed, once.

    Raises:
        ConfigError: Other machines could play without a token, or the file is wrong.
    """
    from agentgym.session.accounts import Account, Accounts, read_accounts
    from agentgym.session.listening import is_loopback

    if access.no_token:
        if access.accounts is not None:
            raise ConfigError("--no-token and --accounts contradict each other; give one")
        if not is_loopback(access.host):
            raise ConfigError(
                f"--no-token with --host {access.host} would let every machine play; leave "
                "--no-token out, or listen on 127.0.0.1"
            )
        return Accounts((), Account("anyone", quota))
    if access.accounts is not None:
        return read_accounts(access.accounts, quota)
    return Accounts([(Account("default", quota), choose_token(say))])


def _certificate(access: Access) -> Certificate | None:
    from agentgym.session.listening import Certificate

    if access.tls_cert is None and access.tls_key is None:
        return None
    if access.tls_cert is None or access.tls_key is None:
        raise ConfigError("TLS needs both --tls-cert and --tls-key")
    for path in (access.tls_cert, access.tls_key):
        if not path.is_file():
            raise ConfigError(f"{path}: no such file; expected a PEM file")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(access.tls_cert, access.tls_key)
    except OSError as error:
        raise ConfigError(
            f"--tls-cert {access.tls_cert} with --tls-key {access.tls_key}: {error}; expected the "
            "PEM files of a certificate and of its key"
        ) from error
    return Certificate(access.tls_cert, access.tls_key)
