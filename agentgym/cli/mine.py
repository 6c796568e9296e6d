"""`agentgym task mine`: the history of a repository becomes tasks."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agentgym.swe.clone import Clone
    from agentgym.swe.mining.mine import MiningReport


def mine(
    repository: Annotated[
        Path, typer.Argument(metavar="REPO", help="A local clone; it is only read.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for tasks, journal and report.")
    ],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="OWNER/NAME", help="Default: told by its remote or folder."),
    ] = None,
    start: Annotated[
        str, typer.Option("--from", metavar="COMMIT", help="Branch, tag or commit to walk from.")
    ] = "HEAD",
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="Merged changes to look at, newest first.")
    ] = 500,
    want: Annotated[
        int | None, typer.Option("--want", min=1, help="Stop after this number of tasks.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Candidates at a time. Default: processors.")
    ] = None,
    tests_s: Annotated[
        float, typer.Option("--tests-s", min=1, help="Seconds that one run of tests may take.")
    ] = 300.0,
    specs: Annotated[
        Path | None,
        typer.Option(
            "--specs", metavar="FILE", help="A table of environments (docs/swe-bench.md)."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="MODEL", help="Let an endpoint's model write the issues."),
    ] = None,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Sandbox provider.")] = "bubblewrap",
) -> None:
    """Turn merged changes into tasks that were tried: base, base with tests, gold patch twice.

    A change is kept if its patch makes a failing test pass, breaks no test, and no test is flaky.
    Called again with the same DIR, it goes on where it was stopped. DIR/report.json tells why each
    candidate was dropped.
    """
    from agentgym.cli.console import stdout_console
    from agentgym.cli.resumable import results_folder, run_resumable
    from agentgym.swe.clone import open_clone
    from agentgym.swe.mining.mine import Mining, MiningPlan
    from agentgym.swe.mining.rewriting import rewriter
    from agentgym.swe.specs.table import find_spec, load_table

    clone = open_clone(repository)
    repo = _checked(name or _name_of(clone))
    plan = MiningPlan(
        clone=clone,
        repo=repo,
        out=results_folder(out),
        start=start,
        limit=limit,
        want=want,
        jobs=jobs or os.cpu_count() or 1,
        tests_s=tests_s,
        spec=None if specs is None else find_spec(repo, "", [load_table(specs)]),
        rewrite=None if model is None else rewriter(model),
    )
    report = run_resumable(sandbox, lambda provider, tell: Mining(plan, provider, tell).run())
    text = _summary(report)
    if report.kept:
        text += f"\nrun them with: agentgym eval {out / 'tasks' / plan.suite} -a oracle -a noop"
    stdout_console().print(text, markup=False, soft_wrap=True)


def _summary(report: MiningReport) -> str:
    lines = [f"{report.looked_at} changes, {report.tried} tried, {report.kept} kept"]
    if not report.looked_at:
        lines.append("no merged change was found; the first commit of a clone is not one")
    lines += [f"  {count:5}  {reason}" for reason, count in report.dropped.items()]
    if report.candidates_per_min is not None:
        lines.append(f"{report.candidates_per_min:.1f} candidates tried per minute")
    return "\n".join(lines)


def _checked(name: str) -> str:
    """Return ``owner/name``.

    Raises:
        ConfigError: It is no such name.
    """
    from agentgym.errors import ConfigError
    from agentgym.swe.instance_fields import FieldError, repository

    try:
        return repository("--name", name)
    except FieldError as error:
        raise ConfigError(f"{error}; give the repository's name with --name") from None


def _name_of(clone: Clone) -> str:
    """Return ``owner/name`` from the clone's remote, or from its folder."""
    remote = clone.setting("remote.origin.url")
    if found := re.search(r"([A-Za-z0-9-]+)/([A-Za-z0-9._-]+?)(?:\.git)?/?$", remote):
        return f"{found[1]}/{found[2]}"
    folder = clone.path.resolve()
    folder = folder.parent if folder.name in ("repo", ".git") else folder
    owner, _, name = folder.name.removesuffix(".git").rpartition("+")
    return f"{owner or 'local'}/{name}"
