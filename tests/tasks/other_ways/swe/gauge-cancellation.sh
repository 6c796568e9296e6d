#!/bin/bash
set -euo pipefail
cd /srv/gauge
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## 1.4.0 (2026-03-13)
+- Exact sums, version 2 of files (#35).
+
 ## 1.3.0 (2026-02-12)
 - `Line` (#31).
 - `python3 -m gauge FILE` (#28).
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -28,6 +28,7 @@ Values that are no finite numbers are a `ValueError`. `python3 -m gauge FILE` pr
 
 | module | holds |
 |---|---|
+| `gauge/exact.py` | sums without rounding |
 | `gauge/moments.py` | `Moments` |
 | `gauge/window.py` | `Window` |
 | `gauge/line.py` | `Line` |
diff --git a/gauge/exact.py b/gauge/exact.py
new file mode 100644
--- /dev/null
+++ b/gauge/exact.py
@@ -0,0 +1,18 @@
+"""Exact sums: integers, in units of the smallest float. Nothing is rounded until a result is read."""
+
+_UNIT = 1074
+
+
+def units(value: float) -> int:
+    """Return a finite float as a number of 2**-1074."""
+    above, below = value.as_integer_ratio()
+    return above << (_UNIT - below.bit_length() + 1)
+
+
+def ratio(above: int, below: int, unit_power: int = 0) -> float:
+    """Return above / below / 2**(1074 * unit_power), rounded once."""
+    below <<= _UNIT * unit_power
+    try:
+        return above / below
+    except OverflowError:
+        return float("inf") if (above < 0) == (below < 0) else float("-inf")
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
@@ -2,6 +2,7 @@
 
 import math
 
+from gauge.exact import ratio, units
 from gauge.values import finite
 
 
@@ -10,46 +11,44 @@ class Line:
 
     def __init__(self) -> None:
         self.count = 0
-        self._x = self._y = 0.0
-        self._xx = self._xy = self._yy = 0.0
+        self._x = self._y = self._xx = self._xy = self._yy = 0
 
     def add(self, x: float, y: float) -> None:
         """Count a pair."""
-        x, y = finite(x), finite(y)
+        a, b = units(finite(x)), units(finite(y))
         self.count += 1
-        self._x += x
-        self._y += y
-        self._xx += x * x
-        self._xy += x * y
-        self._yy += y * y
+        self._x += a
+        self._y += b
+        self._xx += a * a
+        self._xy += a * b
+        self._yy += b * b
 
     def merge(self, other: "Line") -> None:
         """Count all pairs of another line."""
-        self.count += other.count
-        self._x += other._x
-        self._y += other._y
-        self._xx += other._xx
-        self._xy += other._xy
-        self._yy += other._yy
+        for name, value in vars(other).items():
+            setattr(self, name, getattr(self, name) + value)
+
+    def _sides(self) -> tuple[int, int, int]:
+        across = self.count * self._xx - self._x * self._x
+        up = self.count * self._yy - self._y * self._y
+        return across, up, self.count * self._xy - self._x * self._y
 
     @property
     def slope(self) -> float | None:
         """None for less than two pairs, and if all x are equal."""
-        across = self.count * self._xx - self._x * self._x
-        if self.count < 2 or across == 0:
-            return None
-        return (self.count * self._xy - self._x * self._y) / across
+        across, _, both = self._sides()
+        return ratio(both, across) if across else None
 
     @property
     def intercept(self) -> float | None:
-        slope = self.slope
-        return None if slope is None else (self._y - slope * self._x) / self.count
+        across, _, both = self._sides()
+        return ratio(self._y * across - both * self._x, self.count * across, 1) if across else None
 
     @property
     def correlation(self) -> float | None:
         """None for less than two pairs, and if all x or all y are equal."""
-        across = self.count * self._xx - self._x * self._x
-        up = self.count * self._yy - self._y * self._y
-        if self.count < 2 or across <= 0 or up <= 0:
+        across, up, both = self._sides()
+        if not across or not up:
             return None
-        return (self.count * self._xy - self._x * self._y) / math.sqrt(across * up)
+        size = min(1.0, math.sqrt(ratio(both * both, across * up)))
+        return size if both > 0 else -size
diff --git a/gauge/moments.py b/gauge/moments.py
--- a/gauge/moments.py
+++ b/gauge/moments.py
@@ -2,19 +2,22 @@
 
 import math
 
+from gauge.exact import ratio, units
 from gauge.values import finite
 
 
 class Moments:
-    """Statistics of the values that were added."""
+    """Statistics of the values that were added, from exact sums."""
 
     def __init__(self) -> None:
-        self.count = 0.0
-        self.sum = 0.0
-        self.squares = 0.0
+        self.weights = self.sums = self.squares = 0
         self.least: float | None = None
         self.most: float | None = None
 
+    @property
+    def count(self) -> float:
+        return ratio(self.weights, 1, 1)
+
     def add(self, value: float, weight: float = 1) -> None:
         """Count a value; `weight` says how often it was there."""
         value, weight = finite(value), finite(weight, "a weight")
@@ -22,18 +25,23 @@ class Moments:
             raise ValueError(f"a weight must not be negative, got {weight}")
         if weight == 0:
             return
-        self.count += weight
-        self.sum += weight * value
-        self.squares += weight * value * value
+        self.count_exactly(value, units(weight))
         self.least = value if self.least is None else min(self.least, value)
         self.most = value if self.most is None else max(self.most, value)
 
+    def count_exactly(self, value: float, weight: int) -> None:
+        """Count a value, or take it back with a negative weight; extremes are left."""
+        exact = units(value)
+        self.weights += weight
+        self.sums += weight * exact
+        self.squares += weight * exact * exact
+
     def merge(self, other: "Moments") -> None:
         """Count all values of another one."""
-        if not other.count:
+        if not other.weights:
             return
-        self.count += other.count
-        self.sum += other.sum
+        self.weights += other.weights
+        self.sums += other.sums
         self.squares += other.squares
         assert other.least is not None and other.most is not None
         self.least = other.least if self.least is None else min(self.least, other.least)
@@ -41,14 +49,16 @@ class Moments:
 
     @property
     def mean(self) -> float | None:
-        return self.sum / self.count if self.count else None
+        return ratio(self.sums, self.weights, 1) if self.weights else None
 
     @property
     def variance(self) -> float | None:
         """The variance of the sample; None for less than two values."""
-        if self.count < 2:
+        one = units(1.0)
+        if self.weights < 2 * one:
             return None
-        return (self.squares - self.sum * self.sum / self.count) / (self.count - 1)
+        above = self.squares * self.weights - self.sums * self.sums
+        return max(0.0, ratio(above, self.weights * (self.weights - one), 2))
 
     @property
     def deviation(self) -> float | None:
diff --git a/gauge/storage.py b/gauge/storage.py
--- a/gauge/storage.py
+++ b/gauge/storage.py
@@ -5,17 +5,18 @@ from pathlib import Path
 from typing import Any
 
 from gauge.groups import Groups
+from gauge.exact import units
 from gauge.moments import Moments
 
-VERSION = 1
-_FIELDS = ("count", "sum", "squares", "least", "most")
+VERSION = 2
+_SUMS = ("weights", "sums", "squares")
 
 
 def save(path: Path, groups: Groups) -> None:
     """Write groups to a file."""
     content = {
         "version": VERSION,
-        "groups": {name: {field: getattr(groups[name], field) for field in _FIELDS} for name in groups},
+        "groups": {name: _fields(groups[name]) for name in groups},
     }
     Path(path).write_text(json.dumps(content), encoding="utf-8")
 
@@ -27,14 +28,28 @@ def load(path: Path) -> Groups:
         ValueError: The file is of a version that is not known.
     """
     content = json.loads(Path(path).read_text(encoding="utf-8"))
-    if content["version"] != VERSION:
+    if content["version"] not in (1, VERSION):
         raise ValueError(f"{path}: version {content['version']} is not known")
     groups = Groups()
     for name, fields in content["groups"].items():
-        _fill(groups[name], fields)
+        moments = groups[name]
+        moments.least, moments.most = fields["least"], fields["most"]
+        if content["version"] == VERSION:
+            for each in _SUMS:
+                setattr(moments, each, int(fields[each], 16))
+        elif fields["count"]:
+            _fill_from_sums(moments, fields["count"], fields["sum"], fields["squares"])
     return groups
 
 
-def _fill(moments: Moments, fields: dict[str, Any]) -> None:
-    for field in _FIELDS:
-        setattr(moments, field, fields[field])
+def _fields(moments: Moments) -> dict[str, Any]:
+    exact = {each: f"{getattr(moments, each):x}" for each in _SUMS}
+    return {"least": moments.least, "most": moments.most, **exact}
+
+
+def _fill_from_sums(moments: Moments, count: float, total: float, squares: float) -> None:
+    """Files of version 1 have rounded sums: the squares may be too small for any values."""
+    one = units(1.0)
+    moments.weights, moments.sums, moments.squares = units(count), units(total) * one, units(squares) * one * one
+    least = -(-moments.sums * moments.sums // moments.weights)
+    moments.squares = max(moments.squares, least)
diff --git a/gauge/window.py b/gauge/window.py
--- a/gauge/window.py
+++ b/gauge/window.py
@@ -2,34 +2,46 @@
 
 from collections import deque
 
+from gauge.exact import units
 from gauge.moments import Moments
 from gauge.values import finite
 
+_ONE = units(1.0)
+
 
 class Window:
-    """The last `size` values."""
+    """The last `size` values. Sums are exact, so that what leaves is taken away without a trace."""
 
     def __init__(self, size: int) -> None:
         if size < 1:
             raise ValueError(f"size: expected at least 1, got {size}")
         self.size = size
         self._values: deque[float] = deque()
+        self._falling: deque[float] = deque()
+        self._rising: deque[float] = deque()
         self._moments = Moments()
 
     def add(self, value: float) -> None:
         """Count a value; the oldest one leaves if there are too many."""
         value = finite(value)
-        self._values.append(value)
-        self._moments.add(value)
-        if len(self._values) > self.size:
+        if len(self._values) == self.size:
             left = self._values.popleft()
-            self._moments.count -= 1
-            self._moments.sum -= left
-            self._moments.squares -= left * left
+            self._moments.count_exactly(left, -_ONE)
+            for extremes in (self._falling, self._rising):
+                if extremes[0] == left:
+                    extremes.popleft()
+        self._values.append(value)
+        self._moments.count_exactly(value, _ONE)
+        while self._falling and self._falling[-1] < value:
+            self._falling.pop()
+        self._falling.append(value)
+        while self._rising and self._rising[-1] > value:
+            self._rising.pop()
+        self._rising.append(value)
 
     @property
     def count(self) -> float:
-        return self._moments.count
+        return float(len(self._values))
 
     @property
     def mean(self) -> float | None:
@@ -45,8 +57,8 @@ class Window:
 
     @property
     def least(self) -> float | None:
-        return min(self._values, default=None)
+        return self._rising[0] if self._rising else None
 
     @property
     def most(self) -> float | None:
-        return max(self._values, default=None)
+        return self._falling[0] if self._falling else None
PATCH
