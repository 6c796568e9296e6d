#!/bin/bash
cd /srv/tally
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index f8e8d47..6d4b21a 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,9 @@
 # Changelog
 
+## Unreleased
+- Balance assertions are checked by date, whatever file they stand in (#34).
+- Problems in and after an include name the right file and line (#34).
+
 ## 0.6.0 (2026-02-20)
 - `include` reads other journals (#31).
 - `register` shows the running balance (#29).
diff --git a/tally/book.py b/tally/book.py
index d30f47d..6817c41 100644
--- a/tally/book.py
+++ b/tally/book.py
@@ -31,8 +31,8 @@ class Book:
                 self.entries += _complete(transaction)
             except JournalError as error:
                 self.problems.append(error)
-        self._check_assertions()
         self.entries.sort(key=lambda entry: entry.when)
+        self._check_assertions()
 
     def balances(self, until=None):
         """Return the balance of each account, without its sub-accounts."""
diff --git a/tally/reader.py b/tally/reader.py
index e29570a..f1c4a42 100644
--- a/tally/reader.py
+++ b/tally/reader.py
@@ -35,23 +35,17 @@ class _Reader:
 
     def _lines(self):
         try:
-            return self._expand(self.path.read_text(encoding="utf-8").splitlines())
+            return self.path.read_text(encoding="utf-8").splitlines()
         except OSError as error:
             raise JournalError(Place(str(self.path), 0), error.strerror) from None
 
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
+    def _include(self, place, name):
+        path = self.path.parent / name
+        if path.resolve() in self.above:
+            raise JournalError(place, f"{name} includes itself")
+        if not path.is_file():
+            raise JournalError(place, f"{name}: no such file")
+        self.transactions += _Reader(path, self.above).read()
 
     def _line(self, place, line):
         if not line.strip():
@@ -60,7 +54,11 @@ class _Reader:
             self._posting(place, line)
         else:
             self._finish()
-            self._head(place, line)
+            word, _, rest = line.partition(" ")
+            if word == "include":
+                self._include(place, rest.strip())
+            else:
+                self._head(place, line)
 
     def _head(self, place, line):
         found = _HEAD.match(line)
PATCH
