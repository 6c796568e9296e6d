#!/bin/bash
set -euo pipefail
cd /srv/quern
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## 0.5.1 (2026-03-02)
+- `not` and comparisons, lists, quotes and capitals: saved filters are what was typed (#58).
+
 ## 0.5.0 (2026-02-20)
 - Filters are simplified before they are saved (#54).
 - `quern.names` lists the fields of a filter (#51).
diff --git a/quern/saved.py b/quern/saved.py
--- a/quern/saved.py
+++ b/quern/saved.py
@@ -1,5 +1,6 @@
 """Filters by name, in a file."""
 
+import re
 from pathlib import Path
 
 from quern.errors import FilterError
@@ -7,6 +8,8 @@ from quern.nodes import Filter
 from quern.parser import parse
 from quern.simplify import simplify
 
+_OPEN = re.compile(r'^(?:[^"]|"(?:[^"\\]|\\.)*")*"(?:[^"\\]|\\.)*$', re.DOTALL)
+
 
 class Saved:
     """The filters of a file: a line `name: filter` each, in the order of their names."""
@@ -50,10 +53,29 @@ class Saved:
     def _lines(self) -> dict[str, str]:
         if not self._path.exists():
             return {}
-        lines = self._path.read_text(encoding="utf-8").splitlines()
+        with self._path.open(encoding="utf-8", newline="") as file:
+            lines = _whole_lines(file.read().split("\n"))
         parts = (line.partition(":") for line in lines if line.strip())
         return {name.strip(): text.strip() for name, _, text in parts}
 
     def _write(self, lines: dict[str, str]) -> None:
         text = "".join(f"{name}: {lines[name]}\n" for name in sorted(lines))
-        self._path.write_text(text, encoding="utf-8")
+        with self._path.open("w", encoding="utf-8", newline="") as file:
+            file.write(text)
+
+
+def _whole_lines(lines: list[str]) -> list[str]:
+    """Join lines whose quoted value goes on in the next one."""
+    whole: list[str] = []
+    at = 0
+    while at < len(lines):
+        for end in range(at + 1, len(lines) + 1):
+            line = "\n".join(lines[at:end])
+            if not _OPEN.search(line.partition(":")[2]):
+                break
+        else:
+            # A quote that never ends: a broken filter of one line.
+            line, end = lines[at], at + 1
+        whole.append(line)
+        at = end
+    return whole
diff --git a/quern/simplify.py b/quern/simplify.py
--- a/quern/simplify.py
+++ b/quern/simplify.py
@@ -1,11 +1,6 @@
 """Shorter filters that match the same records."""
 
-from collections.abc import Iterable
-
-from quern.nodes import And, Comparison, Constant, Filter, Not, Or
-from quern.text import to_text
-
-_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
+from quern.nodes import And, Constant, Filter, Not, Or
 
 
 def simplify(node: Filter) -> Filter:
@@ -14,64 +9,37 @@ def simplify(node: Filter) -> Filter:
     `not` goes to the inside and cancels out, nested `and` and `or` are flattened, repetitions and
     parts that are covered by others are left out, and constants disappear.
     """
-    if isinstance(node, Not):
-        return _negate(simplify(node.part))
-    if isinstance(node, And):
-        return _join(And, [simplify(part) for part in node.parts])
-    if isinstance(node, Or):
-        return _join(Or, [simplify(part) for part in node.parts])
-    return node
+    return _simple(node, False)
 
 
-def _negate(node: Filter) -> Filter:
-    if isinstance(node, Constant):
-        return Constant(not node.value)
+def _simple(node: Filter, negated: bool) -> Filter:
     if isinstance(node, Not):
-        return node.part
-    if isinstance(node, Comparison) and node.operator in _OPPOSITE:
-        return Comparison(node.field, _OPPOSITE[node.operator], node.value)
-    if isinstance(node, And):
-        return _join(Or, [_negate(part) for part in node.parts])
-    if isinstance(node, Or):
-        return _join(And, [_negate(part) for part in node.parts])
-    return Not(node)
-
-
-def _join(kind: type[And] | type[Or], parts: Iterable[Filter]) -> Filter:
-    """Join simplified parts by `and` or `or`."""
-    empty, ending = Constant(kind is And), Constant(kind is Or)
-    flat: list[Filter] = []
-    for part in parts:
-        flat += part.parts if isinstance(part, kind) else [part]
-    kept: dict[str, Filter] = {}
-    for part in flat:
-        if part == ending:
-            return ending
-        if part != empty:
-            kept.setdefault(to_text(part).lower(), part)
-    if kind is And and _contradicts(kept.values()):
-        return ending
-    left = _without_covered(kind, list(kept.values()))
-    if not left:
-        return empty
-    return left[0] if len(left) == 1 else kind(tuple(left))
-
-
-def _contradicts(parts: Iterable[Filter]) -> bool:
-    """Return whether a field would have to be two things at once."""
-    wanted: dict[str, object] = {}
-    for part in parts:
-        if isinstance(part, Comparison) and part.operator == "=":
-            if wanted.setdefault(part.field, part.value) != part.value:
-                return True
-    return False
-
-
-def _without_covered(kind: type[And] | type[Or], parts: list[Filter]) -> list[Filter]:
-    """Leave out `a and b` beside `a` in an `or`, and `a or b` beside `a` in an `and`."""
-    other = Or if kind is And else And
-    return [
-        part
-        for part in parts
-        if not (isinstance(part, other) and any(each in parts for each in part.parts))
-    ]
+        return _simple(node.part, not negated)
+    if isinstance(node, Constant):
+        return Constant(node.value != negated)
+    if not isinstance(node, And | Or):
+        # `not a < 3` is no `a >= 3`: neither matches a record without the field.
+        return Not(node) if negated else node
+    kind = And if isinstance(node, And) != negated else Or
+    parts: list[Filter] = []
+    for part in node.parts:
+        one = _simple(part, negated)
+        for each in one.parts if isinstance(one, kind) else (one,):
+            if each not in parts:
+                parts.append(each)
+    if Constant(kind is Or) in parts:
+        return Constant(kind is Or)
+    parts = [part for part in parts if part != Constant(kind is And)]
+    parts = [part for part in parts if not any(_covers(kind, other, part) for other in parts)]
+    if not parts:
+        return Constant(kind is And)
+    return parts[0] if len(parts) == 1 else kind(tuple(parts))
+
+
+def _covers(kind: type[And] | type[Or], other: Filter, part: Filter) -> bool:
+    """Return whether a part can be left out beside another one."""
+    within = Or if kind is And else And
+    if other is part or not isinstance(part, within):
+        return False
+    needed = set(other.parts) if isinstance(other, within) else {other}
+    return needed < set(part.parts)
diff --git a/quern/text.py b/quern/text.py
--- a/quern/text.py
+++ b/quern/text.py
@@ -1,6 +1,12 @@
 """Texts of filters."""
 
+import re
+from decimal import Decimal
+
 from quern.nodes import And, Comparison, Constant, Filter, Has, Not, Or, Value
+from quern.tokens import KEYWORDS
+
+_WORD = re.compile(r"[^\W\d][\w.-]*")
 
 
 def to_text(node: Filter) -> str:
@@ -12,20 +18,26 @@ def to_text(node: Filter) -> str:
     if isinstance(node, Comparison):
         return f"{node.field} {node.operator} {_value(node.value)}"
     if isinstance(node, Not):
-        return f"not {to_text(node.part)}"
+        return f"not {_within(node.part, And, Or)}"
     if isinstance(node, And):
-        return " and ".join(_within_and(part) for part in node.parts)
+        return " and ".join(_within(part, And, Or) for part in node.parts)
     if isinstance(node, Or):
-        return " or ".join(to_text(part) for part in node.parts)
+        return " or ".join(_within(part, Or) for part in node.parts)
     raise TypeError(f"no filter: {node!r}")
 
 
-def _within_and(node: Filter) -> str:
-    return f"({to_text(node)})" if isinstance(node, Or) else to_text(node)
+def _within(node: Filter, *bracketed: type[Filter]) -> str:
+    return f"({to_text(node)})" if isinstance(node, bracketed) else to_text(node)
 
 
 def _value(value: Value) -> str:
-    text = str(value)
-    if text.replace("_", "").replace("-", "").replace(".", "").isalnum():
-        return text
-    return '"' + text.replace('"', '\\"') + '"'
+    if isinstance(value, str):
+        if _WORD.fullmatch(value) and value not in KEYWORDS:
+            return value
+        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
+    if isinstance(value, int):
+        return str(value)
+    if value in (float("inf"), float("-inf")):
+        return ("-" if value < 0 else "") + "9" * 400 + ".0"
+    text = format(Decimal(repr(value)), "f")
+    return text if "." in text else f"{text}.0"
diff --git a/tests/test_round.py b/tests/test_round.py
new file mode 100644
--- /dev/null
+++ b/tests/test_round.py
@@ -0,0 +1,8 @@
+import pytest
+
+from quern import parse, simplify
+
+
+@pytest.mark.parametrize('text', ['a = "and"', 'a = "01067"', 'not (a = 1 and b = 2)', 'a = 1 and (b = 2 and c = 3)', 'a = "x\\\\"'])
+def test_round(text):
+    assert parse(str(parse(text))) == parse(text)
PATCH
git add -A
git -c user.name=x -c user.email=x@x commit -q --amend -m 'quern 0.5.1' 
