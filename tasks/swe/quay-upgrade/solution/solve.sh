#!/bin/bash
cd /srv/quay
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index 888bde3..53b934b 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- fieldkit 2.0.0 (#46).
+
 ## 0.7.0 (2026-02-16)
 - `bill` (#40).
 
diff --git a/quay/bill.py b/quay/bill.py
index 64149e2..7c04157 100644
--- a/quay/bill.py
+++ b/quay/bill.py
@@ -9,10 +9,11 @@ def bill(records, boat):
     """Return lines with the price of each stay of a boat that is over."""
     lines, total = [], 0
     for record in records:
-        if record["boat"] != boat or not record.get("until"):
+        end = ends(record)
+        if record["boat"].raw != boat or end is None:
             continue
-        nights = (ends(record) - begins(record)).days
+        nights = (end - begins(record)).days
         price = nights * length(record) * _RATE
         total += price
-        lines.append(f"{record['berth']}: {nights} nights, {price} EUR")
+        lines.append(f"{record['berth'].raw}: {nights} nights, {price} EUR")
     return [*lines, f"{boat}: {total} EUR"]
diff --git a/quay/book.py b/quay/book.py
index c0f6954..b45b1d0 100644
--- a/quay/book.py
+++ b/quay/book.py
@@ -7,18 +7,15 @@ import fieldkit
 
 def read_book(path):
     """Return the records of a file."""
-    text = Path(path).read_text(encoding="utf-8")
-    return [fieldkit.parse(block) for block in text.split("\n\n") if block.strip()]
+    return fieldkit.read(Path(path).read_text(encoding="utf-8"))
 
 
 def write_book(path, records):
     """Write the records to a file."""
     with open(path, "w", encoding="utf-8") as file:
-        fieldkit.dump(records, file)
+        fieldkit.write(file, records)
 
 
 def listed(records):
     """Return the records by day of arrival, then as in the file."""
-    records = list(records)
-    fieldkit.sort(records, "from")
-    return records
+    return sorted(records, key=lambda record: record["from"].raw)
diff --git a/quay/check.py b/quay/check.py
index 7603abb..e583044 100644
--- a/quay/check.py
+++ b/quay/check.py
@@ -1,5 +1,6 @@
 """Problems of a file."""
 
+from fieldkit import FieldError
 from quay.book import read_book
 from quay.stay import begins, ends
 
@@ -10,11 +11,11 @@ def problems(path):
     """Return a line for each problem."""
     try:
         records = read_book(path)
-    except ValueError as error:
-        return [f"{path}:{error.line}: {error}"]
+    except FieldError as error:
+        return [f"{path}:{error.position.line}: {error}"]
     found = []
     for record in records:
-        names = [name for name, _ in record.fields]
+        names = [field.name for field in record.fields]
         found += [f"{path}: a record without {need}" for need in _NEEDED if need not in names]
         found += [f"{path}: {name} is there twice" for name in sorted(set(names)) if names.count(name) > 1]
         found += _days(path, record)
@@ -25,8 +26,8 @@ def _days(path, record):
     try:
         end = ends(record)
         if end is not None and end <= begins(record):
-            return [f"{path}: {record['boat']} leaves before it comes"]
-    except KeyError:
+            return [f"{path}: {record['boat'].raw} leaves before it comes"]
+    except FieldError:
         return []
     except ValueError as error:
         return [f"{path}: {error}"]
diff --git a/quay/cli.py b/quay/cli.py
index 5104842..8b7c225 100644
--- a/quay/cli.py
+++ b/quay/cli.py
@@ -4,6 +4,7 @@ import argparse
 import sys
 from datetime import date
 
+from fieldkit import FieldError
 from quay.bill import bill
 from quay.book import read_book, write_book
 from quay.check import problems
@@ -23,8 +24,8 @@ def main(argv):
         if given.command == "add":
             write_book(given.file, add(records, read_book(given.new)))
             return 0
-    except ValueError as error:
-        print(f"line {error.line}: {error}", file=sys.stderr)
+    except FieldError as error:
+        print(f"line {error.position.line}: {error}", file=sys.stderr)
         return 1
     if given.command == "list":
         print("\n".join(lines(records)))
diff --git a/quay/queries.py b/quay/queries.py
index 42fac20..08a933d 100644
--- a/quay/queries.py
+++ b/quay/queries.py
@@ -6,19 +6,24 @@ from quay.stay import length, lies_here
 
 def lines(records):
     """Return a line for each stay."""
-    return [f"{r['berth']:<4} {r['boat']:<12} {r['from']} {r.get('until', '')}".rstrip() for r in listed(records)]
+    found = []
+    for record in listed(records):
+        until = record.get("until")
+        days = f"{record['from'].raw} {until.raw if until else ''}"
+        found.append(f"{record['berth'].raw:<4} {record['boat'].raw:<12} {days}".rstrip())
+    return found
 
 
 def on(records, day):
     """Return the stays of a day by berth."""
-    return {record["berth"]: record["boat"] for record in records if lies_here(record, day)}
+    return {r["berth"].raw: r["boat"].raw for r in records if lies_here(r, day)}
 
 
 def free(records, day, metres):
     """Return the berths where a boat fits on a day: as long as the longest that ever lay there."""
     longest = {}
     for record in records:
-        berth = record["berth"]
+        berth = record["berth"].raw
         longest[berth] = max(longest.get(berth, 0), length(record))
     taken = on(records, day)
     return sorted(berth for berth, most in longest.items() if most >= metres and berth not in taken)
diff --git a/quay/stay.py b/quay/stay.py
index b50a541..aece569 100644
--- a/quay/stay.py
+++ b/quay/stay.py
@@ -5,21 +5,28 @@ from datetime import date
 
 def begins(record):
     """Return the day of arrival."""
-    return date.fromisoformat(record["from"])
+    return _day(record["from"])
 
 
 def ends(record):
     """Return the day of departure; None if the boat stays."""
-    text = record.get("until")
-    return date.fromisoformat(text) if text else None
+    field = record.get("until")
+    return _day(field) if field and field.raw else None
 
 
 def length(record):
     """Return the length of the boat in metres; 0 if it is not known."""
-    return int(record.get("length", "0"))
+    field = record.get("length")
+    return int(field.raw) if field else 0
 
 
 def lies_here(record, day):
     """Return whether the boat lies here in the night that follows a day."""
     end = ends(record)
     return begins(record) <= day and (end is None or day < end)
+
+
+def _day(field):
+    if not isinstance(field.value, date):
+        raise ValueError(f"{field.raw!r} is not a day")
+    return field.value
diff --git a/quay/update.py b/quay/update.py
index 4c3e62a..97b82f7 100644
--- a/quay/update.py
+++ b/quay/update.py
@@ -7,9 +7,10 @@ def add(records, new):
     """Return the records with new ones: the record of a boat is replaced field by field."""
     records = list(records)
     for record in new:
-        at = next((k for k, old in enumerate(records) if old["boat"] == record["boat"]), None)
+        boat = record["boat"].raw
+        at = next((k for k, old in enumerate(records) if old["boat"].raw == boat), None)
         if at is None:
             records.append(record)
         else:
-            records[at] = fieldkit.merge(record, records[at])
+            records[at] = fieldkit.merge(records[at], record)
     return records
PATCH
