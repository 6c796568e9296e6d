"""`agentgym report`: writes the files of a run again and shows its leaderboard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from agentgym.record.store import RunStore


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The run folder.")],
) -> None:
    """Write results.json and report.html of a run again, also of one that was killed."""
    from agentgym.record.store import RunStore

    store = RunStore.open(folder)
    try:
        publish(store)
    finally:
        store.close()


def publish(store: RunStore) -> dict[str, Any]:
    """Write the files derived from the record, show the leaderboard, and return the results."""
    from agentgym.cli.console import stdout_console
    from agentgym.cli.leaderboard import leaderboard, remarks
    from agentgym.eval.report import write_report
    from agentgym.eval.results import build_results, write_results

    results = build_results(store)
    write_results(results, store.folder / "results.json")
    write_report(store, store.folder / "report.html")
    console = stdout_console()
    console.print(leaderboard(results))
    for number, line in enumerate(remarks(results)):
        console.print(f"\n{line}" if number == 0 else line, markup=False, soft_wrap=True)
    for line in _image_fallbacks(results):
        console.print(line, markup=False, soft_wrap=True)
    console.print(kept_states(store), markup=False, soft_wrap=True)
    console.print(f"\n{store.folder / 'report.html'}", markup=False, soft_wrap=True)
    console.print(f"{store.folder / 'results.json'}", markup=False, soft_wrap=True)
    return results


def kept_states(store: RunStore) -> str:
    """Return one line on the final states that a run keeps."""
    from agentgym.eval.printable import clean

    count, size = store.endings.kept()
    told = f"\nfinal states kept: {count} ({size / 1e6:.1f} MB before compression)"
    unkept = store.endings.unkept()
    if unkept:
        first = min(unkept)
        told += f"; not kept: {len(unkept)}, the first: episode {first}: {unkept[first]}"
    return clean(told)


def _image_fallbacks(results: dict[str, Any]) -> Iterator[str]:
    """Yield the recipes that stood for images, and in how many tasks."""
    told = (task.get("image_fallbacks", {}) for task in results["tasks"])
    used = Counter(pair for fallbacks in told for pair in fallbacks.items())
    if used:
        yield "\nimage fallbacks:"
    for (what, recipe), count in sorted(used.items()):
        # A prepared package belongs to no recipe; the user's own table names it.
        noun = "" if what.startswith("package ") else "recipe "
        yield f"  {noun}{recipe} for {what} in {count} task{'s' * (count > 1)}"
