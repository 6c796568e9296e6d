"""States of jobs while they run."""

from enum import Enum

from relay.errors import JobError
from relay.graph import Graph
from relay.order import plan


class State(Enum):
    WAITS = "waits"
    DONE = "done"
    FAILED = "failed"


class Board:
    """The states of the jobs of a graph, which must not change meanwhile."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._order = plan(graph)
        self._states = {name: State.WAITS for name in self._order}

    def state(self, name: str) -> State:
        if name not in self._states:
            raise JobError(f"{name}: unknown job")
        return self._states[name]

    def ready(self) -> list[str]:
        """Return the jobs that could be started now, in the order of the plan."""
        return [
            name
            for name in self._order
            if self.state(name) is State.WAITS
            and all(self.state(need) is State.DONE for need in self.graph.job(name).needs)
        ]

    def blocked(self) -> list[str]:
        """Return the jobs that wait for a job that failed, in the order of the plan."""
        return [name for name in self._order if self._is_blocked(name)]

    def finish(self, name: str) -> list[str]:
        """Note that a job is done; return the jobs that this makes ready."""
        before = set(self.ready())
        self._expect(name, State.WAITS)
        self._states[name] = State.DONE
        return [other for other in self.ready() if other not in before]

    def fail(self, name: str) -> list[str]:
        """Note that a job failed; return the jobs that this blocks."""
        before = set(self.blocked())
        self._expect(name, State.WAITS)
        self._states[name] = State.FAILED
        return [other for other in self.blocked() if other not in before]

    def retry(self, name: str) -> None:
        """Let a failed job wait again."""
        self._expect(name, State.FAILED)
        self._states[name] = State.WAITS

    def _is_blocked(self, name: str) -> bool:
        if self.state(name) is not State.WAITS:
            return False
        needs = self.graph.job(name).needs
        return any(
            self.state(need) is State.FAILED or self._is_blocked(need) for need in needs
        )

    def _expect(self, name: str, state: State) -> None:
        if self.state(name) is not state:
            raise JobError(f"{name}: {self.state(name).value}, expected that it {state.value}")
        if state is State.WAITS and name not in self.ready():
            raise JobError(f"{name}: is not ready")
