"""The leaderboard of a run, printed in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from agentgym.eval.printable import clean


def leaderboard(results: Mapping[str, Any]) -> Table:
    """Return the table of the summary in `results.json`."""
    summary: Mapping[str, Any] = results["summary"]
    k = max((row["k"] for row in summary.values()), default=1)
    keys = {"pass@1": "pass@1"}
    if k > 1:
        keys |= {f"pass@{k}": "pass@k", f"pass^{k}": "pass^k"}
    if any(row["mean_bonus"] is not None for row in summary.values()):
        keys["bonus"] = "mean_bonus"
    missing = any(missing_from(row) for row in summary.values())
    if any(row["faulted"] for row in summary.values()):
        keys |= {"under faults": "robustness"}
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("agent", overflow="fold")
    bounds = ["bounds"] if missing else []
    for heading in ("mean score", "95% interval", *bounds, *keys, "scored", "errors", "tokens"):
        table.add_column(heading, justify="right", no_wrap=True)
    for agent, row in summary.items():
        interval = row["mean_score_ci95"]
        table.add_row(
            Text(clean(agent), "bold"),
            _number(row["mean_score"]),
            _span(interval),
            *([_span(row["mean_score_bounds"])] if missing else []),
            *(_number(row[key]) for key in keys.values()),
            f"{row['scored']}/{row['episodes'] + row['unfinished']}",
            Text(str(row["errors"]), "red" if row["errors"] else ""),
            f"{row['tokens']['total']:,}",
        )
    return table


def remarks(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines on missing episodes, failed policies, and messages that no model judged."""
    for agent, row in results["summary"].items():
        name, planned = clean(agent), row["episodes"] + row["unfinished"]
        if count := missing_from(row):
            kinds = [f"{number} × {kind}" for kind, number in row["errors_by_status"].items()]
            if row["unfinished"]:
                kinds.append(f"{row['unfinished']} not over")
            low, high = row["mean_score_bounds"]
            yield (
                f"{name}: {count} of {planned} episodes have no score ({', '.join(kinds)}); were "
                f"all of them 0 the mean would be {low:.3f}, were all of them 1 {high:.3f}"
            )
        if failed := row["policy_failures"]:
            yield (
                f"{name}: in {failed} of {planned} episodes the policy failed; "
                "they are scored as they stood then"
            )
        if unread := row["words_not_judged"]:
            yield (
                f"{name}: words: not judged in {unread} of {row['scored']} scored episodes; their "
                "messages were read without a model (docs/messages.md)"
            )


def missing_from(row: Mapping[str, Any]) -> int:
    """Return how many planned episodes of an agent have no score."""
    missing: int = row["errors"] + row["unfinished"]
    return missing


def _span(interval: Sequence[float] | None) -> str:
    return f"{interval[0]:.3f} – {interval[1]:.3f}" if interval else "–"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
