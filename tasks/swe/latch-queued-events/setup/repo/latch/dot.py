"""Charts as Graphviz text."""

from latch.chart import Chart, State


def to_dot(chart: Chart) -> str:
    """Return a digraph; states with children are clusters."""
    lines = ["digraph chart {", "  compound=true;"]
    for child in chart.root.children.values():
        lines += _state(child, "  ")
    for state in chart.states.values():
        for event, transitions in state.on.items():
            lines += [
                f'  "{state.path}" -> "{each.target}" [label="{event}"];'
                for each in transitions
                if each.target is not None
            ]
        for delay, transitions in state.after.items():
            lines += [
                f'  "{state.path}" -> "{each.target}" [label="{delay:g} s", style=dashed];'
                for each in transitions
                if each.target is not None
            ]
    return "\n".join([*lines, "}", ""])


def _state(state: State, indent: str) -> list[str]:
    name = state.path.rpartition(".")[2]
    if not state.children:
        return [f'{indent}"{state.path}" [label="{name}"];']
    lines = [f'{indent}subgraph "cluster_{state.path}" {{', f'{indent}  label="{name}";']
    lines.append(f'{indent}  "{state.path}" [style=invis];')
    for child in state.children.values():
        lines += _state(child, indent + "  ")
    return [*lines, f"{indent}}}"]
