"""Questions to the accessibility bus, many at a time and within a deadline.

An application that does not answer costs nothing but its own part of the tree: the questions of a
round are all sent at once, and what has no answer at the deadline is left out.
"""

import contextlib
import time

from gi.repository import Gio, GLib

_LONGEST_CALL_MS = 60_000
_AT_ONCE = 400


class Bus:
    """A connection to the accessibility bus.

    Args:
        address: Address of the bus.
    """

    def __init__(self, address):
        flags = Gio.DBusConnectionFlags
        self._connection = Gio.DBusConnection.new_for_address_sync(
            address,
            flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION,
            None,
            None,
        )
        self._connection.set_exit_on_close(False)
        self._context = GLib.MainContext.default()

    def ask(self, questions, deadline):
        """Return the answers to questions, in their order; None for what has no answer.

        Args:
            questions: Tuples of a name on the bus, an object's path, an interface, a method and
                its arguments as a GLib.Variant or None.
            deadline: On the clock of `time.monotonic`.
        """
        answers = [None] * len(questions)
        for start in range(0, len(questions), _AT_ONCE):
            if time.monotonic() >= deadline:
                break
            self._round(questions, answers, start, deadline)
        return answers

    def _round(self, questions, answers, start, deadline):
        end = min(len(questions), start + _AT_ONCE)
        left = [end - start]
        stop = Gio.Cancellable()

        def take(connection, result, place):
            with contextlib.suppress(GLib.Error):
                answers[place] = connection.call_finish(result).unpack()
            left[0] -= 1

        for place in range(start, end):
            name, path, interface, method, arguments = questions[place]
            self._connection.call(
                name,
                path,
                interface,
                method,
                arguments,
                None,
                Gio.DBusCallFlags.NO_AUTO_START,
                _LONGEST_CALL_MS,
                stop,
                take,
                place,
            )
        wake = GLib.timeout_add(max(1, int(1000 * (deadline - time.monotonic()))), lambda: True)
        while left[0] and time.monotonic() < deadline:
            self._context.iteration(True)
        if left[0]:
            stop.cancel()
            while left[0]:
                self._context.iteration(True)
        GLib.source_remove(wake)
