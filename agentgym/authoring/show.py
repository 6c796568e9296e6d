"""The result table of a check: tasks in rows, properties in columns, complaints below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentgym.authoring.finding import Report, Soundness
from agentgym.authoring.probes import PROBES
from agentgym.records import Json

_MARKS = {
    Soundness.SOUND: Text("ok", "green"),
    Soundness.UNSOUND: Text("NO", "bold red"),
    Soundness.NOT_APPLICABLE: Text("n/a", "dim"),
}
_MOST_DETAILS = 12


def show_reports(console: Console, reports: Sequence[Report]) -> None:
    """Print the table, then every complaint."""
    console.print(_table(reports, console.width))
    for report in reports:
        for finding in report.unsound:
            console.print(Text(f"\n{report.task}: {finding.property}", "bold red"), soft_wrap=True)
            for line in finding.details[:_MOST_DETAILS]:
                console.print(Text(f"  {line}"), soft_wrap=True)
            if len(finding.details) > _MOST_DETAILS:
                console.print(Text(f"  and {len(finding.details) - _MOST_DETAILS} more", "dim"))
    unsound = sum(not report.sound for report in reports)
    told = f"{unsound} of {len(reports)} tasks are unsound" if unsound else "all tasks are sound"
    console.print(Text(f"\n{told}", "bold red" if unsound else "green"))


def _table(reports: Sequence[Report], width: int) -> Table:
    names = max((len(report.task) for report in reports), default=0)
    needed = names + sum(max(3, len(probe.name)) + 2 for probe in PROBES) + 2
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("task", no_wrap=True, overflow="ellipsis", vertical="bottom")
    for probe in PROBES:
        # If the names do not fit beside each other, they are printed vertically.
        heading = probe.name if needed <= width else "\n".join(probe.name)
        table.add_column(heading, no_wrap=True, justify="center", vertical="bottom")
    for report in reports:
        found = {finding.property: finding.soundness for finding in report.findings}
        table.add_row(
            Text(report.task, "" if report.sound else "bold red"),
            *(_MARKS[found[probe.name]] for probe in PROBES),
        )
    return table


def reports_to_json(reports: Sequence[Report], seeds: int, duration_s: float) -> Mapping[str, Json]:
    """Return the reports as the object that ``--json`` writes."""
    return {
        "schema": "agentgym.task-check/1",
        "seeds": seeds,
        "duration_s": round(duration_s, 3),
        "sound": all(report.sound for report in reports),
        "tasks": [report.to_json() for report in reports],
    }
