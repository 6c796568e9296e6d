"""`agentgym serve`: offers environments over WebSocket and HTTP, or one task to MCP clients."""

from __future__ import annotations

import asyncio
import functools
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from agentgym.cli.serving import choose_token, printer

if TYPE_CHECKING:
    from agentgym.eval.settings import Settings

_LOCAL = "127.0.0.1"

TasksArgument: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TASK]...",
        help="Offer these over WebSocket and HTTP: ids, globs, task folders, environments.",
        show_default=False,
    ),
]
TargetOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--mcp",
        metavar="TARGET",
        help="Offer this over MCP: a task id, the path of a task folder, or an environment "
        "for an ad-hoc task.",
        show_default=False,
    ),
]
HttpOption: TypeAlias = Annotated[
    bool, typer.Option("--http", help="With --mcp: streamable HTTP on 127.0.0.1, not stdio.")
]
HostOption: TypeAlias = Annotated[
    str, typer.Option("--host", help="Address to listen on; --no-token needs a loopback one.")
]
PortOption: TypeAlias = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")
]
NoTokenOption: TypeAlias = Annotated[
    bool,
    typer.Option("--no-token", help="Ask for no token: every user of this machine can connect."),
]
AccountsOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--accounts", metavar="FILE", help="TOML file with tokens and quotas (docs/server.md)."
    ),
]
TlsCertOption: TypeAlias = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="PEM", help="Certificate; wss:// and https://.")
]
TlsKeyOption: TypeAlias = Annotated[
    Path | None, typer.Option("--tls-key", metavar="PEM", help="Key of --tls-cert.")
]
SandboxOption: TypeAlias = Annotated[str, typer.Option("--sandbox", help="Sandbox provider.")]
SeedOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        help="Seed of every episode. Default: the client's; with --mcp 0.",
        show_default=False,
    ),
]
MaxStepsOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--max-steps", min=1, help="Steps of an episode. Default: the task's."),
]
TimeoutOption: TypeAlias = Annotated[
    float | None,
    typer.Option("--timeout", min=0.1, help="Seconds for an episode. Default: the task's."),
]
IdleOption: TypeAlias = Annotated[
    float,
    typer.Option("--idle", min=0.1, help="Seconds without a call after which a session ends."),
]
SessionSecondsOption: TypeAlias = Annotated[
    float | None, typer.Option("--session", min=0.1, help="Seconds for a session.")
]
CallSecondsOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--call", min=0.01, help="Seconds until a call is answered with 'late'; it goes on."
    ),
]
ResumeOption: TypeAlias = Annotated[
    float,
    typer.Option(
        "--resume", min=0.0, help="Seconds that a session waits after its connection was lost."
    ),
]
EpisodesOption: TypeAlias = Annotated[
    int, typer.Option("--episodes", min=1, help="Live episodes of one session.")
]
LiveOption: TypeAlias = Annotated[
    int, typer.Option("--live", min=1, help="Live episodes of all sessions.")
]
SessionsOption: TypeAlias = Annotated[
    int, typer.Option("--sessions", min=1, help="Sessions at the same time.")
]
QuotaSessionsOption: TypeAlias = Annotated[
    int | None, typer.Option("--account-sessions", min=1, help="Sessions of one account.")
]
RateOption: TypeAlias = Annotated[
    float | None, typer.Option("--rate", min=0.1, help="Messages a second of one account.")
]
MessageOption: TypeAlias = Annotated[
    int,
    typer.Option("--message-kb", min=1, max=65_536, help="Largest message of a client, in KiB."),
]
NoForkOption: TypeAlias = Annotated[
    bool, typer.Option("--no-fork", help="Do not let clients fork episodes.")
]
JudgeOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--judge",
        metavar="openai:MODEL",
        help="Judge for checks that need one. Default: $AGENTGYM_JUDGE.",
        show_default=False,
    ),
]
UserOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--user",
        metavar="openai:MODEL",
        help="Simulates the users of tasks. Default: $AGENTGYM_USER, else the task's script.",
        show_default=False,
    ),
]
TellOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--tell",
        metavar="nothing|score|verdict",
        help="What clients learn at the end. Default: verdict; with --mcp nothing.",
        show_default=False,
    ),
]
OutOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Run folder. Default: runs/TIME-serve."),
]


