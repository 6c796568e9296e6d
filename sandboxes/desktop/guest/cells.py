"""The cells that the screen shows of a table which makes them on demand."""

import time

from gi.repository import GLib

ACCESSIBLE = "org.a11y.atspi.Accessible"
COMPONENT = "org.a11y.atspi.Component"
TABLE = "org.a11y.atspi.Table"
_MOST_LINES = 80
_MOST_CELLS = 2_500
_INSIDE = 3
_HEADER = 40


def visible_cells(bus, node, size, deadline):
    """Return the visible cells row by row, each as a name on the bus, a path and a box.

    The boxes are those of the first row and the first column: asking each cell takes long.

    Args:
        bus: The accessibility bus.
        node: The table.
        size: Width and height of the screen.
        deadline: On the clock of `time.monotonic`.
    """
    left, top, width, height = node.box
    right, bottom = min(left + width, size[0]), min(top + height, size[1])
    left, top = max(left, 0), max(top, 0)
    first = _first(bus, node, left, top, deadline)
    if first is None:
        return []
    cell, box, y = first
    row, column = _place(bus, node, cell, deadline)
    if row is None:
        return [(*cell, box)]
    across = _line(bus, node, box, deadline, right, axis=0, along=y)
    down = _line(bus, node, box, deadline, bottom, axis=1, along=box[0] + _INSIDE)
    down = down[: _MOST_CELLS // len(across)]
    grid = [(r, c) for r in range(len(down)) for c in range(len(across))]
    asked = [
        (node.bus, node.path, TABLE, "GetAccessibleAt", GLib.Variant("(ii)", (row + r, column + c)))
        for r, c in grid
    ]
    return [
        (*answer[0], (across[c][0], down[r][1], across[c][2], down[r][3]))
        for (r, c), answer in zip(grid, bus.ask(asked, deadline))
        if answer
    ]


def _first(bus, node, left, top, deadline):
    """Return the cell in the top left corner, its box, and at what height it was found.

    Headers may lie above it, or over its upper part where the table is scrolled.
    """
    for y in range(top + _INSIDE, top + _HEADER, 6):
        found = _at(bus, node, left + _INSIDE, y, deadline)
        if found is not None:
            return (*found, y)
    return None


def _at(bus, node, x, y, deadline):
    point = GLib.Variant("(iiu)", (x, y, 0))
    (found,) = bus.ask([(node.bus, node.path, COMPONENT, "GetAccessibleAtPoint", point)], deadline)
    if not found or not found[0][0] or found[0][1].endswith("/null"):
        return None
    cell = found[0]
    screen = GLib.Variant("(u)", (0,))
    (box,) = bus.ask([(*cell, COMPONENT, "GetExtents", screen)], deadline)
    if not box or box[0][2] <= 0 or box[0][3] <= 0 or tuple(cell) == (node.bus, node.path):
        return None
    return cell, box[0]


def _place(bus, node, cell, deadline):
    (index,) = bus.ask([(*cell, ACCESSIBLE, "GetIndexInParent", None)], deadline)
    if not index or index[0] < 0:
        return None, None
    number = GLib.Variant("(i)", (index[0],))
    asked = [
        (node.bus, node.path, TABLE, name, number) for name in ("GetRowAtIndex", "GetColumnAtIndex")
    ]
    row, column = bus.ask(asked, deadline)
    if not row or not column or row[0] < 0 or column[0] < 0:
        return None, None
    return row[0], column[0]


def _line(bus, node, box, deadline, edge, axis, along):
    """Return the boxes of a row (axis 0) or a column, from one cell to the edge of what shows.

    The cells are looked for `along` a height of the screen, or a distance from its left edge.
    """
    boxes = [box]
    while len(boxes) < _MOST_LINES and time.monotonic() < deadline:
        beyond = box[axis] + box[axis + 2] + _INSIDE
        if beyond >= edge:
            break
        point = (beyond, along) if axis == 0 else (along, beyond)
        found = _at(bus, node, *point, deadline)
        if found is None or found[1][axis] <= box[axis]:
            break
        box = found[1]
        boxes.append(box)
    return boxes
