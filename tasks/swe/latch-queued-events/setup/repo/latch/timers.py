"""Timers of active states."""

from dataclasses import dataclass

from latch.chart import State, Transition


@dataclass(frozen=True)
class Timer:
    """A time, and the transitions that are tried then, in their order."""

    due: float
    state: State
    transitions: tuple[Transition, ...]


class Timers:
    def __init__(self) -> None:
        self._running: list[Timer] = []

    def begin(self, state: State, now: float) -> None:
        """Start the timers of a state that is entered."""
        for delay, transitions in state.after.items():
            self._running.append(Timer(now + delay, state, tuple(transitions)))

    def end(self, state: State) -> None:
        """End the timers of a state that is left."""
        self._running = [timer for timer in self._running if timer.state is not state]

    def due(self, now: float) -> list[Timer]:
        """Take out the timers that have run out."""
        found = [timer for timer in self._running if timer.due <= now]
        self._running = [timer for timer in self._running if timer.due > now]
        return found

    def __len__(self) -> int:
        return len(self._running)
