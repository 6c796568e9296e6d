#!/bin/bash
set -euo pipefail
cd /srv/pinion
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,9 @@
 # Changelog
 
+## 0.4.1 (2026-03-02)
+* Release candidates are not chosen unasked (#27).
+* The resolver searches all combinations.
+
 ## 0.4.0 (2026-02-20)
 - `^` and `~` (#22).
 
diff --git a/pinion/constraint.py b/pinion/constraint.py
--- a/pinion/constraint.py
+++ b/pinion/constraint.py
@@ -33,17 +33,21 @@ class Constraint:
         """Return whether a version is in the range; pre-releases are looked at elsewhere."""
         if self.version is None:
             return True
+        if self.operator == "<":
+            return _before(version, self.version)
         if self.operator in _COMPARE:
             return _COMPARE[self.operator](version, self.version)
-        return self.version <= version < self._end()
+        return self.version <= version and _before(version, self._end())
 
     def _end(self) -> Version:
         """Return the first version after a range of `^` or `~`."""
         assert self.version is not None
         numbers = self.version.numbers
         if self.operator == "^":
-            return Version(f"{numbers[0] + 1}")
-        return Version(f"{numbers[0] + 1}.0")
+            kept = next((at for at, number in enumerate(numbers) if number), len(numbers) - 1)
+        else:
+            kept = max(len(numbers) - 2, 0)
+        return Version(".".join(map(str, (*numbers[:kept], numbers[kept] + 1))))
 
     @property
     def names_prerelease(self) -> bool:
@@ -53,6 +57,13 @@ class Constraint:
         return f"{self.operator}{self.version}" if self.version else "*"
 
 
+def _before(version: Version, end: Version) -> bool:
+    """Return whether a version is before the end of a range, to which its own pre-releases do not belong."""
+    if version.is_prerelease and not end.is_prerelease and Version(".".join(map(str, version.numbers))) == end:
+        return False
+    return version < end
+
+
 def read_constraints(text: str) -> tuple[Constraint, ...]:
     """Return the constraints of a text, separated by commas.
 
@@ -75,7 +86,5 @@ def read_constraints(text: str) -> tuple[Constraint, ...]:
 def fits(version: Version, constraints: tuple[Constraint, ...]) -> bool:
     """Return whether a version may be chosen under all constraints on its package."""
     if version.is_prerelease and not any(each.names_prerelease for each in constraints):
-        return version > max(
-            (each.version for each in constraints if each.version), default=version
-        )
+        return False
     return all(each.allows(version) for each in constraints)
diff --git a/pinion/resolver.py b/pinion/resolver.py
--- a/pinion/resolver.py
+++ b/pinion/resolver.py
@@ -6,6 +6,8 @@ from pinion.constraint import Constraint, fits, read_constraints
 from pinion.index import Index
 from pinion.version import Version
 
+Owned = tuple[Constraint, str]
+
 
 class ResolutionError(Exception):
     """No choice of versions fits."""
@@ -21,19 +23,40 @@ def resolve(index: Index, wanted: Mapping[str, str]) -> dict[str, Version]:
     Raises:
         ResolutionError: There is no solution.
     """
-    constraints: dict[str, tuple[Constraint, ...]] = {}
-    chosen: dict[str, Version] = {}
-    open_names = list(wanted)
-    for name, text in wanted.items():
-        constraints[name] = read_constraints(text)
-    while open_names:
-        name = open_names.pop(0)
-        found = [each for each in index.versions(name) if fits(each, constraints[name])]
-        if not found:
-            raise ResolutionError(f"no version of {name} fits")
-        chosen[name] = found[0]
-        for other, more in index.needs[name][found[0]].items():
-            constraints[other] = constraints.get(other, ()) + more
-            if other not in chosen or not fits(chosen[other], constraints[other]):
-                open_names.append(other)
-    return chosen
+    owned: dict[str, list[Owned]] = {
+        name: [(each, "you") for each in read_constraints(text)] for name, text in wanted.items()
+    }
+    failures: list[str] = []
+    found = _search(index, owned, {}, failures)
+    if found is None:
+        raise ResolutionError(failures[0] if failures else "no versions fit together")
+    return found
+
+
+def _search(
+    index: Index, owned: Mapping[str, list[Owned]], chosen: dict[str, Version], failures: list[str]
+) -> dict[str, Version] | None:
+    """Choose the first name that has no version yet; `owned` is in the order in which names were met."""
+    name = next((each for each in owned if each not in chosen), None)
+    if name is None:
+        return chosen
+    for version in _possible(index, name, owned[name], failures):
+        more = {each: list(given) for each, given in owned.items()}
+        for other, constraints in index.needs[name][version].items():
+            more.setdefault(other, []).extend((each, f"{name} {version}") for each in constraints)
+        tried = chosen | {name: version}
+        broken = [each for each in tried if not fits(tried[each], tuple(one for one, _ in more[each]))]
+        for each in broken:
+            _possible(index, each, more[each], failures)
+        if not broken and (found := _search(index, more, tried, failures)) is not None:
+            return found
+    return None
+
+
+def _possible(index: Index, name: str, owned: list[Owned], failures: list[str]) -> list[Version]:
+    """Return the versions that fit, the newest first; note it if there are none."""
+    constraints = tuple(each for each, _ in owned)
+    found = [version for version in index.versions(name) if fits(version, constraints)]
+    if not found:
+        failures.append(f"{name}: no version fits " + ", ".join(f"{each} ({who})" for each, who in owned))
+    return found
diff --git a/pinion/version.py b/pinion/version.py
--- a/pinion/version.py
+++ b/pinion/version.py
@@ -27,7 +27,13 @@ class Version:
         return bool(self.pre)
 
     def _key(self) -> tuple[object, ...]:
-        return (self.numbers, not self.pre, self.pre)
+        numbers = list(self.numbers)
+        while numbers and numbers[-1] == 0:
+            numbers.pop()
+        if not self.pre:
+            return (tuple(numbers), 3, 0)
+        letters = self.pre.rstrip("0123456789")
+        return (tuple(numbers), ("a", "b", "rc").index(letters), int(self.pre[len(letters) :]))
 
     def __eq__(self, other: object) -> bool:
         return isinstance(other, Version) and self._key() == other._key()
@@ -36,7 +42,7 @@ class Version:
         return self._key() < other._key()
 
     def __hash__(self) -> int:
-        return hash(self.text)
+        return hash(self._key())
 
     def __str__(self) -> str:
         return self.text
PATCH
