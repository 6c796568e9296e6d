"""Changes the time and the order of directories for the Python programs of a setup.

A check runs a setup with this module to see whether its result depends on either.
AGENTGYM_SHIFT_S is the number of seconds that the clock is ahead. AGENTGYM_ORDER is the order in
which directories are listed: `forwards`, `backwards` or `by-ending`.
"""

from __future__ import annotations

import datetime
import os
import time
from datetime import date as _date
from datetime import datetime as _datetime
from typing import Any

_SHIFT_S = int(os.environ.get("AGENTGYM_SHIFT_S", "0"))
_ORDER = os.environ.get("AGENTGYM_ORDER", "forwards")


def _ordered(names: list[Any], key: Any = lambda name: name) -> list[Any]:
    if _ORDER == "by-ending":
        return sorted(names, key=lambda each: key(each)[::-1])
    return sorted(names, key=key, reverse=_ORDER == "backwards")


class _Entries:
    """The result of `os.scandir`: an iterator that is a context manager and can be closed."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> _Entries:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> _Entries:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def _shift_order() -> None:
    listdir, scandir = os.listdir, os.scandir

    def listed(path: Any = ".") -> list[Any]:
        return _ordered(listdir(path))

    def scanned(path: Any = ".") -> _Entries:
        with scandir(path) as entries:
            return _Entries(_ordered(list(entries), lambda entry: entry.name))

    changed: Any = os
    changed.listdir, changed.scandir = listed, scanned


def _shift_clock() -> None:
    clock, clock_ns = time.time, time.time_ns
    localtime, gmtime, strftime = time.localtime, time.gmtime, time.strftime
    ctime, asctime = time.ctime, time.asctime

    def now() -> float:
        return clock() + _SHIFT_S

    changed: Any = time
    changed.time = now
    changed.time_ns = lambda: clock_ns() + _SHIFT_S * 10**9
    changed.localtime = lambda s=None: localtime(now() if s is None else s)
    changed.gmtime = lambda s=None: gmtime(now() if s is None else s)
    changed.ctime = lambda s=None: ctime(now() if s is None else s)
    changed.strftime = lambda f, t=None: strftime(f, localtime(now()) if t is None else t)
    changed.asctime = lambda t=None: asctime(localtime(now()) if t is None else t)


class _DateKind(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _date)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, _date)


class _DatetimeKind(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _datetime)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, _datetime)


class _ShiftedDate(_date, metaclass=_DateKind):
    @classmethod
    def today(cls) -> Any:
        return cls.fromtimestamp(time.time())


class _ShiftedDatetime(_datetime, metaclass=_DatetimeKind):
    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def today(cls) -> Any:
        return cls.fromtimestamp(time.time())

    @classmethod
    def utcnow(cls) -> Any:
        return cls.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)


def _shift_dates() -> None:
    changed: Any = datetime
    for kind, name in ((_ShiftedDate, "date"), (_ShiftedDatetime, "datetime")):
        kind.__module__, kind.__name__, kind.__qualname__ = "datetime", name, name
        setattr(changed, name, kind)


_shift_order()
if _SHIFT_S:
    _shift_clock()
    _shift_dates()
