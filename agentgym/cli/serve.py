"""`agentgym serve`: offers an environment to any MCP client, and records its actions."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from agentgym.eval.settings import Settings

Tell: TypeAlias = Callable[[str], None]

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
    bool, typer.Option("--http", help="Use streamable HTTP on 127.0.0.1, not stdio.")
]
PortOption: TypeAlias = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="For --http; 0 takes a free one.")
]
NoTokenOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--no-token",
        help="With --http, ask for no token: every user of this machine can connect.",
    ),
]
SandboxOption: TypeAlias = Annotated[str, typer.Option("--sandbox", help="Sandbox provider.")]
SeedOption: TypeAlias = Annotated[int, typer.Option("--seed", min=0, help="Seed of every episode.")]
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
    bool, typer.Option("--tell", help="Tell the client its score at the end.")
]
OutOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Run folder. Default: runs/TIME-mcp."),
]


def serve(
    mcp: TargetOption,
    http: HttpOption = False,
    port: PortOption = 8765,
    no_token: NoTokenOption = False,
    sandbox: SandboxOption = "bubblewrap",
    seed: SeedOption = 0,
    max_steps: MaxStepsOption = None,
    timeout: TimeoutOption = None,
    idle: IdleOption = 600.0,
    judge: JudgeOption = "",
    user: UserOption = "",
    tell: TellOption = False,
    out: OutOption = None,
) -> None:
    """Offer an environment or a task to any MCP client; each of its sessions is an episode.

    An episode begins with the first call and ends with submit or give_up. It is judged as it
    stands if its client leaves before that, or calls nothing for --idle seconds.
    """
    from agentgym.eval.serving import find_target
    from agentgym.eval.settings import Settings

    settings = Settings(
        tasks=(find_target(mcp),),
        agents=(),
        seed=seed,
        sandbox=sandbox,
        max_steps=max_steps,
        timeout_s=timeout,
        jobs=1,
        judge=judge,
        user=user,
    )
    folder = out or Path("runs", f"{time.strftime('%Y%m%d-%H%M%S')}-mcp")
    _serve(folder, settings, port if http else None, idle, tell=tell, asks_token=not no_token)


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

    say = _printer()
    with ExitStack() as stack:
        listening = None if port is None else stack.enter_context(take_port(port))
        store = open_run(folder, settings)
        stack.callback(store.close)
        token = _token(say) if listening is not None and asks_token else ""
        say(f"recording into {store.folder}; afterwards: agentgym report {store.folder}")
        asyncio.run(serve_mcp(store, ServeOptions(idle_s, tell, listening, token), say))


def _printer() -> Tell:
    """Return what prints a line on standard error, because the protocol uses standard output."""
    from agentgym.cli.console import stderr_console

    console = stderr_console()

    def say(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    return say


def _token(say: Tell) -> str:
    """Return the token that clients must send; a generated token is printed, once."""
    from agentgym.session.admission import VARIABLE, new_token

    if chosen := os.environ.get(VARIABLE, "").strip():
        say(f"clients send the token of ${VARIABLE}: Authorization: Bearer …")
        return chosen
    token = new_token()
    say(f"clients send this header: Authorization: Bearer {token}")
    return token
