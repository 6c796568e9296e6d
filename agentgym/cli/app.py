"""The Typer application: every command with its example.

The command modules import nothing slow at their top, so that help appears at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from agentgym import __version__
from agentgym.cli.agent import app as agent
from agentgym.cli.bench import bench
from agentgym.cli.compare import compare
from agentgym.cli.dataset import app as dataset
from agentgym.cli.doctor import doctor
from agentgym.cli.eval import evaluate
from agentgym.cli.grade import grade
from agentgym.cli.list import list_catalogue
from agentgym.cli.predictions import grade_predictions, predictions
from agentgym.cli.regrade import regrade
from agentgym.cli.replay import replay
from agentgym.cli.report import report
from agentgym.cli.sandbox import app as sandbox
from agentgym.cli.score_patches import score_patches
from agentgym.cli.serve import serve
from agentgym.cli.suite import app as suite
from agentgym.cli.task import app as task
from agentgym.cli.train import train
from agentgym.cli.verifier import verifier
from agentgym.cli.watch import watch

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"agentgym {__version__}")
        raise typer.Exit


@app.callback(epilog="Begin with:  [bold]agentgym doctor[/], then  [bold]agentgym list[/]")
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Real computers for LLM agents, and verdicts that can be trusted."""


def _add(name: str, command: Callable[..., None], example: str) -> None:
    app.command(name, epilog=f"Example:  [bold]{example}[/]", no_args_is_help=False)(command)


_add("list", list_catalogue, "agentgym list tasks '*git*'")
_add("eval", evaluate, "agentgym eval terminal --agent oracle --agent noop --trials 4")
_add("train", train, "agentgym train examples/tiny-terminal.toml")
_add("serve", serve, "agentgym serve --mcp terminal/git-repair-v1 --http")
_add("watch", watch, "agentgym watch desktop/packing-list-v1 --agent oracle")
_add("replay", replay, "agentgym replay runs/demo 3")
_add("grade", grade, "agentgym grade runs/demo --grader loops --grader localisation")
_add("regrade", regrade, "agentgym regrade runs/demo --episode 3")
_add("report", report, "agentgym report runs/demo")
_add("compare", compare, "agentgym compare runs/before runs/after --tasks")
_add("score-patches", score_patches, "agentgym score-patches runs/demo --scorer heuristic")
_add("predictions", predictions, "agentgym predictions runs/demo --out predictions.jsonl")
_add(
    "grade-predictions",
    grade_predictions,
    "agentgym grade-predictions p.jsonl --instances verified.jsonl --clones ./clones --out graded",
)
app.add_typer(dataset, name="dataset")
app.add_typer(task, name="task")
app.add_typer(agent, name="agent")
app.add_typer(suite, name="suite")
app.add_typer(verifier, name="verifier")
_add("doctor", doctor, "agentgym doctor")
_add("bench", bench, "agentgym bench sandbox --json bench.json")
app.add_typer(sandbox, name="sandbox")
