"""Runs in the guest: lists, activates and closes windows, as EWMH 1.5 describes them.

It prints JSON. ``list``; ``activate NAME STRICT BY_CLASS``; ``close NAME STRICT BY_CLASS``;
``size``; ``quiet SECONDS MOST_SECONDS`` waits until the screen does not change.
"""

import json
import sys
import time
import zlib
from typing import Any

from Xlib import X, error, protocol
from Xlib import display as displays

_POLL_S = 0.05


class Screen:
    """The windows of a display."""

    def __init__(self) -> None:
        self._display = displays.Display()
        self._root = self._display.screen().root

    def windows(self) -> list[dict[str, Any]]:
        """Return the windows, those opened first at the front."""
        found = []
        for number in self._values(self._root, "_NET_CLIENT_LIST"):
            window = self._display.create_resource_object("window", number)
            try:
                shape = window.get_geometry()
                classes = window.get_wm_class() or ("", "")
                title = self._text(window)
            except error.XError:
                continue
            found.append(
                {
                    "id": number,
                    "title": title[:500],
                    "class": ".".join(classes)[:200],
                    "width": shape.width,
                    "height": shape.height,
                }
            )
        return found

    def _values(self, window: Any, name: str) -> Any:
        seen = window.get_full_property(self._display.intern_atom(name), X.AnyPropertyType)
        return () if seen is None or seen.format != 32 else seen.value

    def _text(self, window: Any) -> str:
        atom = self._display.intern_atom("_NET_WM_NAME")
        seen = window.get_full_property(atom, X.AnyPropertyType)
        if seen is None or seen.format != 8:
            return str(window.get_wm_name() or "")
        return bytes(seen.value).decode("utf-8", "replace")

    def tell(self, name: str, wanted: str, strict: bool, by_class: bool) -> dict[str, bool]:
        """Send a message about the first window of a name to the window manager."""
        for window in self.windows():
            seen = window["class" if by_class else "title"]
            if seen == wanted or (not strict and wanted.lower() in seen.lower()):
                atom = self._display.intern_atom(name)
                data = (32, [2, X.CurrentTime, 0, 0, 0])
                if name == "_NET_CLOSE_WINDOW":
                    data = (32, [X.CurrentTime, 2, 0, 0, 0])
                event = protocol.event.ClientMessage(
                    window=window["id"], client_type=atom, data=data
                )
                mask = X.SubstructureRedirectMask | X.SubstructureNotifyMask
                self._root.send_event(event, event_mask=mask)
                self._display.sync()
                return {"found": True}
        return {"found": False}

    def size(self) -> dict[str, int]:
        """Return width and height of the screen."""
        screen = self._display.screen()
        return {"width": screen.width_in_pixels, "height": screen.height_in_pixels}

    def quiet(self, seconds: float, most: float) -> dict[str, bool]:
        """Wait until the screen has not changed for a while; return whether it has not."""
        shape = self.size()
        deadline = time.monotonic() + most
        seen, since = None, time.monotonic()
        while time.monotonic() < deadline:
            picture = self._root.get_image(
                0, 0, shape["width"], shape["height"], X.ZPixmap, 0xFFFFFFFF
            )
            now = zlib.crc32(picture.data)
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since >= seconds:
                return {"quiet": True}
            time.sleep(_POLL_S)
        return {"quiet": False}


def main(arguments: list[str]) -> None:
    """Answer one request."""
    screen = Screen()
    verb, rest = arguments[0], arguments[1:]
    told: Any
    if verb == "list":
        told = screen.windows()
    elif verb == "size":
        told = screen.size()
    elif verb == "quiet":
        told = screen.quiet(float(rest[0]), float(rest[1]))
    else:
        name = {"activate": "_NET_ACTIVE_WINDOW", "close": "_NET_CLOSE_WINDOW"}[verb]
        told = screen.tell(name, rest[0], rest[1] == "1", rest[2] == "1")
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1:])
