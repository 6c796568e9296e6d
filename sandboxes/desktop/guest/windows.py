"""The windows that the window manager knows, as EWMH 1.5 describes them."""

import time

from Xlib import X, error
from Xlib.protocol import event

_MOST = 200
_BY_A_PERSON = 2  # source indication of EWMH
_PANEL = "Tint2"
_ORDINARY = ("_NET_WM_WINDOW_TYPE_NORMAL", "_NET_WM_WINDOW_TYPE_DIALOG")
_ACTIVATE_S, _POLL_S = 0.5, 0.005


class Windows:
    """The windows of a display.

    Args:
        display: A connection of python-xlib.
    """

    def __init__(self, display):
        self._display = display
        self._root = display.screen().root
        self._atoms, self._seen = {}, set()

    def ids(self):
        """Return the ids of the windows, the topmost last."""
        return list(self._values(self._root, "_NET_CLIENT_LIST_STACKING"))[-_MOST:]

    def list(self):
        """Return the windows with id, title, place, process and focus, the topmost last.

        `box` is the place of the content, `outer` that of the content with its frame.
        """
        active = self._active()
        found = []
        for number in self.ids():
            window = self._display.create_resource_object("window", number)
            try:
                found.append(self._describe(window, number == active))
            except (error.XError, AttributeError):
                continue
        return found

    def close_all(self):
        """Ask every window to close, as its close button does; applications may ask back."""
        for number in self.ids():
            self._ask(number, "_NET_CLOSE_WINDOW", [X.CurrentTime, _BY_A_PERSON, 0, 0, 0])

    def activate_each(self, ranks):
        """Activate every window but the panel, in the order of the ranks, the last one for good.

        This makes the order of the windows, and the order in which Alt+Tab visits them, the same
        whichever application came to the front by itself while it loaded.

        Args:
            ranks: Rank of the windows by id; another window has the least rank of its process.
        """
        here = [window for window in self.list() if window["class"] != _PANEL]
        of_process = {}
        for window in here:
            rank = ranks.get(window["id"], len(ranks))
            of_process[window["pid"]] = min(rank, of_process.get(window["pid"], rank))
        here.sort(key=lambda window: ranks.get(window["id"], of_process[window["pid"]]))
        if len(here) == 1 and here[0]["focused"]:
            return
        for window in here:
            self._ask(window["id"], "_NET_ACTIVE_WINDOW", [_BY_A_PERSON, X.CurrentTime, 0, 0, 0])
            deadline = time.monotonic() + _ACTIVATE_S
            while self._active() != window["id"] and time.monotonic() < deadline:
                time.sleep(_POLL_S)

    def focus_new(self):
        """Activate the window that has come last since the last call, and return whether it did.

        openbox withholds the focus from a window that comes within a second of a click that opened
        it. So a fast application would be behind the one that started it, and a slow one in front.
        """
        here = list(self._values(self._root, "_NET_CLIENT_LIST"))[-_MOST:]
        new = [number for number in here if number not in self._seen]
        self._seen = set(here)
        if not new or self._active() in new:
            return False
        for number in reversed(new):
            if self._is_ordinary(number):
                self._ask(number, "_NET_ACTIVE_WINDOW", [_BY_A_PERSON, X.CurrentTime, 0, 0, 0])
                return True
        return False

    def _is_ordinary(self, number):
        """Whether a window is one of an application, and no panel, splash screen or message."""
        try:
            window = self._display.create_resource_object("window", number)
            kinds = set(self._values(window, "_NET_WM_WINDOW_TYPE"))
        except error.XError:
            return False
        return not kinds or not kinds.isdisjoint(map(self._atom, _ORDINARY))

    def _active(self):
        return next(iter(self._values(self._root, "_NET_ACTIVE_WINDOW")), 0)

    def _ask(self, number, request, data):
        """Send a request about a window to the window manager."""
        window = self._display.create_resource_object("window", number)
        message = event.ClientMessage(
            window=window, client_type=self._atom(request), data=(32, data)
        )
        to = X.SubstructureRedirectMask | X.SubstructureNotifyMask
        self._root.send_event(message, event_mask=to)
        self._display.flush()

    def open_processes(self):
        """Return the ids of the processes with a window, without the panel's."""
        return {window["pid"] for window in self.list() if window["class"] != _PANEL}

    def _describe(self, window, active):
        shape = window.get_geometry()
        corner = window.translate_coords(self._root, 0, 0)
        left, top = -corner.x, -corner.y
        frame = [*self._values(window, "_NET_FRAME_EXTENTS"), 0, 0, 0, 0][:4]
        outer = [shape.width + frame[0] + frame[1], shape.height + frame[2] + frame[3]]
        states = set(self._values(window, "_NET_WM_STATE"))
        classes = window.get_wm_class() or ("", "")
        return {
            "id": window.id,
            "title": self._text(window, "_NET_WM_NAME")[:300],
            "class": classes[1][:100],
            "pid": next(iter(self._values(window, "_NET_WM_PID")), 0),
            "box": [left, top, shape.width, shape.height],
            "outer": [left - frame[0], top - frame[2], *outer],
            "focused": active,
            "minimized": self._atom("_NET_WM_STATE_HIDDEN") in states,
            "fullscreen": self._atom("_NET_WM_STATE_FULLSCREEN") in states,
        }

    def _atom(self, name):
        if name not in self._atoms:
            self._atoms[name] = self._display.intern_atom(name)
        return self._atoms[name]

    def _values(self, window, name):
        found = window.get_full_property(self._atom(name), X.AnyPropertyType)
        return () if found is None or found.format != 32 else found.value

    def _text(self, window, name):
        found = window.get_full_property(self._atom(name), X.AnyPropertyType)
        if found is None or found.format != 8:
            return str(window.get_wm_name() or "")
        return bytes(found.value).decode("utf-8", "replace")


def covered(windows, size):
    """Return what does not show because others lie above it: titles, and processes.

    A title or a process is covered if all windows that have it are.

    Args:
        windows: What `Windows.list` returns.
        size: Width and height of the screen.
    """
    below, shown = set(), set()
    for place, window in enumerate(windows):
        above = [one for one in windows[place + 1 :] if not one["minimized"]]
        part = _clipped(window["box"], size)
        hidden = window["minimized"] or any(
            _holds(_clipped(one["outer"], size), part) for one in above
        )
        (below if hidden else shown).update((window["title"], window["pid"]))
    return below - shown - {0}


def _clipped(box, size):
    left, top, width, height = box
    right, bottom = min(left + width, size[0]), min(top + height, size[1])
    return max(left, 0), max(top, 0), right, bottom


def _holds(outer, inner):
    return (
        outer[0] <= inner[0]
        and outer[1] <= inner[1]
        and outer[2] >= inner[2]
        and outer[3] >= inner[3]
    )
