#!/bin/bash
set -euo pipefail
cd /srv/inkrec
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## 0.6.0 (2026-03-02)
+- Version 2: blocks (#25).
+
 ## 0.5.0 (2026-01-30)
 - `recover` (#22).
 
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -18,7 +18,7 @@ recover("events.ink")       # cuts a torn end off and returns how many bytes tha
 
 ## The format
 
-A file begins with `INK` and one byte, the version. Version 1 goes on with records:
+A file begins with `INK` and one byte, the version. Versions 1 and 2 go on with records:
 
 | bytes | content |
 |---|---|
@@ -27,7 +27,14 @@ A file begins with `INK` and one byte, the version. Version 1 goes on with recor
 | length | data |
 | 4 | CRC-32 of kind and data, big endian |
 
-Kinds from 128 on are the format's own. A reader that meets one it does not know raises `FormatError`: it must not skip
+Kinds from 128 on are the format's own. In version 2, kind 128 is a block:
+
+| bytes | data of a block |
+|---|---|
+| 1..5 | size of the content, a varint |
+| the rest | content, compressed with zlib: whole records, but no blocks |
+
+New files have version 2 with `Writer(path, compress=True)`. A damaged block is lost as a whole. A reader that meets one it does not know raises `FormatError`: it must not skip
 what it cannot understand.
 
 `python3 -m inkrec dump FILE` prints the records, `python3 -m inkrec verify FILE` the number of records, or where the
diff --git a/inkrec/header.py b/inkrec/header.py
--- a/inkrec/header.py
+++ b/inkrec/header.py
@@ -6,6 +6,7 @@ from inkrec.errors import FormatError
 
 MAGIC = b"INK"
 VERSION = 1
+BLOCKS = 2
 SIZE = len(MAGIC) + 1
 
 
@@ -18,6 +19,6 @@ def check_header(file: BinaryIO) -> int:
     header = file.read(SIZE)
     if header[: len(MAGIC)] != MAGIC or len(header) < SIZE:
         raise FormatError("not an inkrec file")
-    if header[-1] != VERSION:
-        raise FormatError(f"version {header[-1]} is not known; this is version {VERSION}")
+    if header[-1] not in (VERSION, BLOCKS):
+        raise FormatError(f"version {header[-1]} is not known; this knows {VERSION} and {BLOCKS}")
     return header[-1]
diff --git a/inkrec/reader.py b/inkrec/reader.py
--- a/inkrec/reader.py
+++ b/inkrec/reader.py
@@ -1,8 +1,10 @@
 """Reads files."""
 
+import io
 import os
 from collections.abc import Iterator
 from pathlib import Path
+from typing import BinaryIO
 
 from inkrec import record
 from inkrec.errors import DamageError, FormatError
@@ -18,16 +20,29 @@ class Reader:
 
     def __iter__(self) -> Iterator[record.Record]:
         with open(self.path, "rb") as file:
-            check_header(file)
+            has_blocks = check_header(file) >= 2
             while True:
                 offset = file.tell()
                 try:
-                    found = record.read(file)
+                    found = _next(file, offset, has_blocks)
                 except TornError as error:
                     raise DamageError(offset, str(error)) from None
                 if found is None:
                     return
-                kind, data = found
-                if kind >= record.OWN_KINDS:
-                    raise FormatError(f"byte {offset}: kind {kind} is not known")
-                yield record.Record(offset, kind, data)
+                yield from found
+
+
+def _next(file: BinaryIO, offset: int, has_blocks: bool) -> list[record.Record] | None:
+    """Return the next record, or those of the next block; None at the end."""
+    read = record.read(file)
+    if read is None:
+        return None
+    kind, data = read
+    if kind < record.OWN_KINDS:
+        return [record.Record(offset, kind, data)]
+    if kind != record.BLOCK or not has_blocks:
+        raise FormatError(f"byte {offset}: kind {kind} is not known")
+    content, found = io.BytesIO(record.unpack(data)), []
+    while (one := _next(content, offset, False)) is not None:
+        found += one
+    return found
diff --git a/inkrec/record.py b/inkrec/record.py
--- a/inkrec/record.py
+++ b/inkrec/record.py
@@ -1,5 +1,6 @@
 """One record as bytes."""
 
+import io
 import struct
 import zlib
 from dataclasses import dataclass
@@ -9,6 +10,7 @@ from inkrec import varint
 
 MOST_BYTES = 64 * 2**20
 OWN_KINDS = 128
+BLOCK = 128
 
 
 @dataclass(frozen=True)
@@ -43,3 +45,39 @@ def read(file: BinaryIO) -> tuple[int, bytes] | None:
     if struct.unpack(">I", checksum)[0] != zlib.crc32(body):
         raise varint.TornError("a record has another checksum")
     return body[0], body[1:]
+
+
+def pack(waiting: list[bytes]) -> bytes:
+    """Return what is written for encoded records in a file with blocks."""
+    content = b"".join(waiting)
+    if len(content) > MOST_BYTES and len(waiting) > 1:
+        half = len(waiting) // 2
+        return pack(waiting[:half]) + pack(waiting[half:])
+    if not content or len(content) > MOST_BYTES:
+        return content
+    return min(content, encode(BLOCK, varint.encode(len(content)) + zlib.compress(content, 9)), key=len)
+
+
+def unpack(data: bytes) -> bytes:
+    """Return the content of a block.
+
+    Raises:
+        varint.TornError: The block is damaged.
+    """
+    file = io.BytesIO(data)
+    size = varint.read(file)
+    if size is None or size > MOST_BYTES:
+        raise varint.TornError("a block without a size that is allowed")
+    stream, content, packed = zlib.decompressobj(), bytearray(), file.read()
+    try:
+        while not stream.eof and len(content) <= size:
+            piece = stream.decompress(packed, 65536)
+            packed = stream.unconsumed_tail
+            content += piece
+            if not piece and not packed and not stream.eof:
+                break
+    except zlib.error as error:
+        raise varint.TornError(str(error)) from None
+    if not stream.eof or stream.unused_data or len(content) != size:
+        raise varint.TornError("a block is not what its size says")
+    return bytes(content)
diff --git a/inkrec/writer.py b/inkrec/writer.py
--- a/inkrec/writer.py
+++ b/inkrec/writer.py
@@ -4,7 +4,7 @@ import os
 from pathlib import Path
 
 from inkrec import record
-from inkrec.header import VERSION, check_header, make_header
+from inkrec.header import BLOCKS, VERSION, check_header, make_header
 
 
 class Writer:
@@ -13,16 +13,17 @@ class Writer:
     Records are kept in memory until `flush` or `close`, or until they have `buffer` bytes.
     """
 
-    def __init__(self, path: str | os.PathLike[str], buffer: int = 65536) -> None:
+    def __init__(self, path: str | os.PathLike[str], buffer: int = 65536, compress: bool = False) -> None:
         self.path, self.buffer = Path(path), buffer
         self._waiting: list[bytes] = []
         self._size = 0
         self._file = open(self.path, "ab")
         if self._file.tell() == 0:
-            self._file.write(make_header(VERSION))
+            self._version = BLOCKS if compress else VERSION
+            self._file.write(make_header(self._version))
         else:
             with open(self.path, "rb") as file:
-                check_header(file)
+                self._version = check_header(file)
 
     def append(self, data: bytes, kind: int = 0) -> None:
         """Add a record of a kind from 0 to 127."""
@@ -38,7 +39,10 @@ class Writer:
 
     def flush(self) -> None:
         """Write what waits, down to the disk."""
-        self._file.write(b"".join(self._waiting))
+        if self._version == BLOCKS:
+            self._file.write(record.pack(self._waiting))
+        else:
+            self._file.write(b"".join(self._waiting))
         self._waiting, self._size = [], 0
         self._file.flush()
         os.fsync(self._file.fileno())
PATCH
