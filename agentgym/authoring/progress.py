"""Progress display of a check: a live table on a terminal, else lines.

Without a terminal each task has a line at its end, and a task that takes long has one each 30 s.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from agentgym.authoring.finding import Report

_QUIET_S: Final = 30.0


class CheckProgress:
    """A context manager that shows the events of a check.

    Args:
        console: Console to print on.
        total: Number of tasks.
    """

    def __init__(self, console: Console, total: int) -> None:
        self._console, self._total = console, total
        self._open: dict[str, float] = {}
        self._done = self._unsound = self._episodes = 0
        self._began_s = self._told_s = time.monotonic()
        self._live = Live(
            console=console, get_renderable=self.render, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> CheckProgress:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def begin(self, name: str) -> None:
        """Show that a task has begun."""
        self._open[name] = time.monotonic()

    def episode(self, name: str) -> None:
        """Count an episode that is over."""
        self._episodes += 1
        if not self._console.is_terminal and time.monotonic() - self._told_s >= _QUIET_S:
            self._say(Text(f"… {', '.join(self._open)}: {self._told()}", "dim"))

    def end(self, name: str, report: Report) -> None:
        """Take a task out of the table and print its line."""
        self._open.pop(name, None)
        self._done += 1
        self._unsound += not report.sound
        wrong = ", ".join(finding.property for finding in report.unsound)
        told = f"unsound: {wrong}" if wrong else "sound"
        line = (
            f"[{self._done}/{self._total}] {report.task}  {told}  "
            f"{report.episodes} episodes, {report.duration_s:.1f} s"
        )
        self._say(Text(line, "red" if wrong else ""))

    def _say(self, line: Text) -> None:
        self._told_s = time.monotonic()
        self._console.print(line, soft_wrap=True)

    def _told(self) -> str:
        return (
            f"{self._done} of {self._total} tasks, {self._unsound} unsound, "
            f"{self._episodes} episodes, {time.monotonic() - self._began_s:.0f} s"
        )

    def render(self) -> Table:
        """Return the table as it is now."""
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        now_s = time.monotonic()
        for name, began_s in list(self._open.items()):
            table.add_row(
                Text.assemble(("▸ ", "cyan"), name, (f"  {now_s - began_s:.0f} s", "dim"))
            )
        table.add_row(Text(self._told(), "dim"))
        return table
