"""`agentgym verifier`: shows the checks of packs, and measures how often they are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agentgym.verify.calibration.rates import Outcome, Tally
    from agentgym.verify.judge.agreement import Agreement
    from agentgym.verify.rubric.packs import Pack

verifier = typer.Typer(
    help="Look at check packs and measure how often they are wrong.", no_args_is_help=True
)

JudgeOption = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="openai:MODEL",
        help="Judge for the cases of checks that need one. Default: $AGENTGYM_JUDGE.",
    ),
]
Packs = Annotated[list[str] | None, typer.Argument(metavar="[PACK]...", show_default=False)]


@verifier.command("list", epilog="Example:  [bold]agentgym verifier list[/]")
def list_checks() -> None:
    """List every check of every pack with its first line."""
    from rich.table import Table

    from agentgym.cli.console import stdout_console

    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("check", no_wrap=True)
    table.add_column("passes if")
    for pack in _load(None):
        for name, check in sorted(pack.checks.items()):
            table.add_row(f"{pack.name}.{name}", (check.__doc__ or "").strip().split("\n")[0])
    stdout_console().print(table)


@verifier.command("show", epilog="Example:  [bold]agentgym verifier show files.mode[/]")
def show(name: Annotated[str, typer.Argument(metavar="PACK[.CHECK]")]) -> None:
    """Show the documentation of a pack or of one check."""
    from agentgym.cli.console import echo
    from agentgym.errors import NotFoundError
    from agentgym.verify.calibration.reference import check_reference, pack_reference

    pack_name, _, check_name = name.partition(".")
    (pack,) = _load([pack_name])
    if not check_name:
        echo(pack_reference(pack))
    elif check_name in pack.checks:
        echo(check_reference(pack.checks[check_name]))
    else:
        raise NotFoundError(f"check in {pack_name!r}", check_name, pack.checks)


@verifier.command("calibrate", epilog="Example:  [bold]agentgym verifier calibrate files[/]")
def calibrate(
    packs: Packs = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write the rates.", dir_okay=False),
    ] = None,
    markdown_file: Annotated[
        Path | None,
        typer.Option(
            "--markdown", metavar="FILE", help="Also write the reference.", dir_okay=False
        ),
    ] = None,
    sandbox: Annotated[
        str, typer.Option("--sandbox", help="Sandbox provider of the clean rooms.")
    ] = "bubblewrap",
    judge: JudgeOption = None,
) -> None:
    """Judge known cases and report the rates of false verdicts; exit 1 on an unexpected one."""
    import asyncio
    import json

    from agentgym.cli.console import stdout_console
    from agentgym.verify.calibration.rates import tally
    from agentgym.verify.calibration.reference import reference
    from agentgym.verify.judge.opening import judge_spec

    spec = judge or judge_spec()
    judged = asyncio.run(_calibrate(packs, sandbox, spec))
    rated = [(pack, tally(pack, outcomes)) for pack, outcomes in judged]
    console = stdout_console()
    console.print(_table([rates for _, rates in rated]))
    kappa = _tell_of_judge(spec, judged)
    if json_file is not None:
        checks = [rate.to_json() for _, rates in rated for rate in rates]
        report = {"schema_version": "agentgym.calibration-report/1", "checks": checks, **kappa}
        json_file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if markdown_file is not None:
        markdown_file.write_text(reference(rated), encoding="utf-8")
    surprises = [o for _, outcomes in judged for o in outcomes if o.surprising]
    for outcome in surprises:
        console.print(_surprise(outcome), markup=False)
    if surprises:
        raise typer.Exit(1)


@verifier.command("rates", epilog="Example:  [bold]agentgym verifier rates tools[/]")
def rates(
    tasks: Annotated[list[str], typer.Argument(metavar="TASKS...", show_default=False)],
    markdown_file: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Write the page to FILE.", dir_okay=False),
    ] = None,
    judge: JudgeOption = None,
) -> None:
    """Judge the messages of tasks with known verdicts, also with a judge; report the mistakes."""
    from agentgym import catalogue
    from agentgym.cli.console import echo
    from agentgym.task.load import find_task
    from agentgym.verify.calibration.message_rates import rates_page, task_rates
    from agentgym.verify.judge.opening import judge_spec, open_judge

    spec = judge or judge_spec()
    asked = open_judge(spec) if spec else None
    names = dict.fromkeys(name for pattern in tasks for name in catalogue.match_tasks(pattern))
    own = [task for task in map(find_task, names) if task.foreign is None]
    found = [task_rates(task.instance(0), asked) for task in own]
    page = rates_page([one for one in found if one is not None], spec)
    if markdown_file is not None:
        markdown_file.write_text(page, encoding="utf-8")
    else:
        echo(page)


@verifier.command("agreement", epilog="Example:  [bold]agentgym verifier agreement labels.jsonl[/]")
def agreement(
    labels: Annotated[
        Path,
        typer.Argument(
            metavar="LABELS",
            help='Lines {"run": DIR, "episode": N, "checkpoint": ID, "label": "pass" or "fail"}.',
            exists=True,
            dir_okay=False,
        ),
    ],
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write it.", dir_okay=False),
    ] = None,
) -> None:
    """Compare people's labels with recorded verdicts: Cohen's kappa of every judge."""
    import json

    from agentgym.cli.console import stdout_console
    from agentgym.eval.labels import compare, read_labels

    found, left_out = compare(read_labels(labels))
    console = stdout_console()
    for judge, one in found.items():
        console.print(_show_agreement(judge or "no judge", one), markup=False, soft_wrap=True)
        console.print(_confusion(one))
    for why in left_out:
        console.print(f"left out: {why}", style="yellow", markup=False, soft_wrap=True)
    if json_file is not None:
        judges = [{"judge": judge, **one.to_json()} for judge, one in found.items()]
        report = {"schema_version": "agentgym.agreement/1", "judges": judges}
        json_file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def _confusion(found: Agreement) -> object:
    from rich.table import Table

    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    for column in ("label", *(f"judged {name}" for name in found.categories)):
        table.add_column(column, no_wrap=True)
    for name, row in zip(found.categories, found.matrix, strict=True):
        table.add_row(name, *map(str, row))
    return table


def _load(names: list[str] | None) -> list[Pack]:
    from agentgym.verify.rubric.packs import load_pack

    return [load_pack(folder) for folder in _folders(names)]


def _folders(names: list[str] | None) -> list[Path]:
    from agentgym import catalogue

    return [catalogue.find("verifiers", name) for name in names or catalogue.folders("verifiers")]


async def _calibrate(
    names: list[str] | None, sandbox: str, spec: str
) -> list[tuple[Pack, list[Outcome]]]:
    from agentgym import plugins
    from agentgym.sandbox.recipe import load_recipe
    from agentgym.verify.calibration.rates import calibrate
    from agentgym.verify.judge.opening import open_judge

    judge = open_judge(spec) if spec else None
    provider = plugins.make_provider(sandbox)
    recipe = load_recipe("host")
    try:
        return [await calibrate(folder, provider, recipe, judge) for folder in _folders(names)]
    finally:
        await provider.close()


def _tell_of_judge(
    spec: str, judged: list[tuple[Pack, list[Outcome]]]
) -> dict[str, dict[str, object]]:
    """Report the judge's agreement with the cases, or what was skipped without a judge."""
    from agentgym.cli.console import stdout_console
    from agentgym.verify.calibration.rates import judge_agreement, judge_needed
    from agentgym.verify.judge.opening import HOW

    asked = [use for pack, _ in judged for use in judge_needed(pack)]
    if not asked:
        return {}
    if not spec:
        told = f"skipped: {', '.join(asked)} ask a judge, and no judge is set; {HOW}"
        stdout_console().print(told, style="yellow", markup=False, soft_wrap=True)
        return {}
    found = judge_agreement(o for _, some in judged for o in some if o.case.use in asked)
    stdout_console().print(_show_agreement(spec, found), markup=False, soft_wrap=True)
    return {"judge": {"judge": spec, **found.to_json()}}


