"""Progress of a training run: a live line on a terminal, and a line for each iteration."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agentgym.train.training_run import Metrics


class TrainingProgress:
    """A context manager that displays the events of a training run.

    Args:
        console: Where to; the live line appears on a terminal only.
        iterations: How many the run has.
    """

    def __init__(self, console: Console, iterations: int) -> None:
        self._console, self._iterations = console, iterations
        self._live = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("episodes"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._line = self._live.add_task("starting", total=None)

    def __enter__(self) -> TrainingProgress:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def note(self, text: str) -> None:
        """Print a sentence about the run."""
        self._console.print(text, markup=False, soft_wrap=True)

    def playing(self, what: str, done: int, planned: int) -> None:
        """Show how many episodes of an iteration or an evaluation are done."""
        self._live.update(self._line, description=what, completed=done, total=planned)

    def iteration(self, metrics: Metrics) -> None:
        """Print the figures of an iteration."""
        told = [f"iteration {metrics['iteration']}/{self._iterations}"]
        for name, label in _FIGURES.items():
            if (value := metrics.get(name)) is not None:
                told.append(
                    f"{label} {value:.3f}" if isinstance(value, float) else f"{label} {value}"
                )
        if missing := metrics.get("missing"):
            told.append(f"{missing} unscored")
        self._console.print("  ".join(told), markup=False, soft_wrap=True)


_FIGURES = {
    "reward": "reward",
    "pass_rate": "passed",
    "evaluation_pass_rate": "held-out passed",
    "entropy": "entropy",
    "kl": "KL",
    "groups": "groups",
    "tokens_per_s": "tokens/s",
}
