"""The control server of a desktop: one process that sees, acts and settles for the host.

It answers requests on the loopback, one at a time: four bytes of length, a JSON object; the reply
is four bytes of length, a JSON object, four bytes of length, and bytes. A connection begins with
the bare token, which only root can read. Of many without it the oldest are closed.
"""

import itertools
import json
import os
import secrets
import selectors
import socket
import struct
import sys
import time

from actions import Actions, RefusedError
from bus import Bus
from clipboard import read_clipboard
from gi.repository import Gio, GLib
from keyboard import Keyboard
from pointer import Pointer
from screen import Screen
from session import FOLDER, FRAME_BUFFER, Session
from tree import Reader
from windows import Windows, covered
from Xlib import display as displays
from Xlib.ext import xtest

_PORT = 5970
_MOST_BYTES = 2**20
_CALM_QUIET_MS, _CALM_MS = 120, 1_000
_MOST_STRANGERS = 8
_REPLY_S = 20.0
_REQUESTS = (
    *("hello", "act", "settle", "look", "tree", "box", "selected", "clipboard"),
    "close_windows",
)
_FRAME_S = 0.015
_SELECT_S = 0.6
_READY_QUIET_MS, _READY_MS = 300, 8_000
_BUS_S = 15.0
_READINGS, _MOST_NODES, _READING_MS, _SHORT_S = 2, 2_000, 4_000, 0.1
_ANNOUNCED_S = 5.0


class Control:
    """Everything that the host asks for."""

    def __init__(self, size):
        self._session = Session(size)
        self._session.start()
        self._display = displays.Display(":0")
        # No application that grabs the display can stop it.
        xtest.grab_control(self._display, True)
        self.screen = Screen(FRAME_BUFFER)
        self._size = (self.screen.width, self.screen.height)
        keyboard, self._pointer = Keyboard(self._display, self._calm), Pointer(self._display)
        self._actions = Actions(keyboard, self._pointer)
        self._windows = Windows(self._display)
        self._session.furnish(self._windows)
        self._reader = None

    def open_session(self):
        """Open the applications of the session, one after the other, and let them settle."""
        lines = self._session.applications()
        ranks = {}
        for rank, line in enumerate(lines):
            self._session.launch(line, self._windows, self._ready)
            for number in self._windows.ids():
                ranks.setdefault(number, rank)
        self._connect()
        # Applications announce themselves and fill their trees as these are read.
        deadline = time.monotonic() + _ANNOUNCED_S
        for readings in itertools.count(1):
            began = time.monotonic()
            seen, _ = self.tree(_MOST_NODES, 100, _READING_MS)
            there = sum(node["r"] in ("window", "dialog") for node in seen["nodes"])
            if there < len(lines) and time.monotonic() < deadline:
                time.sleep(_SHORT_S)
            elif readings >= _READINGS or time.monotonic() - began < _SHORT_S:
                break
        self._windows.activate_each(ranks)
        self._calm()

    def _ready(self):
        self.settle(_READY_QUIET_MS, _READY_MS)

    def _connect(self):
        """Connect to the accessibility bus, which trusts its user only."""
        os.seteuid(self._session.uid)
        try:
            session = self._session.environment["DBUS_SESSION_BUS_ADDRESS"]
            flags = Gio.DBusConnectionFlags
            bus = Gio.DBusConnection.new_for_address_sync(
                session, flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION, None, None
            )
            found = bus.call_sync(
                "org.a11y.Bus",
                "/org/a11y/bus",
                "org.a11y.Bus",
                "GetAddress",
                None,
                None,
                Gio.DBusCallFlags.NONE,
                int(1000 * _BUS_S),
                None,
            )
            self._reader = Reader(Bus(found.unpack()[0]), self._size)
            bus.close_sync(None)
        except GLib.Error as error:
            self._session.notes.append(f"no accessibility bus: {error.message}"[:300])
            self._reader = None
        finally:
            os.seteuid(0)

    def _calm(self):
        self.settle(_CALM_QUIET_MS, _CALM_MS)

    # --- requests ---

    def hello(self):
        """Describe the desktop."""
        return {"size": list(self._size), "notes": self._session.notes}, b""

    def act(self, verb, given):
        """Execute an action."""
        error = ""
        try:
            self._actions.do(verb, given)
        except RefusedError as refused:
            error = str(refused)
        return {"error": error, "held": self._actions.held}, b""

    def settle(self, quiet_ms, most_ms):
        """Wait until the screen has not changed for a while; windows that come get the focus."""
        began = time.monotonic()
        frame, since = self.screen.grab(), began
        while True:
            now = time.monotonic()
            if self._windows.focus_new():
                since = now
            if now - since >= quiet_ms / 1000:
                return {"settled": True, "ms": round(1000 * (now - began))}, b""
            if now - began >= most_ms / 1000:
                return {"settled": False, "ms": round(1000 * (now - began))}, b""
            time.sleep(_FRAME_S)
            seen = self.screen.grab()
            if seen != frame:
                frame, since = seen, time.monotonic()

    def look(self, caller):
        """Return the windows, the pointer, and the rows of the screen that are news to a caller."""
        if self._windows.focus_new():
            self._calm()
        caller.frame, top, rows = self.screen.news(caller.frame)
        told = {
            "windows": self._windows.list(),
            "pointer": list(self._pointer.place()),
            "held": self._actions.held,
            "size": list(self._size),
            "stride": self.screen.stride,
            "top": top,
        }
        return told, rows

    def tree(self, nodes, chars, ms):
        """Return the accessibility tree."""
        if self._reader is None:
            self._connect()
        if self._reader is None:
            return {"nodes": [], "cut": "no accessibility bus", "ms": 0}, b""
        hidden = covered(self._windows.list(), self._size)
        return self._reader.read(nodes, chars, ms, hidden), b""

    def box(self, bus, path):
        """Return where an element is now."""
        return {"box": None if self._reader is None else self._reader.box(bus, path)}, b""

    def selected(self, bus, path):
        """Wait until the whole text of an element is selected; tell whether it is."""
        deadline = time.monotonic() + _SELECT_S
        while self._reader is not None and not (done := self._reader.is_selected(bus, path)):
            if time.monotonic() > deadline:
                break
            time.sleep(_FRAME_S)
        return {"selected": self._reader is not None and done}, b""

    def close_windows(self, most_ms):
        """Ask all windows to close, and wait until their processes have ended or ask back."""
        deadline = time.monotonic() + most_ms / 1000
        asked = self._windows.open_processes()
        self._windows.close_all()
        while any(map(_runs, asked)) and time.monotonic() < deadline:
            time.sleep(_FRAME_S)
        return {"left": len(self._windows.open_processes())}, b""

    def clipboard(self):
        """Return the text on the clipboard."""
        return {"text": read_clipboard(self._session.environment)}, b""


