"""`agentgym serve`: offers an environment to any MCP client, and records its actions."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer


def serve(
    mcp: Annotated[
        str,
        typer.Option(
            "--mcp",
            metavar="TARGET",
            help="Offer this over MCP: a task id, the path of a task folder, or an environment "
            "for free play.",
            show_default=False,
        ),
    ],
    http: Annotated[
        bool, typer.Option("--http", help="Use streamable HTTP on 127.0.0.1, not stdio.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="For --http; 0 takes a free one.")
    ] = 8765,
    no_token: Annotated[
        bool,
        typer.Option(
            "--no-token",
            help="With --http, ask for no token: every user of this machine can connect.",
        ),
    ] = False,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Sandbox provider.")] = "bubblewrap",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of every episode.")] = 0,
    max_steps: Annotated[
        int | None,
        typer.Option("--max-steps", min=1, help="Steps of an episode. Default: the task's."),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", min=0.1, help="Seconds for an episode. Default: the task's."),
    ] = None,
    idle: Annotated[
        float,
        typer.Option(
            "--idle", min=0.1, help="Seconds without a call after which an episode is judged."
        ),
    ] = 600.0,
    judge: Annotated[
        str,
        typer.Option(
            "--judge",
            metavar="openai:MODEL",
            help="Judge for checks that need one. Default: $AGENTGYM_JUDGE.",
            show_default=False,
        ),
    ] = "",
    user: Annotated[
        str,
        typer.Option(
            "--user",
            metavar="openai:MODEL",
            help="Simulates the users of tasks. Default: $AGENTGYM_USER, else the task's script.",
            show_default=False,
        ),
    ] = "",
    tell: Annotated[
        bool, typer.Option("--tell", help="Tell the client its score at the end.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Run folder. Default: runs/TIME-mcp."),
    ] = None,
) -> None:
    """Offer an environment or a task to any MCP client; each of its sessions is an episode.

    An episode begins with the first call and ends with submit or give_up. An episode whose client
    leaves before that has no score.
    """
    from agentgym.cli.console import stderr_console
    from agentgym.eval.serving import ServeOptions, find_target, open_run
    from agentgym.eval.serving import serve as serve_guests
    from agentgym.eval.settings import Settings
    from agentgym.session.serve import take_port

    # The protocol uses standard output.
    console = stderr_console()

    def say(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

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
    with ExitStack() as stack:
        listening = stack.enter_context(take_port(port)) if http else None
        store = open_run(out or Path("runs", f"{time.strftime('%Y%m%d-%H%M%S')}-mcp"), settings)
        stack.callback(store.close)
        token = "" if no_token or not http else _token(say)
        say(f"recording into {store.folder}; afterwards: agentgym report {store.folder}")
        asyncio.run(serve_guests(store, ServeOptions(idle, tell, listening, token), say))


def _token(say: Callable[[str], None]) -> str:
    """Return the token that clients must send; a generated token is printed, once."""
    from agentgym.session.admission import VARIABLE, new_token

    if chosen := os.environ.get(VARIABLE, "").strip():
        say(f"clients send the token of ${VARIABLE}: Authorization: Bearer …")
        return chosen
    token = new_token()
    say(f"clients send this header: Authorization: Bearer {token}")
    return token
