#!/bin/bash
cd /srv/gauge
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index 9302f78..fd27faf 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- Large values keep their digits, in windows, lines, groups and files, which have version 2 (#35).
+
 ## 1.3.0 (2026-02-12)
 - `Line` (#31).
 - `python3 -m gauge FILE` (#28).
diff --git a/gauge/groups.py b/gauge/groups.py
index 78668a0..3585309 100644
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
index e6ffef9..84e3d29 100644
--- a/gauge/line.py
+++ b/gauge/line.py
@@ -6,7 +6,7 @@ from gauge.values import finite
 
 
 class Line:
-    """Slope, intercept and correlation of pairs."""
+    """Slope, intercept and correlation of pairs, from distances to the means."""
 
     def __init__(self) -> None:
         self.count = 0
@@ -15,41 +15,39 @@ class Line:
 
     def add(self, x: float, y: float) -> None:
         """Count a pair."""
-        x, y = finite(x), finite(y)
-        self.count += 1
-        self._x += x
-        self._y += y
-        self._xx += x * x
-        self._xy += x * y
-        self._yy += y * y
+        pair = Line()
+        pair.count, pair._x, pair._y = 1, finite(x), finite(y)
+        self.merge(pair)
 
     def merge(self, other: "Line") -> None:
         """Count all pairs of another line."""
-        self.count += other.count
-        self._x += other._x
-        self._y += other._y
-        self._xx += other._xx
-        self._xy += other._xy
-        self._yy += other._yy
+        if not other.count:
+            return
+        count = self.count + other.count
+        x, y = other._x - self._x, other._y - self._y
+        weight = self.count * other.count / count
+        self._xx += other._xx + x * x * weight
+        self._xy += other._xy + x * y * weight
+        self._yy += other._yy + y * y * weight
+        part = other.count / count
+        self._x = self._x + x * part if self.count else other._x
+        self._y = self._y + y * part if self.count else other._y
+        self.count = count
 
     @property
     def slope(self) -> float | None:
         """None for less than two pairs, and if all x are equal."""
-        across = self.count * self._xx - self._x * self._x
-        if self.count < 2 or across == 0:
-            return None
-        return (self.count * self._xy - self._x * self._y) / across
+        return self._xy / self._xx if self._xx else None
 
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
+        if not self._xx or not self._yy:
             return None
-        return (self.count * self._xy - self._x * self._y) / math.sqrt(across * up)
+        found = self._xy / (math.sqrt(self._xx) * math.sqrt(self._yy))
+        return max(-1.0, min(1.0, found))
diff --git a/gauge/moments.py b/gauge/moments.py
index da81e00..6f395d1 100644
--- a/gauge/moments.py
+++ b/gauge/moments.py
@@ -6,12 +6,15 @@ from gauge.values import finite
 
 
 class Moments:
-    """Statistics of the values that were added."""
+    """Statistics of the values that were added.
+
+    `spread` is the weighted sum of the squared distances from the mean (Welford; merged as by Chan).
+    """
 
     def __init__(self) -> None:
         self.count = 0.0
-        self.sum = 0.0
-        self.squares = 0.0
+        self.centre = 0.0
+        self.spread = 0.0
         self.least: float | None = None
         self.most: float | None = None
 
@@ -20,35 +23,33 @@ class Moments:
         value, weight = finite(value), finite(weight, "a weight")
         if weight < 0:
             raise ValueError(f"a weight must not be negative, got {weight}")
-        if weight == 0:
-            return
-        self.count += weight
-        self.sum += weight * value
-        self.squares += weight * value * value
-        self.least = value if self.least is None else min(self.least, value)
-        self.most = value if self.most is None else max(self.most, value)
+        self._count(weight, value, 0.0, value, value)
 
     def merge(self, other: "Moments") -> None:
         """Count all values of another one."""
-        if not other.count:
+        if other.least is not None and other.most is not None:
+            self._count(other.count, other.centre, other.spread, other.least, other.most)
+
+    def _count(self, count: float, centre: float, spread: float, least: float, most: float) -> None:
+        if not count:
             return
-        self.count += other.count
-        self.sum += other.sum
-        self.squares += other.squares
-        assert other.least is not None and other.most is not None
-        self.least = other.least if self.least is None else min(self.least, other.least)
-        self.most = other.most if self.most is None else max(self.most, other.most)
+        whole, distance = self.count + count, centre - self.centre
+        self.spread += spread + distance * distance * (self.count * count / whole)
+        self.centre = centre if not self.count else self.centre + distance * (count / whole)
+        self.count = whole
+        self.least = least if self.least is None else min(self.least, least)
+        self.most = most if self.most is None else max(self.most, most)
 
     @property
     def mean(self) -> float | None:
-        return self.sum / self.count if self.count else None
+        return self.centre if self.count else None
 
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
index 9481353..d73fb4c 100644
--- a/gauge/storage.py
+++ b/gauge/storage.py
@@ -7,8 +7,8 @@ from typing import Any
 from gauge.groups import Groups
 from gauge.moments import Moments
 
-VERSION = 1
-_FIELDS = ("count", "sum", "squares", "least", "most")
+VERSION = 2
+_FIELDS = ("count", "centre", "spread", "least", "most")
 
 
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
+        _fill(groups[name], _from_sums(fields) if content["version"] == 1 else fields)
     return groups
 
 
+def _from_sums(fields: dict[str, Any]) -> dict[str, Any]:
+    """Return the fields of version 2 for those of version 1."""
+    count = fields["count"]
+    centre = fields["sum"] / count if count else 0.0
+    spread = max(0.0, fields["squares"] - fields["sum"] * centre)
+    return {**fields, "centre": centre, "spread": spread}
+
+
 def _fill(moments: Moments, fields: dict[str, Any]) -> None:
     for field in _FIELDS:
         setattr(moments, field, fields[field])
diff --git a/gauge/window.py b/gauge/window.py
index 9bf6fee..f04db7f 100644
--- a/gauge/window.py
+++ b/gauge/window.py
@@ -1,52 +1,73 @@
 """Statistics of the last values."""
 
-from collections import deque
-
 from gauge.moments import Moments
 from gauge.values import finite
 
 
 class Window:
-    """The last `size` values."""
+    """The last `size` values.
+
+    Values are only ever added and merged, never taken away, so nothing is left of those that are
+    gone: `_old` has the statistics of the older values from each one on, `_new` of the newer ones.
+    When the older ones are used up, the newer ones become the older ones.
+    """
 
     def __init__(self, size: int) -> None:
         if size < 1:
             raise ValueError(f"size: expected at least 1, got {size}")
         self.size = size
-        self._values: deque[float] = deque()
-        self._moments = Moments()
+        self._old: list[Moments] = []
+        self._values: list[float] = []
+        self._new = Moments()
 
     def add(self, value: float) -> None:
         """Count a value; the oldest one leaves if there are too many."""
         value = finite(value)
+        if len(self._old) + len(self._values) == self.size:
+            self._forget()
         self._values.append(value)
-        self._moments.add(value)
-        if len(self._values) > self.size:
-            left = self._values.popleft()
-            self._moments.count -= 1
-            self._moments.sum -= left
-            self._moments.squares -= left * left
+        self._new.add(value)
+
+    def _forget(self) -> None:
+        if not self._old:
+            suffix = Moments()
+            for value in reversed(self._values):
+                suffix = _joined(suffix, Moments())
+                suffix.add(value)
+                self._old.append(suffix)
+            self._values, self._new = [], Moments()
+        self._old.pop()
+
+    def _moments(self) -> Moments:
+        return _joined(self._old[-1] if self._old else Moments(), self._new)
 
     @property
     def count(self) -> float:
-        return self._moments.count
+        return float(len(self._old) + len(self._values))
 
     @property
     def mean(self) -> float | None:
-        return self._moments.mean
+        return self._moments().mean
 
     @property
     def variance(self) -> float | None:
-        return self._moments.variance
+        return self._moments().variance
 
     @property
     def deviation(self) -> float | None:
-        return self._moments.deviation
+        return self._moments().deviation
 
     @property
     def least(self) -> float | None:
-        return min(self._values, default=None)
+        return self._moments().least
 
     @property
     def most(self) -> float | None:
-        return max(self._values, default=None)
+        return self._moments().most
+
+
+def _joined(one: Moments, other: Moments) -> Moments:
+    joined = Moments()
+    joined.merge(one)
+    joined.merge(other)
+    return joined
PATCH
