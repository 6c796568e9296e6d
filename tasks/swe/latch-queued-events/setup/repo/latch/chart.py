"""States and transitions."""

from collections.abc import Iterator
from dataclasses import dataclass, field


class ChartError(Exception):
    """A chart, or the use of one, is wrong."""


@dataclass(frozen=True)
class Transition:
    """A way from a state; without a target only the action runs."""

    source: str
    target: str | None = None
    guard: str | None = None
    action: str | None = None


@dataclass
class State:
    """A state. `path` is its name with those of the states around it; that of the root is empty."""

    path: str
    parent: "State | None" = None
    initial: str | None = None
    entry: str | None = None
    exit: str | None = None
    on: dict[str, list[Transition]] = field(default_factory=dict)
    after: dict[float, list[Transition]] = field(default_factory=dict)
    children: dict[str, "State"] = field(default_factory=dict)

    def outwards(self) -> "Iterator[State]":
        """Yield the state and the states around it, without the root."""
        state: State | None = self
        while state is not None and state.path:
            yield state
            state = state.parent

    def walk(self) -> "Iterator[State]":
        """Yield the state and all states in it."""
        yield self
        for child in self.children.values():
            yield from child.walk()


class Chart:
    """All states by path."""

    def __init__(self, root: State) -> None:
        self.root = root
        self.states = {state.path: state for state in root.walk()}

    def functions(self) -> set[str]:
        """Return the names of all actions and guards."""
        found: set[str | None] = set()
        for state in self.states.values():
            found |= {state.entry, state.exit}
            for transitions in (*state.on.values(), *state.after.values()):
                for transition in transitions:
                    found |= {transition.guard, transition.action}
        return {name for name in found if name is not None}
