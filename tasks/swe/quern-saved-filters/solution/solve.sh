#!/bin/bash
cd /srv/quern
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index 86ef5e3..e0ccce6 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- Simplified filters find what the filters found, and texts of filters can be parsed (#58).
+
 ## 0.5.0 (2026-02-20)
 - Filters are simplified before they are saved (#54).
 - `quern.names` lists the fields of a filter (#51).
diff --git a/quern/saved.py b/quern/saved.py
index aa50817..3023344 100644
--- a/quern/saved.py
+++ b/quern/saved.py
@@ -18,10 +18,17 @@ class Saved:
         return sorted(self._lines())
 
     def save(self, name: str, node: Filter) -> None:
-        """Keep a filter under a name; one of that name is replaced."""
+        """Keep a filter under a name; one of that name is replaced.
+
+        Raises:
+            ValueError: The name, or a value in the filter, does not fit into a line.
+        """
         if not name.strip() or ":" in name or "\n" in name:
             raise ValueError(f"no name of a filter: {name!r}")
-        self._write(self._lines() | {name.strip(): str(simplify(node))})
+        text = str(simplify(node))
+        if len(text.splitlines()) > 1:
+            raise ValueError(f"a filter with a line end cannot be saved: {text!r}")
+        self._write(self._lines() | {name.strip(): text})
 
     def load(self, name: str) -> Filter:
         """Return the filter of a name.
diff --git a/quern/simplify.py b/quern/simplify.py
index c9ef297..19c047f 100644
--- a/quern/simplify.py
+++ b/quern/simplify.py
@@ -2,10 +2,7 @@
 
 from collections.abc import Iterable
 
-from quern.nodes import And, Comparison, Constant, Filter, Not, Or
-from quern.text import to_text
-
-_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
+from quern.nodes import And, Constant, Filter, Not, Or
 
 
 def simplify(node: Filter) -> Filter:
@@ -28,8 +25,6 @@ def _negate(node: Filter) -> Filter:
         return Constant(not node.value)
     if isinstance(node, Not):
         return node.part
-    if isinstance(node, Comparison) and node.operator in _OPPOSITE:
-        return Comparison(node.field, _OPPOSITE[node.operator], node.value)
     if isinstance(node, And):
         return _join(Or, [_negate(part) for part in node.parts])
     if isinstance(node, Or):
@@ -43,30 +38,18 @@ def _join(kind: type[And] | type[Or], parts: Iterable[Filter]) -> Filter:
     flat: list[Filter] = []
     for part in parts:
         flat += part.parts if isinstance(part, kind) else [part]
-    kept: dict[str, Filter] = {}
+    kept: dict[Filter, None] = {}
     for part in flat:
         if part == ending:
             return ending
         if part != empty:
-            kept.setdefault(to_text(part).lower(), part)
-    if kind is And and _contradicts(kept.values()):
-        return ending
-    left = _without_covered(kind, list(kept.values()))
+            kept.setdefault(part)
+    left = _without_covered(kind, list(kept))
     if not left:
         return empty
     return left[0] if len(left) == 1 else kind(tuple(left))
 
 
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
 def _without_covered(kind: type[And] | type[Or], parts: list[Filter]) -> list[Filter]:
     """Leave out `a and b` beside `a` in an `or`, and `a or b` beside `a` in an `and`."""
     other = Or if kind is And else And
diff --git a/quern/text.py b/quern/text.py
index a072166..ad35c34 100644
--- a/quern/text.py
+++ b/quern/text.py
@@ -1,6 +1,9 @@
 """Texts of filters."""
 
+from decimal import Decimal
+
 from quern.nodes import And, Comparison, Constant, Filter, Has, Not, Or, Value
+from quern.tokens import is_word
 
 
 def to_text(node: Filter) -> str:
@@ -12,20 +15,22 @@ def to_text(node: Filter) -> str:
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
+def _within(node: Filter, *weaker: type[Filter]) -> str:
+    return f"({to_text(node)})" if isinstance(node, weaker) else to_text(node)
 
 
 def _value(value: Value) -> str:
-    text = str(value)
-    if text.replace("_", "").replace("-", "").replace(".", "").isalnum():
-        return text
-    return '"' + text.replace('"', '\\"') + '"'
+    if isinstance(value, str):
+        if is_word(value):
+            return value
+        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
+    # Numbers have no exponent in filters.
+    return format(Decimal(repr(value)), "f")
diff --git a/quern/tokens.py b/quern/tokens.py
index 96260ae..12af4a6 100644
--- a/quern/tokens.py
+++ b/quern/tokens.py
@@ -31,6 +31,12 @@ class Token:
     value: str | int | float = ""
 
 
+def is_word(text: str) -> bool:
+    """Return whether a text needs no quotes."""
+    found = _PATTERN.fullmatch(text)
+    return found is not None and found.lastgroup == "word" and text not in KEYWORDS
+
+
 def tokens(text: str) -> Iterator[Token]:
     """Yield the tokens of a text, with one of the kind `end` as the last.
 
PATCH
