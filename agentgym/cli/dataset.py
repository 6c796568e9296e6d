"""`agentgym dataset`: makes data sets for offline training of recorded runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentgym.cli.dataset_options import (
    AgentNames,
    Drop,
    Faults,
    FormOption,
    Forms,
    Grader,
    Limit,
    MinScore,
    Out,
    Patches,
    PictureOption,
    Pictures,
    Runs,
    Seed,
    Spans,
    Tasks,
    Template,
)
from agentgym.cli.vouching import TaskOption
from agentgym.errors import ConfigError

if TYPE_CHECKING:
    from agentgym.protocols.training import EncodingTemplate
    from agentgym.train.datasets.episodes import Criteria, Episodes
    from agentgym.train.datasets.supervised import Tell, Written

app = typer.Typer(
    help="Make data sets for offline training of recorded runs.", no_args_is_help=True
)


@app.command(
    "sft",
    epilog="Example:  [bold]agentgym dataset sft runs/demo --out sft.jsonl[/], or "
    "[bold]agentgym dataset sft runs/a runs/b --form native --out sft.npz[/]",
)
def sft(
    runs: Runs,
    out: Out,
    form: FormOption = Forms.MESSAGES,
    min_score: MinScore = None,
    tasks: Tasks = None,
    agents: AgentNames = None,
    drop: Drop = None,
    grader: Grader = None,
    pictures: PictureOption = Pictures.FILES,
    template: Template = None,
    limit: Limit = None,
    seed: Seed = None,
    task: TaskOption = None,
) -> None:
    """Make a supervised fine-tuning set of episodes that passed; bad steps are not trained."""
    from agentgym.rollout.trust import Named, named_tasks
    from agentgym.train.datasets.supervised import Form, SupervisedOptions, write_supervised

    options = SupervisedOptions(
        form=Form(form.value),
        dropped=_dropped(drop, grader),
        graders=tuple(grader or ()),
        pictures=pictures is Pictures.FILES,
        limit=limit,
        template=_template(template),
        named=Named(named_tasks(task or ())),
    )
    with _episodes(runs, out, _passed(min_score, tasks, agents), seed) as (episodes, tell):
        _say(write_supervised(episodes, out, options, tell), episodes, out)


@app.command(
    "semi-online",
    epilog="Example:  [bold]agentgym dataset semi-online runs/oracle --agent openai:MODEL "
    "--rollouts 4 --out replay.jsonl[/]",
)
def semi_online(
    runs: Runs,
    out: Out,
    agent: Annotated[
        str,
        typer.Option("--agent", "-a", help="The policy, e.g. openai:MODEL or ./my_agent.py:Agent."),
    ],
    form: Annotated[
        Forms,
        typer.Option("--form", help="trl: a line for each reply; native: token ids (.npz)."),
    ] = Forms.TRL,
    rollouts: Annotated[
        int, typer.Option("--rollouts", min=1, help="Rollouts along each expert episode.")
    ] = 1,
    patches: Annotated[
        int,
        typer.Option(
            "--patches", min=-1, help="Divergences that are patched in a rollout; -1: all."
        ),
    ] = 1,
    patch: Annotated[
        Patches, typer.Option("--patch", help="The thought of a patched call.")
    ] = Patches.THOUGHT_FREE,
    gamma: Annotated[
        float, typer.Option("--gamma", min=0.0, max=1.0, help="Discount a step.")
    ] = 0.5,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Concurrent rollouts.")] = 4,
    timeout_s: Annotated[
        float, typer.Option("--timeout", min=0.1, help="Seconds for one decision.")
    ] = 600.0,
    min_score: MinScore = None,
    tasks: Tasks = None,
    agents: AgentNames = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Largest number of expert episodes.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the rollouts.")] = 0,
    task: TaskOption = None,
) -> None:
    """Let a policy act along expert episodes: its own replies stay, divergences are patched."""
    from agentgym.agents.registry import check, create, is_privileged
    from agentgym.cli.interruption import run_cancellable
    from agentgym.rollout.trust import Named, named_tasks
    from agentgym.train.datasets.replayed import ReplayOptions, write_semi_online
    from agentgym.train.datasets.semi_online import Patch, SemiOnlineReplay
    from agentgym.train.datasets.supervised import Form

    first = create(agent)
    if is_privileged(first):
        raise ConfigError(f"agent {agent!r} plays the task's solution, which no policy may see")
    check(first)
    replay = SemiOnlineReplay(
        lambda: create(agent),
        patches=None if patches < 0 else patches,
        patch=Patch(patch.value),
        gamma=gamma,
        timeout_s=timeout_s,
    )
    named = Named(named_tasks(task or ()))
    options = ReplayOptions(Form(form.value), rollouts, jobs, seed, limit, named)
    with _episodes(runs, out, _passed(min_score, tasks, agents), None) as (episodes, tell):
        written = run_cancellable(write_semi_online(episodes, out, replay, options, tell))
        _say(written, episodes, out, "examples" if form is Forms.NATIVE else "replies")


@app.command(
    "purified",
    epilog="Example:  [bold]agentgym dataset purified runs/demo --out purified.jsonl[/]",
)
def purified(
    runs: Runs,
    out: Out,
    form: FormOption = Forms.MESSAGES,
    similarity: Annotated[
        float,
        typer.Option(
            "--similarity",
            min=0.0,
            max=1.0,
            help="A program corrects a failed one if they are at least so alike.",
        ),
    ] = 0.5,
    min_score: MinScore = None,
    tasks: Tasks = None,
    agents: AgentNames = None,
    drop: Drop = None,
    grader: Grader = None,
    pictures: PictureOption = Pictures.FILES,
    template: Template = None,
    limit: Limit = None,
    seed: Seed = None,
    task: TaskOption = None,
) -> None:
    """Make a supervised set in which failed attempts gave way to their later corrections."""
    from agentgym.rollout.trust import Named, named_tasks
    from agentgym.train.datasets.purification import purification
    from agentgym.train.datasets.supervised import Form, SupervisedOptions, write_supervised

    kind = Form(form.value)
    with _episodes(runs, out, _passed(min_score, tasks, agents), seed) as (episodes, tell):
        options = SupervisedOptions(
            form=kind,
            dropped=_dropped(drop, grader),
            graders=tuple(grader or ()),
            pictures=pictures is Pictures.FILES,
            limit=limit,
            template=_template(template),
            named=Named(named_tasks(task or ())),
            rewrite=purification(
                episodes.left_out,
                similarity=similarity,
                of_tokens=kind.of_tokens and template is None,
            ),
        )
        _say(write_supervised(episodes, out, options, tell), episodes, out)


@app.command(
    "pairs",
    epilog="Example:  [bold]agentgym dataset pairs runs/demo --groups --out pairs.jsonl[/]",
)
def pairs(
    runs: Runs,
    out: Out,
    form: Annotated[
        Forms,
        typer.Option(
            "--form",
            help="trl: prompt, chosen and rejected; messages: OpenAI's preference lines; native: "
            "arrays of token ids (.npz).",
        ),
    ] = Forms.TRL,
    groups: Annotated[
        bool,
        typer.Option(
            "--groups", help="Compare attempts at one task with one seed, too, not only forks."
        ),
    ] = False,
    span: Annotated[
        Spans, typer.Option("--span", help="The reply at the fork point, or all that follows.")
    ] = Spans.REPLY,
    per_fork: Annotated[
        int, typer.Option("--per-fork", min=1, help="Largest number of pairs of a fork point.")
    ] = 4,
    min_margin: Annotated[
        float,
        typer.Option("--min-margin", min=0.0, max=1.0, help="Smallest difference of mean scores."),
    ] = 0.0,
    min_score: Annotated[
        float,
        typer.Option("--min-score", min=0.0, max=1.0, help="Smallest score of a chosen episode."),
    ] = 0.0,
    similarity: Annotated[
        float,
        typer.Option(
            "--similarity", min=0.0, max=1.0, help="Calls that are at least so alike are no pair."
        ),
    ] = 0.95,
    tasks: Tasks = None,
    agents: AgentNames = None,
    pictures: PictureOption = Pictures.FILES,
    template: Template = None,
    limit: Limit = None,
    seed: Seed = None,
    task: TaskOption = None,
) -> None:
    """Make preference pairs of forks, or of attempts at one task, whose results differ."""
    from agentgym.rollout.trust import Named, named_tasks
    from agentgym.train.datasets.episodes import Criteria
    from agentgym.train.datasets.pairs import PairOptions, Span, write_pairs
    from agentgym.train.datasets.supervised import Form

    options = PairOptions(
        form=Form(form.value),
        groups=groups,
        span=Span(span.value),
        per_fork=per_fork,
        min_margin=min_margin,
        min_score=min_score,
        similarity=similarity,
        pictures=pictures is Pictures.FILES,
        limit=limit,
        template=_template(template),
        named=Named(named_tasks(task or ())),
    )
    criteria = Criteria(tasks=tuple(tasks or ()), agents=tuple(agents or ()), repeats=True)
    with _episodes(runs, out, criteria, seed) as (episodes, tell):
        _say(write_pairs(episodes, out, options, tell), episodes, out, "pairs")


def _passed(min_score: float | None, tasks: list[str] | None, agents: list[str] | None) -> Criteria:
    """Return the criteria for episodes to imitate."""
    from agentgym.train.datasets.episodes import Criteria

    return Criteria(min_score, min_score is None, True, tuple(tasks or ()), tuple(agents or ()))


def _dropped(drop: list[Faults] | None, grader: list[str] | None) -> frozenset[Any]:
    from agentgym.train.datasets.faults import DEFAULT_FAULTS, StepFault

    if drop is not None and Faults.NOTHING in drop:
        if len(drop) > 1:
            raise ConfigError("--drop nothing excludes every other --drop")
        return frozenset()
    chosen = (
        frozenset(DEFAULT_FAULTS)
        if drop is None
        else frozenset(StepFault(each.value) for each in drop)
    )
    return chosen | {StepFault.BAD_GRADE} if grader else chosen


def _template(config: Path | None) -> EncodingTemplate | None:
    from agentgym.installation import missing_extra
    from agentgym.train.datasets.encoding import load_template

    if config is None:
        return None
    try:
        return load_template(config)
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or "torch", "train") from error


@contextmanager
def _episodes(
    runs: list[Path], out: Path, criteria: Criteria, seed: int | None
) -> Iterator[tuple[Episodes, Tell]]:
    """Open the runs, and show progress on a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from agentgym.cli.console import stderr_console
    from agentgym.cli.interruption import stoppable, terminable
    from agentgym.train.datasets.episodes import Episodes

    if not out.parent.is_dir():
        raise ConfigError(f"--out {out} is in a folder that does not exist; create it first")
    if out.exists() and not out.is_file():
        what = "is a folder" if out.is_dir() else "is no regular file"
        raise ConfigError(f"--out {out} {what}; name a file, e.g. sft.jsonl")
    console = stderr_console()

    def tell_of_stop() -> None:
        console.print(f"stopped; {out} is not written", markup=False, soft_wrap=True)

    columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn(), TextColumn("episodes"))
    with (
        stoppable(tell_of_stop),
        terminable(),
        Episodes(list(dict.fromkeys(runs)), criteria, seed=seed) as episodes,
        Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar,
    ):
        episodes.check_tasks(criteria.tasks)
        line = bar.add_task("reading", total=episodes.total)
        yield episodes, lambda done, total: bar.update(line, completed=done, total=total)


def _say(written: Written, episodes: Episodes, out: Path, what: str = "examples") -> None:
    from agentgym.cli.console import echo, stderr_console

    echo(
        f"{out}: {written.examples} {what} of {written.episodes} episodes, "
        f"{written.steps} steps to train on"
    )
    for line in [*written.notes, *(f"left out: {line}" for line in episodes.left_out.lines())]:
        stderr_console().print(line, style="yellow", markup=False, soft_wrap=True)
