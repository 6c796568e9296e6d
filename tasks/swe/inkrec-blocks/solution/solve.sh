#!/bin/bash
cd /srv/inkrec
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index 57f014c..3241fcc 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- Version 2: records are compressed in blocks with `Writer(compress=True)` (#27).
+
 ## 0.5.0 (2026-01-30)
 - `recover` (#22).
 
diff --git a/README.md b/README.md
index 2cbab66..e29a9e8 100644
--- a/README.md
+++ b/README.md
@@ -30,6 +30,10 @@ A file begins with `INK` and one byte, the version. Version 1 goes on with recor
 Kinds from 128 on are the format's own. A reader that meets one it does not know raises `FormatError`: it must not skip
 what it cannot understand.
 
+Version 2 has blocks as well: records of kind 128 whose data is a varint, the size of the content, and the content
+compressed with zlib. The content is records, without blocks among them. All records of a block have its offset.
+`Writer(path, compress=True)` makes a file of version 2 and writes a block at each flush if that is shorter.
+
 `python3 -m inkrec dump FILE` prints the records, `python3 -m inkrec verify FILE` the number of records, or where the
 file is damaged (exit code 1). `python3 -m pytest` runs the tests.
 
diff --git b/inkrec/block.py b/inkrec/block.py
new file mode 100644
index 0000000..63f36e1
--- /dev/null
+++ b/inkrec/block.py
@@ -0,0 +1,38 @@
+"""Blocks: several records, compressed together (version 2)."""
+
+import io
+import zlib
+
+from inkrec import record, varint
+
+KIND = 128
+
+
+def encode(records: list[bytes]) -> bytes:
+    """Return encoded records as one block; as they are if that is shorter."""
+    plain = b"".join(records)
+    made = record.encode(KIND, varint.encode(len(plain)) + zlib.compress(plain))
+    return made if len(made) < len(plain) else plain
+
+
+def decode(data: bytes) -> list[tuple[int, bytes]]:
+    """Return kind and data of each record of a block.
+
+    Raises:
+        varint.TornError: The block is damaged, or has not the size that it states.
+    """
+    file = io.BytesIO(data)
+    size = varint.read(file)
+    if size is None or size > record.MOST_BYTES:
+        raise varint.TornError(f"a block of {size} bytes")
+    unpacker = zlib.decompressobj()
+    try:
+        plain = unpacker.decompress(file.read(), size + 1)
+    except zlib.error as error:
+        raise varint.TornError(f"a block cannot be unpacked: {error}") from None
+    if len(plain) != size or not unpacker.eof or unpacker.unused_data:
+        raise varint.TornError("a block has another size than it states")
+    inner, found = io.BytesIO(plain), []
+    while (one := record.read(inner)) is not None:
+        found.append(one)
+    return found
diff --git a/inkrec/header.py b/inkrec/header.py
index e979455..6bfa996 100644
--- a/inkrec/header.py
+++ b/inkrec/header.py
@@ -5,7 +5,7 @@ from typing import BinaryIO
 from inkrec.errors import FormatError
 
 MAGIC = b"INK"
-VERSION = 1
+VERSIONS = (1, 2)
 SIZE = len(MAGIC) + 1
 
 
@@ -18,6 +18,6 @@ def check_header(file: BinaryIO) -> int:
     header = file.read(SIZE)
     if header[: len(MAGIC)] != MAGIC or len(header) < SIZE:
         raise FormatError("not an inkrec file")
-    if header[-1] != VERSION:
-        raise FormatError(f"version {header[-1]} is not known; this is version {VERSION}")
+    if header[-1] not in VERSIONS:
+        raise FormatError(f"version {header[-1]} is not known; known are {VERSIONS}")
     return header[-1]
diff --git a/inkrec/reader.py b/inkrec/reader.py
index defe489..789d61f 100644
--- a/inkrec/reader.py
+++ b/inkrec/reader.py
@@ -4,7 +4,7 @@ import os
 from collections.abc import Iterator
 from pathlib import Path
 
-from inkrec import record
+from inkrec import block, record
 from inkrec.errors import DamageError, FormatError
 from inkrec.header import check_header
 from inkrec.varint import TornError
@@ -18,16 +18,19 @@ class Reader:
 
     def __iter__(self) -> Iterator[record.Record]:
         with open(self.path, "rb") as file:
-            check_header(file)
+            version = check_header(file)
             while True:
                 offset = file.tell()
                 try:
                     found = record.read(file)
+                    inner = [found]
+                    if found is not None and found[0] == block.KIND and version > 1:
+                        inner = block.decode(found[1])
                 except TornError as error:
                     raise DamageError(offset, str(error)) from None
                 if found is None:
                     return
-                kind, data = found
-                if kind >= record.OWN_KINDS:
-                    raise FormatError(f"byte {offset}: kind {kind} is not known")
-                yield record.Record(offset, kind, data)
+                for kind, data in inner:
+                    if kind >= record.OWN_KINDS:
+                        raise FormatError(f"byte {offset}: kind {kind} is not known")
+                    yield record.Record(offset, kind, data)
diff --git a/inkrec/writer.py b/inkrec/writer.py
index 8cfe328..2e7b80d 100644
--- a/inkrec/writer.py
+++ b/inkrec/writer.py
@@ -3,26 +3,30 @@
 import os
 from pathlib import Path
 
-from inkrec import record
-from inkrec.header import VERSION, check_header, make_header
+from inkrec import block, record
+from inkrec.header import check_header, make_header
 
 
 class Writer:
     """Appends records to a file, which is made if it is not there.
 
-    Records are kept in memory until `flush` or `close`, or until they have `buffer` bytes.
+    Records are kept in memory until `flush` or `close`, or until they have `buffer` bytes. A new
+    file is of version 2 with `compress`; a file that is there keeps its version.
     """
 
-    def __init__(self, path: str | os.PathLike[str], buffer: int = 65536) -> None:
+    def __init__(
+        self, path: str | os.PathLike[str], buffer: int = 65536, *, compress: bool = False
+    ) -> None:
         self.path, self.buffer = Path(path), buffer
         self._waiting: list[bytes] = []
         self._size = 0
         self._file = open(self.path, "ab")
         if self._file.tell() == 0:
-            self._file.write(make_header(VERSION))
+            self._version = 2 if compress else 1
+            self._file.write(make_header(self._version))
         else:
             with open(self.path, "rb") as file:
-                check_header(file)
+                self._version = check_header(file)
 
     def append(self, data: bytes, kind: int = 0) -> None:
         """Add a record of a kind from 0 to 127."""
@@ -31,6 +35,8 @@ class Writer:
         if len(data) > record.MOST_BYTES:
             raise ValueError(f"a record of {len(data)} bytes; at most {record.MOST_BYTES}")
         made = record.encode(kind, data)
+        if self._size and self._size + len(made) > record.MOST_BYTES:
+            self.flush()
         self._waiting.append(made)
         self._size += len(made)
         if self._size >= self.buffer:
@@ -38,7 +44,10 @@ class Writer:
 
     def flush(self) -> None:
         """Write what waits, down to the disk."""
-        self._file.write(b"".join(self._waiting))
+        if self._version == 1 or self._size > record.MOST_BYTES:
+            self._file.write(b"".join(self._waiting))
+        elif self._waiting:
+            self._file.write(block.encode(self._waiting))
         self._waiting, self._size = [], 0
         self._file.flush()
         os.fsync(self._file.fileno())
PATCH