class Caller:
    """One connection; only a holder of the token is answered.

    Attributes:
        frame: The screen as it was sent last.
        is_trusted: Whether it has shown the token.
    """

    def __init__(self, link):
        self.link, self.frame, self.is_trusted = link, b"", False
        link.settimeout(_REPLY_S)

    def fileno(self):
        """Return the descriptor, for a selector."""
        return self.link.fileno()

    def answer(self, control, token):
        """Read one request and answer it.

        Raises:
            OSError, ValueError: The connection is to be closed.
        """
        if not self.is_trusted:
            # A stranger gets one look at what has come: waiting for more would hold up the host.
            seen = self.link.recv(len(token), socket.MSG_DONTWAIT)
            if not secrets.compare_digest(seen, token.encode()):
                raise ConnectionError("no token")
            self.is_trusted = True
            return
        request = self._request()
        name = request.pop("op", "")
        if name not in _REQUESTS:
            raise ConnectionError(f"no request {name}")
        given = {"caller": self, **request} if name == "look" else request
        try:
            told, data = getattr(control, name)(**given)
        except Exception as error:  # noqa: BLE001 - the host tells what went wrong
            told, data = {"failed": f"{type(error).__name__}: {error}"[:500]}, b""
        head = json.dumps(told).encode()
        self.link.sendall(struct.pack(">I", len(head)) + head + struct.pack(">I", len(data)))
        self.link.sendall(data)

    def _request(self):
        (size,) = struct.unpack(">I", self._receive(4))
        if size > _MOST_BYTES:
            raise ConnectionError("too large")
        request = json.loads(self._receive(size))
        if not isinstance(request, dict):
            raise ConnectionError("no request")
        return request

    def _receive(self, count):
        data = bytearray()
        while len(data) < count:
            piece = self.link.recv(count - len(data))
            if not piece:
                raise ConnectionError("closed")
            data += piece
        return bytes(data)


def _runs(pid):
    """Whether a process has not ended, nor waits for its parent only."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (OSError, IndexError):
        return False


def _serve(control, listener, token):
    """Answer requests for ever, one at a time."""
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    callers = []
    while True:
        for key, _ in waiting.select():
            leaving = []
            if key.fileobj is listener:
                try:
                    caller = Caller(listener.accept()[0])
                except OSError:
                    continue
                callers.append(caller)
                waiting.register(caller, selectors.EVENT_READ)
                strangers = [one for one in callers if not one.is_trusted]
                leaving = strangers[:-_MOST_STRANGERS]
            elif key.fileobj in callers:
                try:
                    key.fileobj.answer(control, token)
                except (OSError, ValueError):
                    leaving = [key.fileobj]
            for caller in leaving:
                callers.remove(caller)
                waiting.unregister(caller)
                caller.link.close()


def main():
    """Start the session, and serve for ever."""
    token = secrets.token_hex(16)
    control = Control(os.environ.get("DESKTOP_SIZE", "1280x800"))
    listener = socket.create_server(("127.0.0.1", _PORT), backlog=64)
    control.open_session()
    with open(f"{FOLDER}/token", "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write(token)
    os.rename(f"{FOLDER}/token", f"{FOLDER}/ready")
    _serve(control, listener, token)


if __name__ == "__main__":
    sys.exit(main())
