"""Finds circles."""

from relay.graph import Graph


def find_circle(graph: Graph) -> list[str] | None:
    """Return the names of one circle, the smallest first; None if there is no circle.

    Each name is followed by one that it needs. Of several circles, one with the smallest name that
    is part of any is returned.
    """
    for name in graph.names():
        if found := _path_back(graph, name, name, ()):
            return found
    return None


def _path_back(graph: Graph, start: str, here: str, seen: tuple[str, ...]) -> list[str] | None:
    for need in sorted(graph.job(here).needs):
        if need == start:
            return [*seen, here]
        if need not in seen and need > start:
            if found := _path_back(graph, start, need, (*seen, here)):
                return found
    return None
