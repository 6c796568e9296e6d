"""Progress display of a check: a live table on a terminal, else a line for each task."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from agentgym.authoring.finding import Report


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
        self._began_s = time.monotonic()
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
        self._console.print(Text(line, "red" if wrong else ""), soft_wrap=True)

    def render(self) -> Table:
        """Return the table as it is now."""
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        now_s = time.monotonic()
        for name, began_s in list(self._open.items()):
            table.add_row(
                Text.assemble(("▸ ", "cyan"), name, (f"  {now_s - began_s:.0f} s", "dim"))
            )
        told = (
            f"{self._done} of {self._total} tasks, {self._unsound} unsound, "
            f"{self._episodes} episodes, {now_s - self._began_s:.0f} s"
        )
        table.add_row(Text(told, "dim"))
        return table
