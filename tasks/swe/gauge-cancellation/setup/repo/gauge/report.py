"""Tables of groups."""

import csv
from collections.abc import Sequence
from pathlib import Path

from gauge.groups import Groups
from gauge.moments import Moments


def table(groups: Groups) -> str:
    """Return a table with a line for each group, and one for all if there are several."""
    lines = [f"{'name':<12}{'count':>8}{'mean':>16}{'deviation':>14}"]
    lines += [_line(name, groups[name]) for name in groups]
    if len(groups) > 1:
        lines.append(_line("total", groups.total))
    return "\n".join(lines)


def _line(name: str, moments: Moments) -> str:
    return f"{name:<12}{moments.count:>8g}{_shown(moments.mean, 16)}{_shown(moments.deviation, 14)}"


def _shown(value: float | None, width: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.3f}"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: python3 -m gauge FILE")
        return 2
    groups = Groups()
    with Path(arguments[0]).open(encoding="utf-8", newline="") as file:
        for name, value in csv.reader(file):
            groups.add(name, float(value))
    print(table(groups))
    return 0
