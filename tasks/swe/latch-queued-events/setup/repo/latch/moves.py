"""The states that a transition leaves and enters."""

from latch.chart import Chart, State, Transition


def leaf_of(chart: Chart, state: State) -> State:
    """Return the state that is active in the end if a state is entered."""
    while state.initial is not None:
        state = state.children[state.initial]
    return state


def move(chart: Chart, active: State, transition: Transition) -> tuple[list[State], list[State]]:
    """Return the states to leave, innermost first, and those to enter, outermost first.

    Args:
        chart: The chart.
        active: The innermost active state.
        transition: A transition with a target.
    """
    source, target = chart.states[transition.source], chart.states[transition.target or ""]
    around = _around(source, target)
    left = [state for state in active.outwards() if not _is_within(around, state)]
    return left, entered(chart, target, around)


def entered(chart: Chart, target: State, around: State) -> list[State]:
    """Return the states that are entered with a target, from a state around it on."""
    inner = [state for state in leaf_of(chart, target).outwards() if not _is_within(around, state)]
    return inner[::-1]


def _around(source: State, target: State) -> State:
    """Return the innermost state that is around both and neither of them."""
    over = [source.parent, *(state.parent for state in source.outwards())]
    state = target.parent
    while state is not None and state not in over:
        state = state.parent
    assert state is not None
    return state


def _is_within(inner: State | None, state: State) -> bool:
    """Return whether a state is another one, or around it."""
    while inner is not None:
        if inner is state:
            return True
        inner = inner.parent
    return False
