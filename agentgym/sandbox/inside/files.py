"""Operations on the guest's files, which the host asks for."""

from __future__ import annotations

import errno
import os
import stat

from agentgym.sandbox.inside.messages import OpError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentgym.sandbox.inside.messages import Header, Operation, Request, Result


def file_op(action: Operation) -> Operation:
    """Turn an OSError of a file operation into an OpError that names the path."""

    def wrapped(request: Request, body: bytes) -> Result:
        try:
            return action(request, body)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            raise OpError(
                "limit" if full else "file", "{}: {}".format(request["path"], error.strerror)
            ) from None

    return wrapped


@file_op
def op_stat(request: Request, body: bytes) -> Result:
    path = request["path"]
    info = os.stat(path) if request.get("follow", True) else os.lstat(path)
    return entry(path, info), b""


def entry(path: str, info: os.stat_result) -> Header:
    mode = info.st_mode
    kinds = ((stat.S_ISDIR, "dir"), (stat.S_ISLNK, "link"), (stat.S_ISREG, "file"))
    kind = next((name for test, name in kinds if test(mode)), "other")
    target = os.readlink(path) if kind == "link" else ""
    return {"kind": kind, "mode": stat.S_IMODE(mode), "size": info.st_size, "target": target}


@file_op
def op_list(request: Request, body: bytes) -> Result:
    names = sorted(os.listdir(request["path"]))
    base = request["path"].rstrip("/")
    entries = {}
    for name in names:
        path = base + "/" + name
        try:
            entries[name] = entry(path, os.lstat(path))
        except OSError:
            # The entry was removed or replaced after the listing.
            continue
    return {"entries": entries}, b""


@file_op
def op_read(request: Request, body: bytes) -> Result:
    # O_NONBLOCK, because opening a FIFO must not wait for its other end.
    fd = os.open(request["path"], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            kind = "a directory" if stat.S_ISDIR(info.st_mode) else "not a regular file"
            raise OpError("file", "{}: is {}".format(request["path"], kind))
        return {"size": info.st_size}, os.pread(fd, request["limit"], request["offset"])
    finally:
        os.close(fd)


@file_op
def op_write(request: Request, body: bytes) -> Result:
    path = request["path"]
    if request["offset"] == 0:
        make_parents(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(path, flags | (os.O_TRUNC if request["offset"] == 0 else 0), 0o644)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OpError("file", f"{path}: is not a regular file")
        view = memoryview(body)
        position = request["offset"]
        while view:
            done = os.pwrite(fd, view, position)
            view, position = view[done:], position + done
        if request.get("mode") is not None:
            os.fchmod(fd, request["mode"])
    finally:
        os.close(fd)
    return {}, b""


@file_op
def op_make(request: Request, body: bytes) -> Result:
    """Make a directory (an existing one stays) or a symbolic link (replaces an existing one)."""
    path = request["path"]
    if request["kind"] == "dir":
        make_folders(path)
        if request.get("mode") is not None:
            os.chmod(path, request["mode"])
    else:
        make_parents(path)
        if os.path.islink(path):
            os.unlink(path)
        os.symlink(request["target"], path)
    return {}, b""


def make_parents(path: str) -> None:
    try:
        make_folders(os.path.dirname(path) or "/")
    except FileExistsError:
        # A file is in the way; a later open of the path reports the error.
        pass


def make_folders(path: str) -> None:
    """Make a folder and its parents. os.makedirs would recurse, and a path may be deep."""
    missing = []
    while not os.path.isdir(path):
        try:
            os.mkdir(path)
            break
        except FileNotFoundError:
            above = os.path.dirname(path.rstrip("/"))
            if above == path or not above:
                raise
            missing.append(path)
            path = above
    for folder in reversed(missing):
        try:
            os.mkdir(folder)
        except FileExistsError:
            # The guest made it meanwhile; if it is a file, the next mkdir fails.
            pass
