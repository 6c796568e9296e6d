"""Progress display of a run: a live table on a terminal, else a line for each episode."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from agentgym.eval.printable import clean
from agentgym.record.store import EpisodeRow
from agentgym.records import Step, Verdict


class Progress(Protocol):
    """A context manager that displays the events of a run."""

    def __enter__(self) -> Progress:
        """Start the display."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the display."""
        ...

    def plan(self, episodes: Sequence[EpisodeRow]) -> None:
        """Take every episode of the run, including those already done."""
        ...

    def begin(self, episode: EpisodeRow) -> None:
        """Note that an episode starts."""
        ...

    def step(self, episode: EpisodeRow, step: Step) -> None:
        """Note a finished step."""
        ...

    def end(self, episode: EpisodeRow, verdict: Verdict, error: str) -> None:
        """Note an episode's verdict; `error` holds what broke, or how the policy failed."""
        ...


@dataclass
class _Tally:
    planned: int = 0
    scores: list[float] = field(default_factory=list)
    passed: int = 0
    errors: int = 0

    def add(self, verdict: Verdict) -> None:
        if verdict.scored:
            self.scores.append(verdict.score)
            self.passed += verdict.outcome
        else:
            self.errors += 1

    @property
    def done(self) -> int:
        return len(self.scores) + self.errors


def make_progress(console: Console) -> Progress:
    """Return the live table if the console is a terminal, else plain lines."""
    return LiveProgress(console) if console.is_terminal else LineProgress(console)


class LineProgress:
    """Prints a line for each finished episode, fit for a log file."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._total = self._done = 0

    def __enter__(self) -> LineProgress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def plan(self, episodes: Sequence[EpisodeRow]) -> None:
        """Count the episodes to run and print how many were done before."""
        self._total = len(episodes)
        self._done = sum(e.verdict is not None for e in episodes)
        if self._done:
            self._say(f"{self._done} of {self._total} episodes were done before")

    def begin(self, episode: EpisodeRow) -> None:
        """Do nothing: the line is printed at the end of the episode."""

    def step(self, episode: EpisodeRow, step: Step) -> None:
        """Do nothing: the line is printed at the end of the episode."""

    def end(self, episode: EpisodeRow, verdict: Verdict, error: str) -> None:
        """Print the line."""
        self._done += 1
        plan = episode.plan
        result = _result_words(verdict) + (f": {_first_line(error)}" if error else "")
        self._say(
            f"[{self._done}/{self._total}] {plan.agent}  {plan.task}  trial {plan.trial}  {result}"
        )

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


@dataclass
class _Current:
    episode: EpisodeRow
    began_s: float
    steps: int = 0
    tool: str = "starting"


class LiveProgress:
    """A table that is redrawn in place: agents above, running episodes below."""

    def __init__(self, console: Console) -> None:
        self._tallies: dict[str, _Tally] = {}
        self._current: dict[int, _Current] = {}
        self._ended = 0
        self._began_s = time.monotonic()
        # Transient: the leaderboard replaces the table.
        self._live = Live(
            console=console, get_renderable=self.render, refresh_per_second=8, transient=True
        )

    def __enter__(self) -> LiveProgress:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._current.clear()
        self._live.stop()

    def plan(self, episodes: Sequence[EpisodeRow]) -> None:
        """Fill the table with the planned episodes and those done before."""
        for episode in episodes:
            tally = self._tallies.setdefault(episode.plan.agent, _Tally())
            tally.planned += 1
            if episode.verdict is not None:
                tally.add(episode.verdict)
        self._began_s = time.monotonic()

    def begin(self, episode: EpisodeRow) -> None:
        """Show the episode among the running ones."""
        self._current[episode.id] = _Current(episode, time.monotonic())

    def step(self, episode: EpisodeRow, step: Step) -> None:
        """Show the step and its tool."""
        current = self._current[episode.id]
        current.steps, current.tool = step.index + 1, clean(step.action.tool)[:80]

    def end(self, episode: EpisodeRow, verdict: Verdict, error: str) -> None:
        """Count the episode for its agent."""
        del self._current[episode.id]
        self._tallies[episode.plan.agent].add(verdict)
        self._ended += 1
        if error:
            told = f"{episode.plan.agent}  {episode.plan.task}: {_first_line(error)}"
            self._live.console.print(Text(told, "yellow" if verdict.scored else "red"))

    def render(self) -> Group:
        """Return the display as it is now."""
        agents = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        agents.add_column("agent")
        agents.add_column("", width=24)
        for heading in ("done", "passed", "errors", "mean score"):
            agents.add_column(heading, justify="right")
        for name, tally in list(self._tallies.items()):
            mean = sum(tally.scores) / len(tally.scores) if tally.scores else None
            agents.add_row(
                Text(name, "bold"),
                ProgressBar(
                    total=tally.planned,
                    completed=tally.done,
                    width=24,
                    complete_style="cyan",
                    finished_style="green",
                ),
                f"{tally.done}/{tally.planned}",
                str(tally.passed),
                Text(str(tally.errors), "red" if tally.errors else "dim"),
                "–" if mean is None else f"{mean:.3f}",
            )
        return Group(agents, *self._running(), Text(self._clock(), "dim"))

    def _running(self) -> list[Table]:
        if not self._current:
            return []
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        for current in list(self._current.values())[:12]:
            plan = current.episode.plan
            seconds = time.monotonic() - current.began_s
            table.add_row(
                Text.assemble(
                    ("  ▸ ", "cyan"),
                    f"{plan.task} #{plan.trial} ",
                    (f"{plan.agent} ", "dim"),
                    f"step {current.steps} ",
                    (current.tool, "cyan"),
                    (f" {seconds:.0f} s", "dim"),
                )
            )
        return [table]

    def _clock(self) -> str:
        elapsed_s = time.monotonic() - self._began_s
        left = sum(t.planned - t.done for t in self._tallies.values())
        words = f"{_clock_words(elapsed_s)} elapsed"
        if left and self._ended:
            words += f", about {_clock_words(elapsed_s / self._ended * left)} to go"
        return words


def _result_words(verdict: Verdict) -> str:
    if not verdict.scored:
        return verdict.status
    return f"{'passed' if verdict.outcome else 'failed'}  score {verdict.score:.2f}"


def _first_line(error: str) -> str:
    """Return the first line of a message, which may quote what an agent wrote."""
    return clean(error.split("\n")[0])


def _clock_words(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
