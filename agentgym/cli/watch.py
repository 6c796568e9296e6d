"""`agentgym watch`: an episode on a page, live, with take-over by a person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def watch(
    task: Annotated[str, typer.Argument(help="Task id, such as desktop/packing-list-v1.")],
    agent: Annotated[
        str,
        typer.Option(
            "--agent",
            "-a",
            help="Acts until a person takes over; `person` means that a person acts alone.",
        ),
    ] = "person",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the episode.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the run. Default: runs/<time>-<name>."),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; others than loopback are reached.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: a free port.")] = 0,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Sandbox provider.")] = "bubblewrap",
    timeout_s: Annotated[
        float, typer.Option("--timeout", min=1, help="Longest wall time of the episode, seconds.")
    ] = 3_000.0,
) -> None:
    """Show a running episode on a page, where a person can take over; both are recorded.

    The page needs the token in the printed address. The run is like one of `agentgym eval`: it can
    be reported, replayed and graded.
    """
    from agentgym.cli.interruption import run_cancellable
    from agentgym.cli.serving import printer
    from agentgym.eval.evaluation import new_folder
    from agentgym.eval.watching import WatchedRun
    from agentgym.session.listening import is_loopback, listen

    say, folder = printer(), out or new_folder([task])
    with listen(host, port) as listening:
        if not is_loopback(host):
            say(f"warning: {host} can be reached by other machines, and the page has no TLS")
        asked = {"seed": seed, "sandbox": sandbox, "timeout_s": timeout_s}
        run = WatchedRun(folder, task, agent, asked)
        try:
            run_cancellable(run.play(listening, say))
        finally:
            run.close()
    say(f"recorded: agentgym replay {folder} 1")
