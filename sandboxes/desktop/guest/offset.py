"""Corrects the places that LibreOffice tells for what it draws itself.

Below a menu bar of GTK, it leaves the height of the menu bar out: its tool bars, its document and
its status bar lie lower than told. Controls of GTK among them are told as they are.
"""

_SLACK = 2


def correct(nodes):
    """Set the shift of nodes, parents first: pixels by which they lie lower than told."""
    bars = {}
    for node in nodes:
        if node.role == "menu bar" and node.box[3] > 0:
            bars.setdefault(node.bus, []).append(node)
    for node in nodes:
        if node.role == "root pane":
            node.shift = sum(bar.box[3] for bar in bars.get(node.bus, ()) if _is_at(bar, node))
        elif node.parent.shift and _lies_in(node.box, node.parent.box):
            node.shift = node.parent.shift


def _is_at(bar, pane):
    """Whether a menu bar lies where a pane claims to begin."""
    return all(abs(bar.box[side] - pane.box[side]) <= _SLACK for side in (0, 1))


def _lies_in(inner, outer):
    return (
        inner[0] >= outer[0] - _SLACK
        and inner[1] >= outer[1] - _SLACK
        and inner[1] + inner[3] <= outer[1] + outer[3] + _SLACK
    )
