"""Machines: a chart, and where one is in it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from latch.chart import Chart, ChartError, State, Transition
from latch.moves import entered, move
from latch.timers import Timers


@dataclass(frozen=True)
class Event:
    name: str
    data: Mapping[str, Any] = field(default_factory=dict)


Function = Callable[["Machine", Event], Any]
Watcher = Callable[["Machine", Event, tuple[str, ...], tuple[str, ...]], None]


class Machine:
    """A machine that follows a chart.

    Args:
        chart: The chart.
        functions: Actions and guards by name.

    Raises:
        ChartError: The chart names a function that is missing.
    """

    def __init__(self, chart: Chart, functions: Mapping[str, Function]) -> None:
        if missing := sorted(chart.functions() - set(functions)):
            raise ChartError(f"missing functions: {', '.join(missing)}")
        self.chart, self.now = chart, 0.0
        self._functions = functions
        self._active: list[State] = []
        self._timers = Timers()
        self._watchers: list[Watcher] = []

    @property
    def states(self) -> tuple[str, ...]:
        """The active states, outermost first."""
        return tuple(state.path for state in self._active)

    @property
    def timers(self) -> int:
        """The number of timers that run."""
        return len(self._timers)

    def watch(self, watcher: Watcher) -> None:
        """Call a function after transitions."""
        self._watchers.append(watcher)

    def start(self) -> None:
        """Enter the initial states.

        Raises:
            ChartError: The machine has started already.
        """
        if self._active:
            raise ChartError("the machine has started already")
        root = self.chart.root
        self._enter(entered(self.chart, root, root), Event("start"), ())

    def send(self, name: str, /, **data: Any) -> bool:
        """Handle an event; return whether a transition was taken."""
        event = Event(name, data)
        transition = self._find(event)
        if transition is None:
            return False
        self._take(transition, event)
        return True

    def can(self, name: str, /, **data: Any) -> bool:
        """Return whether an event would be handled now."""
        return self._find(Event(name, data)) is not None

    def advance(self, now: float) -> None:
        """Tell the time, in seconds from the start of the machine."""
        self.now = now
        for timer in self._timers.due(now):
            event = Event("after")
            transition = self._first(timer.transitions, event)
            if transition is not None:
                self._take(transition, event)

    def _find(self, event: Event) -> Transition | None:
        for state in reversed(self._active):
            found = self._first(state.on.get(event.name, ()), event)
            if found is not None:
                return found
        return None

    def _first(self, transitions: Iterable[Transition], event: Event) -> Transition | None:
        for transition in transitions:
            if transition.guard is None or self._functions[transition.guard](self, event):
                return transition
        return None

    def _take(self, transition: Transition, event: Event) -> None:
        before = self.states
        if transition.target is None:
            self._call(transition.action, event)
            return
        left, inner = move(self.chart, self._active[-1], transition)
        for state in left:
            self._call(state.exit, event)
            self._timers.end(state)
            self._active.remove(state)
        self._call(transition.action, event)
        self._enter(inner, event, before)

    def _enter(self, states: list[State], event: Event, before: tuple[str, ...]) -> None:
        for state in states:
            self._active.append(state)
            self._timers.begin(state, self.now)
            self._call(state.entry, event)
        for watcher in self._watchers:
            watcher(self, event, before, self.states)

    def _call(self, name: str | None, event: Event) -> None:
        if name is not None:
            self._functions[name](self, event)
