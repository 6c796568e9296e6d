"""Finds calls on an event loop's thread that wait for files, processes or time, or compress."""

import sys
from contextlib import contextmanager

FILES = (
    "open mkdir rmdir rename replace remove unlink link symlink scandir listdir chmod chown lchown "
    "utime truncate fsync mkfifo read write fork posix_spawn waitpid"
)
BLOCKING = {
    "posix": set(FILES.split()),
    "io": {"open"},
    "_io": {"open"},
    "time": {"sleep"},
    "fcntl": {"lockf"},
    "zlib": {"compress", "decompress"},
    "_posixsubprocess": {"fork_exec"},
    "_socket": {"getaddrinfo", "gethostbyname"},
}
TYPES = {"Connection", "Cursor", "ImagingEncoder", "ImagingDecoder", "Compress", "Decompress"}
"""Types written in C, of sqlite3, Pillow and zlib, each of whose methods may take its time."""


@contextmanager
def watched(*ours):
    """Yield a list; it gets a line for every such call of this thread from these folders.

    Imports are left out: a module is imported once.
    """
    found = []

    def look(frame, event, called):
        if event != "c_call":
            return
        owner = type(getattr(called, "__self__", None))
        name = getattr(called, "__name__", "")
        named = name in BLOCKING.get(getattr(called, "__module__", None) or "", ())
        method = owner.__name__ in TYPES and owner.__module__.split(".")[0] != "multiprocessing"
        if not (named or method) or name in ("fileno", "close"):
            return
        places = []
        while frame is not None:
            path = frame.f_code.co_filename
            if path.startswith("<frozen importlib"):
                return
            if path.startswith(ours):
                places.append(f"{path}:{frame.f_lineno} {frame.f_code.co_name}")
            frame = frame.f_back
        if places:
            found.append(f"{owner.__name__}.{name}: {' < '.join(places[:4])}")

    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)
