#!/bin/bash
cd /srv/pinion
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index bb90e8c..80990f6 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- Pre-releases are chosen if a constraint names one only; the resolver goes back where a choice leads nowhere (#27).
+
 ## 0.4.0 (2026-02-20)
 - `^` and `~` (#22).
 
diff --git a/pinion/constraint.py b/pinion/constraint.py
index 5168e56..ece5880 100644
--- a/pinion/constraint.py
+++ b/pinion/constraint.py
@@ -33,17 +33,21 @@ class Constraint:
         """Return whether a version is in the range; pre-releases are looked at elsewhere."""
         if self.version is None:
             return True
-        if self.operator in _COMPARE:
-            return _COMPARE[self.operator](version, self.version)
-        return self.version <= version < self._end()
+        if self.operator not in _COMPARE:
+            return self.version <= version and _is_before(version, self._end())
+        if self.operator == "<":
+            return _is_before(version, self.version)
+        return _COMPARE[self.operator](version, self.version)
 
     def _end(self) -> Version:
         """Return the first version after a range of `^` or `~`."""
         assert self.version is not None
         numbers = self.version.numbers
         if self.operator == "^":
-            return Version(f"{numbers[0] + 1}")
-        return Version(f"{numbers[0] + 1}.0")
+            at = next((at for at, number in enumerate(numbers) if number), len(numbers) - 1)
+        else:
+            at = max(len(numbers) - 2, 0)
+        return Version(".".join(map(str, (*numbers[:at], numbers[at] + 1))))
 
     @property
     def names_prerelease(self) -> bool:
@@ -53,6 +57,13 @@ class Constraint:
         return f"{self.operator}{self.version}" if self.version else "*"
 
 
+def _is_before(version: Version, end: Version) -> bool:
+    """Return whether a version is before an end; pre-releases of a release are not before it."""
+    if not end.is_prerelease and version.release == end.release:
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
index 45a2e62..88186af 100644
--- a/pinion/resolver.py
+++ b/pinion/resolver.py
@@ -21,19 +21,61 @@ def resolve(index: Index, wanted: Mapping[str, str]) -> dict[str, Version]:
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
+    asked = {name: [(each, "you") for each in read_constraints(text)] for name, text in wanted.items()}
+    search = _Search(index)
+    found = search.choose({}, asked)
+    if found is None:
+        raise ResolutionError(search.reason)
+    return found
+
+
+_Constraints = dict[str, list[tuple[Constraint, str]]]
+
+
+class _Search:
+    """Tries versions, the newest first, and goes back; `reason` is why it had to for the first time."""
+
+    def __init__(self, index: Index) -> None:
+        self._index = index
+        self.reason = ""
+
+    def choose(
+        self, chosen: dict[str, Version], constraints: _Constraints
+    ) -> dict[str, Version] | None:
+        """Return a choice for all packages with constraints; None if there is none."""
+        name = next((name for name in constraints if name not in chosen), None)
+        if name is None:
+            return chosen
+        its = tuple(each for each, _ in constraints[name])
+        fitting = [version for version in self._index.versions(name) if fits(version, its)]
+        if not fitting:
+            self._note(name, constraints)
+        for version in fitting:
+            more = self._with_needs(name, version, constraints)
+            now = {**chosen, name: version}
+            if self._is_broken(now, more):
+                continue
+            found = self.choose(now, more)
+            if found is not None:
+                return found
+        return None
+
+    def _with_needs(self, name: str, version: Version, constraints: _Constraints) -> _Constraints:
+        more = {other: list(each) for other, each in constraints.items()}
+        for other, needed in self._index.needs[name][version].items():
+            more.setdefault(other, []).extend((each, f"{name} {version}") for each in needed)
+        return more
+
+    def _is_broken(self, chosen: dict[str, Version], constraints: _Constraints) -> bool:
+        """Return whether a choice does not fit; note a package of which no version does any more."""
+        for name, version in chosen.items():
+            its = tuple(each for each, _ in constraints[name])
+            if not fits(version, its):
+                if not any(fits(each, its) for each in self._index.versions(name)):
+                    self._note(name, constraints)
+                return True
+        return False
+
+    def _note(self, name: str, constraints: _Constraints) -> None:
+        shown = ", ".join(f"{each} ({who})" for each, who in constraints[name])
+        self.reason = self.reason or f"{name}: no version fits {shown}"
diff --git a/pinion/version.py b/pinion/version.py
index 5f6a3be..d429f78 100644
--- a/pinion/version.py
+++ b/pinion/version.py
@@ -20,14 +20,22 @@ class Version:
             raise VersionError(f"no version: {text!r}")
         self.text = text.strip()
         self.numbers = tuple(int(part) for part in found[1].split("."))
-        self.pre = f"{found[2]}{found[3]}" if found[2] else ""
+        self.pre = (found[2], int(found[3])) if found[2] else ()
 
     @property
     def is_prerelease(self) -> bool:
         return bool(self.pre)
 
+    @property
+    def release(self) -> tuple[int, ...]:
+        """The numbers without zeros at the end."""
+        numbers = self.numbers
+        while len(numbers) > 1 and not numbers[-1]:
+            numbers = numbers[:-1]
+        return numbers
+
     def _key(self) -> tuple[object, ...]:
-        return (self.numbers, not self.pre, self.pre)
+        return (self.release, not self.pre, self.pre)
 
     def __eq__(self, other: object) -> bool:
         return isinstance(other, Version) and self._key() == other._key()
@@ -36,7 +44,7 @@ class Version:
         return self._key() < other._key()
 
     def __hash__(self) -> int:
-        return hash(self.text)
+        return hash(self._key())
 
     def __str__(self) -> str:
         return self.text
PATCH
