"""Charts from dictionaries."""

from collections.abc import Mapping
from typing import Any

from latch.chart import Chart, ChartError, State, Transition

_KEYS = {"initial", "states", "entry", "exit", "on", "after"}


def read_chart(content: Mapping[str, Any]) -> Chart:
    """Return the chart that a dictionary describes.

    Raises:
        ChartError: Something is missing or unknown; says in which state.
    """
    root = _state("", None, content)
    for state in root.walk():
        _transitions(state, _described(state, content))
    return Chart(root)


def _state(path: str, parent: State | None, content: Mapping[str, Any]) -> State:
    shown = path or "the chart"
    if unknown := sorted(set(content) - _KEYS):
        raise ChartError(f"{shown}: unknown key {unknown[0]!r}")
    state = State(path, parent, content.get("initial"), content.get("entry"), content.get("exit"))
    for name, inner in content.get("states", {}).items():
        if not name or "." in name:
            raise ChartError(f"{shown}: {name!r} is no name of a state")
        state.children[name] = _state(f"{path}.{name}" if path else name, state, inner)
    if state.children and state.initial not in state.children:
        raise ChartError(f"{shown}: initial: expected one of {', '.join(state.children)}")
    return state


def _described(state: State, content: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in state.path.split(".") if state.path else ():
        content = content["states"][name]
    return content


def _transitions(state: State, content: Mapping[str, Any]) -> None:
    for event, given in content.get("on", {}).items():
        state.on[event] = [_transition(state, each) for each in _listed(given)]
    for delay, given in content.get("after", {}).items():
        try:
            seconds = float(delay)
        except ValueError:
            raise ChartError(f"{state.path}: after: {delay!r} is no number of seconds") from None
        state.after[seconds] = [_transition(state, each) for each in _listed(given)]


def _listed(given: Any) -> list[Mapping[str, Any]]:
    listed = given if isinstance(given, list) else [given]
    return [{"target": each} if isinstance(each, str) else each for each in listed]


def _transition(state: State, given: Mapping[str, Any]) -> Transition:
    target = given.get("target")
    if target is not None:
        target = _find(state, target)
    return Transition(state.path, target, given.get("guard"), given.get("action"))


def _find(state: State, name: str) -> str:
    first, _, rest = name.partition(".")
    around: State | None = state
    while around is not None:
        if first in around.children:
            found = around.children[first]
            for part in rest.split(".") if rest else ():
                if part not in found.children:
                    raise ChartError(f"{state.path}: no state {name!r}")
                found = found.children[part]
            return found.path
        around = around.parent
    raise ChartError(f"{state.path}: no state {name!r}")
