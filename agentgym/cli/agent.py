"""`agentgym agent`: create a file for an agent of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Create a file for an agent of your own.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Create a file for an agent of your own."""


@app.command("new", epilog="Example:  [bold]agentgym agent new my_agent --model[/]")
def new(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="File of the new agent, e.g. my_agent.")
    ],
    model: Annotated[
        bool, typer.Option("--model", help="Let a model play, through an OpenAI-compatible API.")
    ] = False,
) -> None:
    """Write a file with an agent that runs at once, for you to change."""
    import shlex

    from agentgym.authoring.agents import new_agent
    from agentgym.cli.console import echo

    file, name = new_agent(path, model=model)
    spec = shlex.quote(f"{file if file.is_absolute() else f'./{file}'}:{name}")
    echo(f"wrote {file}. Run it:")
    echo(f"  agentgym eval terminal/git-repair-v1 --agent {spec} --out runs/{file.stem}")
    if model:
        echo(f"Another model: '{file}:{name}?model=NAME'; OPENAI_BASE_URL is its address.")
