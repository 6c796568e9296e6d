"""Masks files whose formats contain clock times: archives, Python's caches, Git's index.

The times in these formats are left out, like the times of files on disk; everything else is kept.
Methods: the POSIX tar format (ustar, pax), APPNOTE 6.3 for ZIP, RFC 1952 for gzip, PEP 552 for
``.pyc``.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from typing import Final

from agentgym.record.volatile.git import FAN_OUT, bare_index, renamed_in, renamed_objects
from agentgym.record.volatile.masking import Masking

UNPACKED_BYTES: Final = 4 << 20
"""Largest number of bytes that are unpacked in all files together. Further archives are compared in
packed form."""

_BLOCK: Final = 512
_MOST_MEMBERS: Final = 2000
_PAX_TIME: Final = re.compile(rb"\d{1,9} [acm]time=[^\n]{0,100}\n")


class Contents:
    """The contents of an episode's files, with times masked.

    Args:
        files: The unmasked files by path.
        masking: Rules for volatile text.
    """

    def __init__(self, files: Mapping[str, bytes], masking: Masking) -> None:
        self._masking, self._left = masking, UNPACKED_BYTES
        self._objects = renamed_objects(files, masking, UNPACKED_BYTES)

    def path(self, path: str) -> str:
        """Return a path, in which all parts that depend on a time are masked."""
        return renamed_in(self._masking.path(path), self._objects)

    def is_volatile(self, path: str) -> bool:
        """Return whether a folder of this name exists only because of the ids in it."""
        return bool(self._objects.bodies) and FAN_OUT.search(path) is not None

    def masked(self, path: str, data: bytes) -> bytes:
        """Return the content of a file, in which all parts that depend on a time are masked."""
        if (found := self._objects.bodies.get(path)) is not None:
            return found
        return self._masked(path, data, nested=False)

    def _masked(self, path: str, data: bytes, *, nested: bool) -> bytes:
        if (found := bare_index(data, self._objects)) is not None:
            return found
        if path.endswith(".pyc") and data[4:8] == bytes(4):
            return data[:8] + bytes(4) + data[12:]
        if data[257:262] == b"ustar":
            return self._tar(data)
        if data[:4] == b"PK\x03\x04":
            return _zip(data)
        if data[:2] == b"\x1f\x8b" and not nested:
            return self._gzip(path, data)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return data
        return renamed_in(self._masking.file(path, text), self._objects).encode()

    def _gzip(self, path: str, data: bytes) -> bytes:
        reader = zlib.decompressobj(31)
        packed = data[:4] + bytes(4) + data[8:]  # without the time in the header
        try:
            inner = reader.decompress(data, self._left or 1)
        except zlib.error:
            return packed
        self._left = max(0, self._left - len(inner))
        if not reader.eof or reader.unused_data:
            return packed
        return b"gzip:" + self._masked(path.removesuffix(".gz"), inner, nested=True)

    def _tar(self, data: bytes) -> bytes:
        """Return the members of an archive without their times and checksums."""
        parts, at = list[bytes](), 0
        while at + _BLOCK <= len(data) and len(parts) < _MOST_MEMBERS:
            header = data[at : at + _BLOCK]
            if not any(header):
                break
            digits = header[124:136].strip(b" \0")
            if not re.fullmatch(rb"[0-7]{1,11}", digits):
                return data
            begin, size = at + _BLOCK, int(digits, 8)
            content = data[begin : begin + size]
            if header[156:157] in b"xg":
                content = _PAX_TIME.sub(b"", content)
                header = header[:124] + header[136:]  # without the size, which includes the times
            else:
                content = self._member(content)
            parts.append(header[:136] + header[156:] + content)
            at = begin + -(-size // _BLOCK) * _BLOCK
        else:
            return data
        return b"tar:" + b"\n".join(parts)

    def _member(self, content: bytes) -> bytes:
        if len(content) > self._left:
            return content
        self._left -= len(content)
        try:
            return self._masking.file("", content.decode()).encode()
        except UnicodeDecodeError:
            return content


def _zip(data: bytes) -> bytes:
    """Return the directory of an archive, without its times."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except Exception:  # noqa: BLE001 - a hostile archive makes the reader raise anything
        return data
    if len(members) > _MOST_MEMBERS:
        return data
    return b"zip:" + b"\n".join(
        repr((one.filename, one.external_attr, one.compress_type, one.file_size, one.CRC)).encode()
        for one in members
    )
