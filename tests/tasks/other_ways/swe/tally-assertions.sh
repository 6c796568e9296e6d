#!/bin/bash
set -euo pipefail
cd /srv/tally
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## 0.6.1 (2026-03-03)
+- `check` counts postings by day, and names files and lines as an editor shows them.
+
 ## 0.6.0 (2026-02-20)
 - `include` reads other journals (#31).
 - `register` shows the running balance (#29).
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -35,6 +35,7 @@ Run the tests with `python3 -m pytest`.
 |---|---|
 | `tally/amount.py` | amounts with a commodity, exact decimals |
 | `tally/journal.py` | what a journal consists of |
+| `tally/lines.py` | lines with their places, includes |
 | `tally/reader.py` | text to journal |
 | `tally/book.py` | balances, assertions |
 | `tally/report.py` | tables for people |
diff --git a/pyproject.toml b/pyproject.toml
--- a/pyproject.toml
+++ b/pyproject.toml
@@ -1,6 +1,6 @@
 [project]
 name = "tally"
-version = "0.6.0"
+version = "0.6.1"
 requires-python = ">=3.11"
 
 [tool.pytest.ini_options]
diff --git a/tally/__init__.py b/tally/__init__.py
--- a/tally/__init__.py
+++ b/tally/__init__.py
@@ -1,3 +1,3 @@
 """Plain-text accounting."""
 
-__version__ = "0.6.0"
+__version__ = "0.6.1"
diff --git a/tally/book.py b/tally/book.py
--- a/tally/book.py
+++ b/tally/book.py
@@ -54,7 +54,7 @@ class Book:
 
     def _check_assertions(self):
         running = {}
-        for entry in self.entries:
+        for entry in sorted(self.entries, key=lambda entry: entry.when):
             balance = running.setdefault(entry.account, Balance())
             balance.add(entry.amount)
             if entry.assertion is None:
diff --git a/tally/lines.py b/tally/lines.py
new file mode 100644
--- /dev/null
+++ b/tally/lines.py
@@ -0,0 +1,28 @@
+"""The lines of a journal and of what it includes, each with its place."""
+
+from pathlib import Path
+
+from tally.errors import JournalError
+from tally.journal import Place
+
+
+def lines_of(path, cause=None, above=()):
+    """Yield places and lines; an include is an empty line before and after the other file."""
+    path = Path(path)
+    try:
+        lines = path.read_text(encoding="utf-8").splitlines()
+    except OSError as error:
+        raise JournalError(cause or Place(str(path), 0), f"{path.name}: {error.strerror}") from None
+    above = (*above, path.resolve())
+    for number, line in enumerate(lines, 1):
+        place = Place(str(path), number)
+        word, _, rest = line.partition(" ")
+        if word != "include":
+            yield place, line
+            continue
+        other = (path.parent / rest.strip()).resolve()
+        if other in above:
+            raise JournalError(place, f"{rest.strip()} includes itself")
+        yield place, ""
+        yield from lines_of(other, place, above)
+        yield place, ""
diff --git a/tally/reader.py b/tally/reader.py
--- a/tally/reader.py
+++ b/tally/reader.py
@@ -2,11 +2,11 @@
 
 import re
 from datetime import date
-from pathlib import Path
 
 from tally.amount import Amount
 from tally.errors import JournalError
-from tally.journal import Journal, Place, Posting, Transaction
+from tally.journal import Journal, Posting, Transaction
+from tally.lines import lines_of
 
 _HEAD = re.compile(r"(\d{4}-\d{2}-\d{2})\s+(.*)$")
 _POSTING = re.compile(r"\s+(\S+)(?:\s{2,}(.*))?$")
@@ -17,42 +17,20 @@ def read_journal(path):
 
     Raises JournalError at the first problem.
     """
-    return Journal(_Reader(Path(path)).read())
+    return Journal(_Reader().read(path))
 
 
 class _Reader:
-    def __init__(self, path, above=()):
-        self.path = path
-        self.above = (*above, path.resolve())
+    def __init__(self):
         self.transactions = []
         self.current = None
 
-    def read(self):
-        for number, line in enumerate(self._lines(), 1):
-            self._line(Place(str(self.path), number), line.split(";")[0].rstrip())
+    def read(self, path):
+        for place, line in lines_of(path):
+            self._line(place, line.split(";")[0].rstrip())
         self._finish()
         return self.transactions
 
-    def _lines(self):
-        try:
-            return self._expand(self.path.read_text(encoding="utf-8").splitlines())
-        except OSError as error:
-            raise JournalError(Place(str(self.path), 0), error.strerror) from None
-
-    def _expand(self, lines):
-        """Replace each include by the lines of the file."""
-        for line in lines:
-            word, _, rest = line.partition(" ")
-            if word != "include":
-                yield line
-                continue
-            path = (self.path.parent / rest.strip()).resolve()
-            if path in self.above:
-                raise JournalError(Place(str(self.path), 0), f"{rest.strip()} includes itself")
-            yield ""
-            yield from _Reader(path, self.above)._lines()
-            yield ""
-
     def _line(self, place, line):
         if not line.strip():
             self._finish()
PATCH
