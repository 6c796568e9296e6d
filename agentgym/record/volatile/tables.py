"""Masks tables of processes, as `ps` and `top` print them: some columns differ each time."""

from __future__ import annotations

from typing import Final

_MARKS: Final = {
    **dict.fromkeys(
        ("PID", "PPID", "PGID", "PGRP", "SID", "SESS", "TGID", "LWP", "TID", "SPID", "TPGID"),
        "<pid>",
    ),
    **dict.fromkeys(
        ("%CPU", "%MEM", "C", "CP", "VSZ", "RSS", "SZ", "VIRT", "RES", "SHR", "ADDR", "WCHAN"),
        "<usage>",
    ),
    **dict.fromkeys(("STIME", "START", "STARTED", "TIME", "TIME+", "ELAPSED", "ETIME"), "<time>"),
    **dict.fromkeys(("S", "STAT"), "<state>"),
}
_LAST: Final = ("CMD", "COMMAND", "ARGS")


def mask_tables(text: str) -> str:
    """Replace the volatile columns of every table of processes, and remove their padding."""
    if "PID" not in text:
        return text
    columns: list[str] = []
    lines = []
    for line in text.split("\n"):
        words = line.split()
        if "PID" in words and words[-1] in _LAST and len(words) > 1:
            columns = words
            line = " ".join(words)
        elif columns:
            row = _masked(line, columns)
            columns = columns if row else []
            line = row or line
        lines.append(line)
    return "\n".join(lines)


def _masked(line: str, columns: list[str]) -> str:
    """Return a row with its volatile cells masked, empty if it is not a row of the table."""
    cells = line.split(None, len(columns) - 1)
    if len(cells) < len(columns):
        return ""
    pid = cells[columns.index("PID")]
    if not pid.isdigit() and pid != "<pid>":
        return ""
    return " ".join(
        _MARKS.get(column, cell) for column, cell in zip(columns, cells, strict=True)
    ).rstrip()
