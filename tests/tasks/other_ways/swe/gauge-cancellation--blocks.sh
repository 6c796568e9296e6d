#!/bin/bash
set -euo pipefail
cd /srv/gauge
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- Statistics of large values keep their digits; files have version 2 (#35).
+
 ## 1.3.0 (2026-02-12)
 - `Line` (#31).
 - `python3 -m gauge FILE` (#28).
diff --git a/gauge/groups.py b/gauge/groups.py
--- a/gauge/groups.py
+++ b/gauge/groups.py
@@ -28,11 +28,5 @@ class Groups:
         """The statistics of all values."""
         total = Moments()
         for name in self:
-            total.count += self[name].count
-            total.sum += self[name].sum
-            total.squares += self[name].squares
-            for value in (self[name].least, self[name].most):
-                if value is not None:
-                    total.least = value if total.least is None else min(total.least, value)
-                    total.most = value if total.most is None else max(total.most, value)
+            total.merge(self[name])
         return total
diff --git a/gauge/line.py b/gauge/line.py
--- a/gauge/line.py
+++ b/gauge/line.py
@@ -15,41 +15,40 @@ class Line:
 
     def add(self, x: float, y: float) -> None:
         """Count a pair."""
-        x, y = finite(x), finite(y)
-        self.count += 1
-        self._x += x
-        self._y += y
-        self._xx += x * x
-        self._xy += x * y
-        self._yy += y * y
+        self._join(1, finite(x), finite(y), 0.0, 0.0, 0.0)
 
     def merge(self, other: "Line") -> None:
         """Count all pairs of another line."""
-        self.count += other.count
-        self._x += other._x
-        self._y += other._y
-        self._xx += other._xx
-        self._xy += other._xy
-        self._yy += other._yy
+        if other.count:
+            self._join(other.count, other._x, other._y, other._xx, other._xy, other._yy)
+
+    def _join(self, count: int, x: float, y: float, xx: float, xy: float, yy: float) -> None:
+        before, self.count = self.count, self.count + count
+        if not before:
+            self._x, self._y, self._xx, self._xy, self._yy = x, y, xx, xy, yy
+            return
+        dx, dy, share = x - self._x, y - self._y, count / self.count
+        self._x += dx * share
+        self._y += dy * share
+        self._xx += xx + dx * dx * before * share
+        self._xy += xy + dx * dy * before * share
+        self._yy += yy + dy * dy * before * share
 
     @property
     def slope(self) -> float | None:
         """None for less than two pairs, and if all x are equal."""
-        across = self.count * self._xx - self._x * self._x
-        if self.count < 2 or across == 0:
+        if self.count < 2 or self._xx == 0:
             return None
-        return (self.count * self._xy - self._x * self._y) / across
+        return self._xy / self._xx
 
     @property
     def intercept(self) -> float | None:
         slope = self.slope
-        return None if slope is None else (self._y - slope * self._x) / self.count
+        return None if slope is None else self._y - slope * self._x
 
     @property
     def correlation(self) -> float | None:
         """None for less than two pairs, and if all x or all y are equal."""
-        across = self.count * self._xx - self._x * self._x
-        up = self.count * self._yy - self._y * self._y
-        if self.count < 2 or across <= 0 or up <= 0:
+        if self.count < 2 or self._xx <= 0 or self._yy <= 0:
             return None
-        return (self.count * self._xy - self._x * self._y) / math.sqrt(across * up)
+        return max(-1.0, min(1.0, self._xy / (math.sqrt(self._xx) * math.sqrt(self._yy))))
diff --git a/gauge/moments.py b/gauge/moments.py
--- a/gauge/moments.py
+++ b/gauge/moments.py
@@ -6,12 +6,12 @@ from gauge.values import finite
 
 
 class Moments:
-    """Statistics of the values that were added."""
+    """Statistics of the values that were added (Welford's algorithm; merging after Chan)."""
 
     def __init__(self) -> None:
         self.count = 0.0
-        self.sum = 0.0
-        self.squares = 0.0
+        self.center = 0.0
+        self.spread = 0.0
         self.least: float | None = None
         self.most: float | None = None
 
@@ -22,33 +22,38 @@ class Moments:
             raise ValueError(f"a weight must not be negative, got {weight}")
         if weight == 0:
             return
-        self.count += weight
-        self.sum += weight * value
-        self.squares += weight * value * value
-        self.least = value if self.least is None else min(self.least, value)
-        self.most = value if self.most is None else max(self.most, value)
+        self._join(weight, value, 0.0, value, value)
 
     def merge(self, other: "Moments") -> None:
         """Count all values of another one."""
         if not other.count:
             return
-        self.count += other.count
-        self.sum += other.sum
-        self.squares += other.squares
         assert other.least is not None and other.most is not None
-        self.least = other.least if self.least is None else min(self.least, other.least)
-        self.most = other.most if self.most is None else max(self.most, other.most)
+        self._join(other.count, other.center, other.spread, other.least, other.most)
+
+    def _join(self, count: float, center: float, spread: float, least: float, most: float) -> None:
+        if not self.count:
+            self.count, self.center, self.spread = count, center, spread
+            self.least, self.most = least, most
+            return
+        assert self.least is not None and self.most is not None
+        total = self.count + count
+        apart = center - self.center
+        self.spread += spread + apart * apart * (self.count * (count / total))
+        self.center += apart * (count / total)
+        self.count = total
+        self.least, self.most = min(self.least, least), max(self.most, most)
 
     @property
     def mean(self) -> float | None:
-        return self.sum / self.count if self.count else None
+        return self.center if self.count else None
 
     @property
     def variance(self) -> float | None:
         """The variance of the sample; None for less than two values."""
         if self.count < 2:
             return None
-        return (self.squares - self.sum * self.sum / self.count) / (self.count - 1)
+        return self.spread / (self.count - 1)
 
     @property
     def deviation(self) -> float | None:
diff --git a/gauge/storage.py b/gauge/storage.py
--- a/gauge/storage.py
+++ b/gauge/storage.py
@@ -7,8 +7,8 @@ from typing import Any
 from gauge.groups import Groups
 from gauge.moments import Moments
 
-VERSION = 1
-_FIELDS = ("count", "sum", "squares", "least", "most")
+VERSION = 2
+_FIELDS = ("count", "center", "spread", "least", "most")
 
 
 def save(path: Path, groups: Groups) -> None:
@@ -27,14 +27,22 @@ def load(path: Path) -> Groups:
         ValueError: The file is of a version that is not known.
     """
     content = json.loads(Path(path).read_text(encoding="utf-8"))
-    if content["version"] != VERSION:
+    if content["version"] not in (1, VERSION):
         raise ValueError(f"{path}: version {content['version']} is not known")
     groups = Groups()
     for name, fields in content["groups"].items():
-        _fill(groups[name], fields)
+        _fill(groups[name], _of_sums(fields) if content["version"] == 1 else fields)
     return groups
 
 
+def _of_sums(fields: dict[str, Any]) -> dict[str, Any]:
+    """Return the fields of version 1 as those of today."""
+    count, total = fields["count"], fields["sum"]
+    center = total / count if count else 0.0
+    spread = max(0.0, fields["squares"] - total * total / count) if count else 0.0
+    return {**fields, "center": center, "spread": spread}
+
+
 def _fill(moments: Moments, fields: dict[str, Any]) -> None:
     for field in _FIELDS:
         setattr(moments, field, fields[field])
diff --git a/gauge/window.py b/gauge/window.py
--- a/gauge/window.py
+++ b/gauge/window.py
@@ -1,52 +1,69 @@
 """Statistics of the last values."""
 
 from collections import deque
+from math import isqrt
 
 from gauge.moments import Moments
 from gauge.values import finite
 
 
 class Window:
-    """The last `size` values."""
+    """The last `size` values, in blocks of about the square root of that; each has its own statistics."""
 
     def __init__(self, size: int) -> None:
         if size < 1:
             raise ValueError(f"size: expected at least 1, got {size}")
-        self.size = size
-        self._values: deque[float] = deque()
-        self._moments = Moments()
+        self.size, self._block = size, isqrt(size) + 1
+        self._first: deque[float] = deque()
+        self._blocks: deque[tuple[list[float], Moments]] = deque()
+        self._length = 0
+        self._found: Moments | None = None
 
     def add(self, value: float) -> None:
         """Count a value; the oldest one leaves if there are too many."""
         value = finite(value)
-        self._values.append(value)
-        self._moments.add(value)
-        if len(self._values) > self.size:
-            left = self._values.popleft()
-            self._moments.count -= 1
-            self._moments.sum -= left
-            self._moments.squares -= left * left
+        self._found = None
+        if self._length == self.size:
+            if not self._first:
+                self._first.extend(self._blocks.popleft()[0])
+            self._first.popleft()
+            self._length -= 1
+        if not self._blocks or len(self._blocks[-1][0]) == self._block:
+            self._blocks.append(([], Moments()))
+        values, moments = self._blocks[-1]
+        values.append(value)
+        moments.add(value)
+        self._length += 1
+
+    def _all(self) -> Moments:
+        if self._found is None:
+            self._found = Moments()
+            for value in self._first:
+                self._found.add(value)
+            for _, moments in self._blocks:
+                self._found.merge(moments)
+        return self._found
 
     @property
     def count(self) -> float:
-        return self._moments.count
+        return self._all().count
 
     @property
     def mean(self) -> float | None:
-        return self._moments.mean
+        return self._all().mean
 
     @property
     def variance(self) -> float | None:
-        return self._moments.variance
+        return self._all().variance
 
     @property
     def deviation(self) -> float | None:
-        return self._moments.deviation
+        return self._all().deviation
 
     @property
     def least(self) -> float | None:
-        return min(self._values, default=None)
+        return self._all().least
 
     @property
     def most(self) -> float | None:
-        return max(self._values, default=None)
+        return self._all().most
PATCH