def serve(
    tasks: TasksArgument = None,
    mcp: TargetOption = "",
    http: HttpOption = False,
    host: HostOption = _LOCAL,
    port: PortOption = 8765,
    no_token: NoTokenOption = False,
    accounts: AccountsOption = None,
    tls_cert: TlsCertOption = None,
    tls_key: TlsKeyOption = None,
    sandbox: SandboxOption = "bubblewrap",
    seed: SeedOption = None,
    max_steps: MaxStepsOption = None,
    timeout: TimeoutOption = None,
    idle: IdleOption = 600.0,
    session: SessionSecondsOption = None,
    call: CallSecondsOption = None,
    resume: ResumeOption = 120.0,
    episodes: EpisodesOption = 64,
    live: LiveOption = 64,
    sessions: SessionsOption = 1_000,
    account_sessions: QuotaSessionsOption = None,
    rate: RateOption = None,
    message_kb: MessageOption = 4_096,
    no_fork: NoForkOption = False,
    judge: JudgeOption = "",
    user: UserOption = "",
    tell: TellOption = "",
    out: OutOption = None,
) -> None:
    """Serve environments to trainers over WebSocket and HTTP, or one task to any MCP client.

    agentgym serve 'tools/*' --sandbox none offers tasks to agentgym.make(server="ws://…") and to
    any client of the protocol in docs/server.md. agentgym serve --mcp TASK offers one task to MCP
    clients: each session is an episode, begun by the first call and ended by submit or give_up.

    An episode whose client leaves it, or calls nothing for --idle seconds, is judged as it stands.
    """
    from agentgym.errors import ConfigError
    from agentgym.eval.serving import find_target
    from agentgym.eval.settings import Settings

    if bool(tasks) == bool(mcp):
        raise ConfigError("give tasks to serve over WebSocket, or --mcp with one task")
    if mcp:
        _check_mcp(tell, open_to_others=bool(host != _LOCAL or accounts or tls_cert or tls_key))
    elif http:
        raise ConfigError("--http is for --mcp; tasks are served over WebSocket and HTTP at once")
    settings = functools.partial(
        Settings,
        agents=(),
        seed=seed or 0,
        sandbox=sandbox,
        max_steps=max_steps,
        timeout_s=timeout,
        jobs=1,
        judge=judge,
        user=user,
    )
    kind = "mcp" if mcp else "serve"
    folder = out or Path("runs", f"{time.strftime('%Y%m%d-%H%M%S')}-{kind}")
    if mcp:
        run = settings(tasks=(find_target(mcp),))
        told = tell == "score"
        _serve(folder, run, port if http else None, idle, tell=told, asks_token=not no_token)
        return
    from agentgym.cli.serve_environments import Access, serve_tasks
    from agentgym.eval.serving_environments import SessionTerms, find_targets
    from agentgym.session.accounts import Quota
    from agentgym.session.bounds import ServerBounds

    serve_tasks(
        folder,
        settings(tasks=find_targets(tasks or ())),
        Access(host, port, no_token, accounts, tls_cert, tls_key),
        Quota(sessions=account_sessions, messages_per_s=rate),
        SessionTerms(
            *(seed, not no_fork, tell or "verdict", idle, session, call, episodes, live, sessions)
        ),
        ServerBounds(message_bytes=message_kb * 1024, resume_s=resume),
    )


def _check_mcp(tell: str, *, open_to_others: bool) -> None:
    """Refuse options that are not for `--mcp`.

    Raises:
        ConfigError: One was given.
    """
    from agentgym.errors import ConfigError

    if tell not in ("", "nothing", "score"):
        raise ConfigError(f"--tell: with --mcp expected nothing or score, got {tell!r}")
    if open_to_others:
        raise ConfigError(
            "--host, --accounts, --tls-cert and --tls-key are for tasks over WebSocket; with --mcp "
            f"the server listens on {_LOCAL} without TLS, and has one token"
        )


def _serve(
    folder: Path,
    settings: Settings,
    port: int | None,
    idle_s: float,
    *,
    tell: bool,
    asks_token: bool,
) -> None:
    """Take the port, open the run and serve; a port that is taken leaves no run behind.

    Args:
        folder: Folder of the run.
        settings: Settings of the run.
        port: Port of streamable HTTP, None for stdio.
        idle_s: Seconds without a call after which a session ends.
        tell: Whether clients learn their scores.
        asks_token: Whether clients over HTTP must send a token.
    """
    from agentgym.eval.serving import ServeOptions, open_run, serve_mcp
    from agentgym.session.serve import take_port

    say = printer()
    with ExitStack() as stack:
        listening = None if port is None else stack.enter_context(take_port(port))
        store = open_run(folder, settings)
        stack.callback(store.close)
        token = choose_token(say) if listening is not None and asks_token else ""
        say(f"recording into {store.folder}; afterwards: agentgym report {store.folder}")
        asyncio.run(serve_mcp(store, ServeOptions(idle_s, tell, listening, token), say))
