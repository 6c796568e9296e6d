#!/bin/bash
set -euo pipefail
cd /srv/quay
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,9 @@
 # Changelog
 
+## 0.7.1 (2026-03-10)
+- Ported to fieldkit 2.0.0 (#46).
+
+
 ## 0.7.0 (2026-02-16)
 - `bill` (#40).
 
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -29,6 +29,7 @@ A boat without `until` stays. A note (`note: …`) and any other field that we d
 | module | holds |
 |---|---|
 | `quay/book.py` | reading and writing the file |
+| `quay/texts.py` | records of texts over fieldkit |
 | `quay/stay.py` | one stay: days, lengths |
 | `quay/queries.py` | who lies where, what is free |
 | `quay/update.py` | adding records |
diff --git a/quay/book.py b/quay/book.py
--- a/quay/book.py
+++ b/quay/book.py
@@ -4,21 +4,25 @@ from pathlib import Path
 
 import fieldkit
 
+from quay.texts import parse
+
 
 def read_book(path):
     """Return the records of a file."""
     text = Path(path).read_text(encoding="utf-8")
-    return [fieldkit.parse(block) for block in text.split("\n\n") if block.strip()]
+    blocks = text.split("\n\n")
+    starts = [1]
+    for block in blocks:
+        starts.append(starts[-1] + block.count("\n") + 2)
+    return [parse(block, first) for block, first in zip(blocks, starts) if block.strip()]
 
 
 def write_book(path, records):
     """Write the records to a file."""
     with open(path, "w", encoding="utf-8") as file:
-        fieldkit.dump(records, file)
+        fieldkit.write(file, [stay.record for stay in records])
 
 
 def listed(records):
     """Return the records by day of arrival, then as in the file."""
-    records = list(records)
-    fieldkit.sort(records, "from")
-    return records
+    return sorted(records, key=lambda stay: stay["from"])
diff --git a/quay/check.py b/quay/check.py
--- a/quay/check.py
+++ b/quay/check.py
@@ -1,5 +1,7 @@
 """Problems of a file."""
 
+from fieldkit import FieldError
+
 from quay.book import read_book
 from quay.stay import begins, ends
 
@@ -26,7 +28,7 @@ def _days(path, record):
         end = ends(record)
         if end is not None and end <= begins(record):
             return [f"{path}: {record['boat']} leaves before it comes"]
-    except KeyError:
+    except FieldError:
         return []
     except ValueError as error:
         return [f"{path}: {error}"]
diff --git a/quay/texts.py b/quay/texts.py
new file mode 100644
--- /dev/null
+++ b/quay/texts.py
@@ -0,0 +1,40 @@
+"""Records of texts over fieldkit: quay prints and writes what people typed, whatever it looks like."""
+
+import fieldkit
+
+
+class Stay:
+    """A record whose values are texts."""
+
+    def __init__(self, record):
+        self.record = record
+
+    @property
+    def fields(self):
+        return [(field.name, field.raw) for field in self.record.fields]
+
+    def get(self, name, default=None):
+        field = self.record.get(name)
+        return default if field is None else field.raw
+
+    def __getitem__(self, name):
+        return self.record[name].raw
+
+    def updated(self, newer):
+        """Return this record with the fields of a newer one."""
+        return Stay(fieldkit.merge(self.record, newer.record))
+
+
+class BookError(ValueError):
+    """A line of a file is no field."""
+
+    def __init__(self, error):
+        super().__init__(str(error))
+        self.line = error.position.line
+
+
+def parse(text, first):
+    try:
+        return Stay(fieldkit.Record.from_text(text, first=first))
+    except fieldkit.FieldError as error:
+        raise BookError(error) from None
diff --git a/quay/update.py b/quay/update.py
--- a/quay/update.py
+++ b/quay/update.py
@@ -1,7 +1,5 @@
 """Adding records."""
 
-import fieldkit
-
 
 def add(records, new):
     """Return the records with new ones: the record of a boat is replaced field by field."""
@@ -11,5 +9,5 @@ def add(records, new):
         if at is None:
             records.append(record)
         else:
-            records[at] = fieldkit.merge(record, records[at])
+            records[at] = records[at].updated(record)
     return records
diff --git a/tests/test_port.py b/tests/test_port.py
new file mode 100644
--- /dev/null
+++ b/tests/test_port.py
@@ -0,0 +1,7 @@
+from quay.cli import main
+
+
+def test_numbers_stay(tmp_path, capsys):
+    (tmp_path / 'b').write_text('berth: 007\nboat: 1984\nfrom: 2026-03-01\nuntil:\n')
+    assert main(['list', str(tmp_path / 'b')]) == 0
+    assert capsys.readouterr().out == '007  1984         2026-03-01\n'
PATCH
git add -A
git -c user.name=x -c user.email=x@x commit -qm 'Port to fieldkit 2'