def _show_agreement(judge: str, found: Agreement) -> str:
    """Return e.g. ``openai:x: kappa 0.40 (95% 0.15 to 0.65), 35 of 50 agree``."""
    kappa = "undefined: all answers are the same" if found.kappa is None else f"{found.kappa:.2f}"
    within = f" (95% {found.ci95[0]:.2f} to {found.ci95[1]:.2f})" if found.ci95 else ""
    agree = sum(row[i] for i, row in enumerate(found.matrix))
    return f"{judge}: kappa {kappa}{within}, {agree} of {found.pairs} agree"


def _table(rates: list[list[Tally]]) -> object:
    from rich.table import Table

    from agentgym.verify.calibration.reference import show_rate

    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    for column in ("check", "false positives", "false negatives", "looks at"):
        table.add_column(column, no_wrap=True)
    for tallies in rates:
        for one in tallies:
            shown = (show_rate(rate) for rate in (one.false_positives, one.false_negatives))
            table.add_row(one.use, *shown, ", ".join(one.channels))
    return table


def _surprise(outcome: Outcome) -> str:
    case, result = outcome.case, outcome.result
    announced = f" (announced: {case.limit})" if case.limit else ""
    return (
        f"{case.use}: {case.name}: {case.expect} is right{announced}, "
        f"judged {result.status.value}: {result.message}"
    )
