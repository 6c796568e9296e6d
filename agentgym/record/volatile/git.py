"""Masks times in Git repositories, which affect a commit's id and all ids that depend on it.

Loose objects are read, and their ids are computed again from masked contents; the index is read
without its inode data. Packed objects stay unchanged. See gitformat-index(5) and gitglossary(7).
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Mapping
from typing import Final

from agentgym.record.volatile.masking import Masking

_PATH: Final = re.compile(r"(/objects/)([0-9a-f]{2})/([0-9a-f]{38})(?![^/])")
FAN_OUT: Final = re.compile(r"/objects/[0-9a-f]{2}$")
_ID: Final = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{7,40}(?![0-9a-zA-Z])")
_RAW_ID: Final = 20
_ABBREVIATED: Final = 7
_ENTRY: Final = struct.Struct(">24xI12x20sH")
"""Mode, id and flags of an index entry; times, device, inode, owner and size are skipped."""


class Objects:
    """Loose objects, and their new ids after times in them are masked.

    Attributes:
        bodies: Masked contents of the objects, by path.
        ids: The masked id of each id that depends on a time.
    """

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.ids: dict[str, str] = {}
        self._abbreviated: dict[str, str] = {}

    def rename(self, id: str, masked: str) -> None:
        """Record the masked id of an id."""
        self.ids[id] = masked
        self._abbreviated[id[:_ABBREVIATED]] = id

    def find(self, text: str) -> str:
        """Return the masked id of an id, or of its first 7 or more digits."""
        whole = self._abbreviated.get(text[:_ABBREVIATED], "")
        return self.ids[whole][: len(text)] if whole and whole.startswith(text) else text


def renamed_objects(files: Mapping[str, bytes], masking: Masking, most_bytes: int) -> Objects:
    """Read the loose objects among some files.

    Args:
        files: Contents by path.
        masking: Rules for volatile text.
        most_bytes: Largest number of bytes to unpack; an object beyond keeps its id.
    """
    found, raw, paths = Objects(), dict[str, bytes](), dict[str, str]()
    for path, data in sorted(files.items()):
        if not (match := _PATH.search(path)) or match.end() != len(path):
            continue
        unpacked = _inflated(data, most_bytes)
        most_bytes -= len(unpacked)
        if unpacked and most_bytes > 0:
            raw[id := match[2] + match[3]] = unpacked
            paths[id] = path
    for id in _dependencies_first(raw):
        masked = _masked(raw[id], found, masking)
        found.bodies[paths[id]] = masked
        if masked != raw[id]:
            found.rename(id, hashlib.sha1(masked, usedforsecurity=False).hexdigest())
    return found


def renamed_in(text: str, objects: Objects) -> str:
    """Replace ids that depend on a time, whole and abbreviated, in a text or a path."""
    if not objects.ids:
        return text
    text = _PATH.sub(lambda m: m[1] + objects.find(m[2] + m[3]), text)
    return _ID.sub(lambda match: objects.find(match[0]), text)


def bare_index(data: bytes, objects: Objects) -> bytes | None:
    """Return the entries of an index without stat data; None if the index cannot be read."""
    if data[:4] != b"DIRC" or len(data) < 12:
        return None
    version, count = struct.unpack(">II", data[4:12])
    if version not in (2, 3):
        return None
    parts, at = [], 12
    for _ in range(count):
        if at + _ENTRY.size > len(data):
            return None
        mode, id, flags = _ENTRY.unpack_from(data, at)
        begin = at + _ENTRY.size + (2 if version == 3 and flags & 0x4000 else 0)
        end = data.find(b"\0", begin)
        if end < 0:
            return None
        parts.append(f"{mode:o} {objects.find(id.hex())} {flags} ".encode() + data[begin:end])
        at += (end - at + 8) // 8 * 8
    return b"index:" + b"\n".join(parts)


def _inflated(data: bytes, most_bytes: int) -> bytes:
    reader = zlib.decompressobj()
    try:
        unpacked = reader.decompress(data, max(most_bytes, 1))
    except zlib.error:
        return b""
    return unpacked if reader.eof and re.match(rb"(?:blob|tree|commit|tag) ", unpacked) else b""


def _dependencies_first(raw: Mapping[str, bytes]) -> list[str]:
    """Return ids with dependencies first; hostile files may refer to each other in a circle."""
    done, opened = dict[str, None](), set[str]()
    for first in raw:
        waiting = [first]
        while waiting:
            id = waiting[-1]
            missing = [] if id in opened else [one for one in _named(raw[id]) if one in raw]
            opened.add(id)
            if todo := [one for one in missing if one not in opened]:
                waiting += todo
            else:
                done[waiting.pop()] = None
    return list(done)


def _named(unpacked: bytes) -> list[str]:
    head, _, body = unpacked.partition(b"\0")
    if head.startswith(b"tree"):
        return [id.hex() for _, id in _tree(body)]
    if head.startswith((b"commit", b"tag")):
        return [one.decode() for one in re.findall(rb"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])", body)]
    return []


def _tree(body: bytes) -> list[tuple[bytes, bytes]]:
    """Return the entries of a tree: mode and name, id."""
    entries, at = [], 0
    while (end := body.find(b"\0", at)) >= 0:
        entries.append((body[at:end], body[end + 1 : end + 1 + _RAW_ID]))
        at = end + 1 + _RAW_ID
    return entries


def _masked(unpacked: bytes, objects: Objects, masking: Masking) -> bytes:
    head, _, body = unpacked.partition(b"\0")
    if head.startswith(b"tree"):
        entries = _tree(body)
        renamed = [(name, objects.find(id.hex())) for name, id in entries]
        if all(id.hex() == now for (_, id), (_, now) in zip(entries, renamed, strict=True)):
            return unpacked
        return b"tree\0" + b"\n".join(name + b" " + now.encode() for name, now in renamed)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return unpacked
    masked = masking.file("", renamed_in(text, objects))
    return unpacked if masked == text else head.split()[0] + b"\0" + masked.encode()
