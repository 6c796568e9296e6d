"""The accessibility tree of all applications, read level by level within a budget.

What does not show is not read further. Of a table that makes its cells on demand (a sheet has
17 billion), those cells are read which the screen shows.
"""

import hashlib
import time

from cells import visible_cells
from gi.repository import GLib
from offset import correct
from roles import LAYOUT, MANAGES, ROLES, SELECTED, SHOWING, TEXTUAL, VALUED, flags_of, states_of

ACCESSIBLE = "org.a11y.atspi.Accessible"
COMPONENT = "org.a11y.atspi.Component"
TEXT = "org.a11y.atspi.Text"
VALUE = "org.a11y.atspi.Value"
PROPERTIES = "org.freedesktop.DBus.Properties"
REGISTRY = ("org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
_DAEMON = (
    *("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"),
    "GetConnectionUnixProcessID",
)
SCREEN = GLib.Variant("(u)", (0,))
_MOST_DEPTH = 60
_MOST_CHILDREN = 3_000
_CLOSED = frozenset(("menu",))
_ABOVE = frozenset(("menu bar", "menu"))
_CELL = "table cell"
_OBJECT = "\ufffc"
"""Stands in a text for an element within it, which the tree has as a child."""
_LONG = frozenset(("text", "terminal", "entry"))
_WINDOWS = frozenset(("frame", "window", "dialog", "alert"))


class Node:
    """One element: where it is on the bus, and what was read of it."""

    __slots__ = (
        *("bus", "path", "parent", "children", "role", "name", "states", "box", "value"),
        *("shown", "shift"),
    )

    def __init__(self, bus, path, parent):
        self.bus, self.path, self.parent = bus, path, parent
        self.children, self.role, self.name, self.states = [], "", "", set()
        self.box, self.value, self.shown, self.shift = [0, 0, 0, 0], None, True, 0


class Reader:
    """Reads trees.

    Args:
        bus: The accessibility bus.
        size: Width and height of the screen.
    """

    def __init__(self, bus, size):
        self._bus, self._size = bus, size
        self._hidden, self._shifts, self._processes = (), {}, {}

    def read(self, nodes, chars, ms, hidden=(), depth=_MOST_DEPTH):
        """Return the tree as a list of nodes in order, and why it is not whole.

        Args:
            nodes: Largest number of nodes.
            chars: Characters of a name; values may have four times as many.
            ms: Milliseconds that it may take.
            hidden: Titles and processes of windows that do not show; what is in them is not read.
                A window may have another title here than the window manager knows.
            depth: Largest depth.
        """
        began = time.monotonic()
        deadline = began + ms / 1000
        self._hidden = hidden
        root = Node(*REGISTRY, None)
        root.role = "desktop"
        level, known, cut = [root], 1, ""
        (answer,) = self._bus.ask([self._children(root)], deadline)
        self._grow([root], [answer])
        level, silent = self._answering(root.children, began + ms / 4000)
        for _ in range(min(depth, _MOST_DEPTH)):
            if not level:
                break
            if time.monotonic() >= deadline:
                cut = "time"
                break
            self._describe(level, deadline, chars)
            level = [node for node in level if node.shown]
            known += len(level)
            if known >= nodes:
                cut = "nodes"
                break
            level = self._below(level, deadline)
        else:
            cut = "depth" if level else ""
        shown = [node for node in _walk(root) if node.shown]
        self._read_values(shown, deadline, chars)
        if not cut and time.monotonic() >= deadline:
            cut = "time"
        if silent:
            cut = "an application does not answer"
        correct(shown)
        self._shifts = {(node.bus, node.path): node.shift for node in shown if node.shift}
        listed = list(self._listed(root, nodes))
        return {"nodes": listed, "cut": cut, "ms": round(1000 * (time.monotonic() - began))}

    def _answering(self, applications, deadline):
        """Return the applications that answer, and how many do not."""
        asked = [(node.bus, node.path, ACCESSIBLE, "GetState", None) for node in applications]
        answers = self._bus.ask(asked, deadline)
        for node, answer in zip(applications, answers):
            node.shown = answer is not None
        answering = [node for node in applications if node.shown]
        asked = [(*_DAEMON, GLib.Variant("(s)", (node.bus,))) for node in answering]
        found = zip(answering, self._bus.ask(asked, deadline))
        self._processes = {node.bus: answer[0] for node, answer in found if answer}
        return answering, len(applications) - len(answering)

    def box(self, bus, path, ms=500):
        """Return the present place of an element; None if it is gone or does not show."""
        node = Node(bus, path, None)
        asked = [(bus, path, ACCESSIBLE, "GetState", None), self._extents(node)]
        state, extents = self._bus.ask(asked, time.monotonic() + ms / 1000)
        if state is None or extents is None or SHOWING not in states_of(state):
            return None
        return _lowered(extents[0], self._shifts.get((bus, path), 0))

    def is_selected(self, bus, path, ms=500):
        """Whether the whole text of an element is selected; also true of an empty one."""
        first = GLib.Variant("(i)", (0,))
        asked = [
            (bus, path, PROPERTIES, "Get", GLib.Variant("(ss)", (TEXT, "CharacterCount"))),
            (bus, path, TEXT, "GetSelection", first),
        ]
        count, span = self._bus.ask(asked, time.monotonic() + ms / 1000)
        return bool(count) and (not count[0] or span is not None and _length(span) == count[0])

    # --- one level ---

    def _describe(self, level, deadline, chars):
        """Ask what shows of a level, and then for role, name and place of that."""
        asked = [(node.bus, node.path, ACCESSIBLE, "GetState", None) for node in level]
        for node, answer in zip(level, self._bus.ask(asked, deadline)):
            node.states = states_of(answer) if answer else set()
            # An application itself has no such state.
            node.shown = SHOWING in node.states or node.parent.role == "desktop"
        cells = [node for node in level if node.shown and node.role]
        asked = [self._property(node, ACCESSIBLE, "Name") for node in cells]
        for node, answer in zip(cells, self._bus.ask(asked, deadline)):
            node.name = _name(answer, chars)
        showing = [node for node in level if node.shown and not node.role]
        asked = []
        for node in showing:
            asked.append((node.bus, node.path, ACCESSIBLE, "GetRoleName", None))
            asked.append(self._property(node, ACCESSIBLE, "Name"))
            asked.append(self._extents(node))
        answers = self._bus.ask(asked, deadline)
        for number, node in enumerate(showing):
            role, name, extents = answers[3 * number : 3 * number + 3]
            node.role = role[0][:40] if role else "unknown"
            node.name = _name(name, chars)
            node.box = list(extents[0]) if extents else [0, 0, 0, 0]

    def _below(self, level, deadline):
        """Return the children of a level."""
        opened = [node for node in level if self._is_open(node)]
        managing = [node for node in opened if MANAGES in node.states]
        plain = [node for node in opened if MANAGES not in node.states]
        self._grow(plain, self._bus.ask([self._children(node) for node in plain], deadline))
        for node in managing:
            for bus, path, box in visible_cells(self._bus, node, self._size, deadline):
                cell = Node(bus, path, node)
                cell.role, cell.box = _CELL, list(box)
                node.children.append(cell)
        return [child for node in opened for child in node.children]

    def _is_open(self, node):
        # A menu of a window of its own, such as that of a combobox, shows only while it is open.
        if node.role in _CLOSED and SELECTED not in node.states and node.parent.role in _ABOVE:
            return False
        if self._is_covered(node):
            return False
        if node.parent.role == "desktop":
            return True
        left, top, width, height = node.box
        if node.role == "menu bar" and not height:
            return False
        # The cells of a web page lie in rows, and hold links and buttons.
        if node.role == _CELL and node.name and node.parent.role != "table row":
            return False
        if width <= 0 or height <= 0:
            return True
        return (
            left < self._size[0] and top < self._size[1] and left + width > 0 and top + height > 0
        )

    def _is_covered(self, node):
        if node.role not in _WINDOWS:
            return False
        return node.name in self._hidden or self._processes.get(node.bus) in self._hidden

    def _grow(self, nodes, answers):
        for node, answer in zip(nodes, answers):
            found = answer[0][:_MOST_CHILDREN] if answer else []
            node.children = [Node(bus, path, node) for bus, path in found if bus]

    # --- questions ---

    def _children(self, node):
        return (node.bus, node.path, ACCESSIBLE, "GetChildren", None)

    def _extents(self, node):
        return (node.bus, node.path, COMPONENT, "GetExtents", SCREEN)

    def _property(self, node, interface, name):
        return (node.bus, node.path, PROPERTIES, "Get", GLib.Variant("(ss)", (interface, name)))

    def _read_values(self, nodes, deadline, chars):
        """Read texts and numbers, all at once."""
        textual = [node for node in nodes if node.role in TEXTUAL]
        long = [node for node in textual if node.role in _LONG]
        counts = self._bus.ask([self._property(n, TEXT, "CharacterCount") for n in long], deadline)
        # The end of a text is asked for by -1: LibreOffice gives nothing for one beyond it.
        ends = {n: min(count[0], 4 * chars) for n, count in zip(long, counts) if count}
        asked = [
            (n.bus, n.path, TEXT, "GetText", GLib.Variant("(ii)", (0, ends.get(n, -1))))
            for n in textual
            if n in ends or n.role not in _LONG
        ]
        textual = [n for n in textual if n in ends or n.role not in _LONG]
        valued = [node for node in nodes if node.role in VALUED]
        asked += [self._property(node, VALUE, "CurrentValue") for node in valued]
        answers = self._bus.ask(asked, deadline)
        for node, answer in zip([*textual, *valued], answers):
            if not answer:
                continue
            value = answer[0]
            if isinstance(value, float):
                value = f"{value:g}"
            node.value = _without_objects(str(value)[: 4 * chars])
            if node.role == "section":
                node.name = node.name or " ".join((node.value or "").split())[:chars]
                node.value = None

    # --- the list ---

    def _listed(self, root, most):
        given = 0
        stack = [(node, 0, "") for node in reversed(root.children)]
        while stack and given < most:
            node, depth, above = stack.pop()
            if not node.shown or not node.role:
                continue
            inner, is_nothing = depth, self._is_nothing(node)
            # A cell of a picture and a text, such as a file's name, has a cell for each of them.
            if is_nothing and node.role != _CELL:
                continue
            if not is_nothing and not (node.role in LAYOUT and not node.name):
                key = f"{above}/{node.role}:{node.name}"
                above = hashlib.sha256(key.encode()).hexdigest()[:16]
                yield self._entry(node, depth, above)
                given += 1
                inner = depth + 1
            stack += [(child, inner, above) for child in reversed(node.children)]

    def _is_nothing(self, node):
        """Whether an element is a cell without content, or has no height."""
        if node.role == _CELL:
            return node.box[2] <= 0 or not (node.name or node.value)
        return node.role == "menu bar" and not node.box[3]

    def _entry(self, node, depth, identity):
        flags = flags_of(node.states, node.role)
        left, top, width, height = _lowered(node.box, node.shift)
        if self._is_covered(node):
            flags.append("covered")
        if not (0 <= left + width // 2 < self._size[0] and 0 <= top + height // 2 < self._size[1]):
            flags.append("offscreen")
        entry = {
            "r": ROLES.get(node.role, node.role.replace(" ", "-")),
            "n": node.name,
            "d": depth,
            "b": [left, top, width, height],
            "f": flags,
            "k": identity,
            "at": [node.bus, node.path],
        }
        if node.value is not None and node.value != node.name:
            entry["v"] = node.value
        return entry


def _without_objects(text):
    """Return a text without the elements in it; None if it holds nothing else."""
    if _OBJECT not in text:
        return text
    return " ".join(text.replace(_OBJECT, " ").split()) or None


def _length(span):
    return abs(span[1] - span[0])


def _lowered(box, shift):
    return [box[0], box[1] + shift, box[2], box[3]]


def _name(answer, chars):
    return " ".join(str(answer[0]).split())[:chars] if answer else ""


def _walk(node):
    for child in node.children:
        yield child
        yield from _walk(child)
