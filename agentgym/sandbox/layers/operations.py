"""Operations on layers by name, for `access.py`, and the child that runs them for it.

An unprivileged user runs them in a child inside a user namespace, where the guest's files may be
read whatever their mode. The child imports this module and nothing outside `agentgym.sandbox` but
the standard library.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import stat
import struct
import sys
from collections.abc import Callable
from typing import Any

from agentgym.sandbox.layers import delta_packing, delta_unpacking
from agentgym.sandbox.layers.changes import changes
from agentgym.sandbox.layers.merging import squash
from agentgym.sandbox.layers.removal import remove
from agentgym.sandbox.layers.size import check_copyable, empty_largest, size
from agentgym.sandbox.layers.stack import OPAQUE, Stack


def op_stat(
    layers: list[str], binds: dict[str, str], path: str, follow: bool, opaque: str = OPAQUE
) -> object:
    """Return the description of a path (see `describe`), or None if it is absent."""
    stack = Stack(layers, binds, opaque)
    found = stack.lookup(path, follow)
    return describe(found[0][0], found[1], stack.first_id()) if found else None


def op_read(
    layers: list[str], binds: dict[str, str], path: str, max_bytes: int, opaque: str = OPAQUE
) -> bytes:
    """Return a regular file's bytes."""
    found = Stack(layers, binds, opaque).lookup(path)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if stat.S_ISDIR(found[1].st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(found[1].st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", path)
    if found[1].st_size > max_bytes:
        raise OSError(errno.EFBIG, f"{found[1].st_size} bytes, over the {max_bytes} allowed", path)
    with open(found[0][0], "rb") as file:
        return file.read(max_bytes + 1)


def op_list(layers: list[str], binds: dict[str, str], path: str, opaque: str = OPAQUE) -> list[str]:
    """Return the sorted names in a directory."""
    return Stack(layers, binds, opaque).names(path)


def op_walk(
    layers: list[str], binds: dict[str, str], path: str, opaque: str = OPAQUE
) -> list[object]:
    """Return [path, stat] of every entry below a directory."""
    stack = Stack(layers, binds, opaque)
    first_id = stack.first_id()
    return [[child, describe(host, info, first_id)] for child, (host, info) in stack.walk(path)]


def describe(host: str, info: os.stat_result, first_id: int) -> list[object]:
    """Return the fields of a FileStat in their order; ids are the guest's."""
    tests = ((stat.S_ISDIR, "dir"), (stat.S_ISLNK, "link"), (stat.S_ISREG, "file"))
    kind = next((name for test, name in tests if test(info.st_mode)), "other")
    target = os.readlink(host) if kind == "link" else ""
    acl = acl_text(host, "system.posix_acl_access", first_id) if kind in ("dir", "file") else ""
    default = acl_text(host, "system.posix_acl_default", first_id) if kind == "dir" else ""
    mode = stat.S_IMODE(info.st_mode)
    return [kind, mode, info.st_size, target, info.st_mtime, acl, default, info.st_ctime]


def acl_text(path: str, attribute: str, first_id: int) -> str:
    """Return an access control list in short form, ``u::rwx,g::r-x,o::---``; empty if absent.

    The attribute's layout is that of the kernel's ``posix_acl_xattr.h``, version 2.
    """
    try:
        value = os.getxattr(path, attribute, follow_symlinks=False)
    except OSError:  # the file has no list, or its file system does not support them
        return ""
    if value[:4] != struct.pack("<I", 2):
        return ""
    entries = struct.iter_unpack("<HHI", value[4 : 4 + (len(value) - 4) // 8 * 8])
    texts = []
    for tag, may, number in entries:
        # The ids of the host's own folders are not shifted.
        guest = number - first_id if number >= first_id else number
        name = guest if tag in _ACL_NAMED else ""
        texts.append(f"{_ACL_TAGS.get(tag, '?')}:{name}:{_rights(may)}")
    return ",".join(texts)


def _rights(may: int) -> str:
    return "".join(sign if may & bit else "-" for sign, bit in (("r", 4), ("w", 2), ("x", 1)))


_ACL_TAGS = {0x01: "u", 0x02: "u", 0x04: "g", 0x08: "g", 0x10: "m", 0x20: "o"}
_ACL_NAMED = (0x02, 0x08)

OPERATIONS: dict[str, Callable[..., Any]] = {
    "stat": op_stat,
    "read": op_read,
    "list": op_list,
    "walk": op_walk,
    "changes": changes,
    "squash": squash,
    "size": size,
    "check_copyable": check_copyable,
    "empty": empty_largest,
    "remove": remove,
    "pack": delta_packing.pack,
    "unpack": delta_unpacking.unpack,
}


def serve() -> None:
    """Answer one JSON request a line on standard input until it closes."""
    for line in sys.stdin:
        request = json.loads(line)
        try:
            value = OPERATIONS[request["op"]](*request["arguments"])
            if isinstance(value, bytes):
                value = {"base64": base64.b64encode(value).decode()}
            reply: dict[str, object] = {"value": value}
        except OSError as error:
            reply = {"errno": error.errno, "message": error.strerror, "path": error.filename}
        print(json.dumps(reply), flush=True)
