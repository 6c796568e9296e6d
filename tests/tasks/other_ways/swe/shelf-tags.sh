#!/bin/bash
set -euo pipefail
cd /srv/shelf
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## 1.5.0 (2026-03-02)
+- Fixed: stale tags, lost tags after `load`, statistics, `lifetime=0` (#58).
+
 ## 1.4.0 (2026-01-18)
 - Tags and `drop_tag` (#52).
 
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -29,6 +29,6 @@ A clock is passed in, so no test sleeps. `python3 -m pytest` runs the tests.
 | `shelf/cache.py` | `Shelf`, the only public class |
 | `shelf/entry.py` | entries and their lifetimes |
 | `shelf/order.py` | the order of use |
-| `shelf/tags.py` | the index from tags to keys |
+| `shelf/tags.py` | which entries carry a tag |
 | `shelf/stats.py` | counters |
 | `shelf/storage.py` | saving and loading |
diff --git a/shelf/cache.py b/shelf/cache.py
--- a/shelf/cache.py
+++ b/shelf/cache.py
@@ -8,7 +8,7 @@ from shelf.entry import Entry
 from shelf.order import UseOrder
 from shelf.stats import Stats
 from shelf.storage import read_shelf, write_shelf
-from shelf.tags import TagIndex
+from shelf.tags import all_tags, keys_with
 
 
 class Shelf:
@@ -29,10 +29,15 @@ class Shelf:
         if limit < 1:
             raise ValueError(f"limit: expected at least 1, got {limit}")
         self.limit, self.lifetime, self.clock = limit, lifetime, clock
-        self.stats = Stats()
+        self._stats = Stats()
         self._entries: dict[Hashable, Entry] = {}
         self._order = UseOrder()
-        self._tags = TagIndex()
+
+    @property
+    def stats(self) -> Stats:
+        """The counters, up to this moment."""
+        self._expire()
+        return self._stats
 
     def put(
         self,
@@ -43,58 +48,51 @@ class Shelf:
         tags: Iterable[str] = (),
     ) -> None:
         """Keep a value under a key; what was there is replaced."""
-        lifetime = lifetime or self.lifetime
+        self._expire()
+        if lifetime is None:
+            lifetime = self.lifetime
         expires = None if lifetime is None else self.clock() + lifetime
-        entry = Entry(value, expires, frozenset(tags))
-        self._entries[key] = entry
+        self._entries[key] = Entry(value, expires, frozenset(tags))
         self._order.touch(key)
-        self._tags.add(key, entry.tags)
         self._make_room()
 
     def get(self, key: Hashable, default: object = None) -> object:
         """Return the value under a key, and count a hit; else the default, and a miss."""
+        self._expire()
         entry = self._entries.get(key)
-        if entry is None or entry.is_expired(self.clock()):
-            if entry is not None:
-                self._remove(key)
-                self.stats.expired += 1
-            self.stats.misses += 1
+        if entry is None:
+            self._stats.misses += 1
             return default
         self._order.touch(key)
-        self.stats.hits += 1
+        self._stats.hits += 1
         return entry.value
 
     def drop(self, key: Hashable) -> bool:
         """Remove an entry; return whether there was one."""
+        self._expire()
         if key not in self._entries:
             return False
-        self._remove(key)
-        self.stats.dropped += 1
+        self._forget(key)
+        self._stats.dropped += 1
         return True
 
     def drop_tag(self, tag: str) -> int:
         """Remove all entries with a tag; return how many they were."""
-        keys = self._tags.keys(tag)
-        count = len(keys)
-        for key in list(keys):
-            self._entries.pop(key, None)
-            self._order.forget(key)
-        keys.clear()
-        self.stats.dropped += count
-        return count
+        self._expire()
+        keys = keys_with(tag, self._entries)
+        for key in keys:
+            self._forget(key)
+        self._stats.dropped += len(keys)
+        return len(keys)
 
     def tags(self) -> list[str]:
         """Return the tags that entries carry, sorted."""
-        return self._tags.tags()
+        self._expire()
+        return all_tags(self._entries)
 
     def sweep(self) -> int:
         """Remove all entries whose lifetime has ended; return how many they were."""
-        now = self.clock()
-        gone = [key for key, entry in self._entries.items() if entry.is_expired(now)]
-        for key in gone:
-            self._remove(key)
-        self.stats.expired += len(gone)
-        return len(gone)
+        return self._expire()
 
     def save(self, path: Path) -> None:
         """Write the shelf to a file."""
@@ -103,10 +101,9 @@ class Shelf:
     def load(self, path: Path) -> None:
         """Replace all entries by those of a file that `save` wrote."""
         self._entries = read_shelf(path, self.clock())
-        self._order, self._tags = UseOrder(), TagIndex()
-        for key, entry in self._entries.items():
+        self._order = UseOrder()
+        for key in self._entries:
             self._order.touch(key)
-            self._tags.add(key, entry.tags)
         self._make_room()
 
     def __contains__(self, key: Hashable) -> bool:
@@ -121,13 +118,21 @@ class Shelf:
         """Iterate over the keys, the least recently used one first."""
         return (key for key in list(self._order) if key in self)
 
-    def _remove(self, key: Hashable) -> None:
-        entry = self._entries.pop(key)
+    def _expire(self) -> int:
+        now = self.clock()
+        gone = [key for key, entry in self._entries.items() if entry.is_expired(now)]
+        for key in gone:
+            self._forget(key)
+        self._stats.expired += len(gone)
+        return len(gone)
+
+    def _forget(self, key: Hashable) -> None:
+        del self._entries[key]
         self._order.forget(key)
-        self._tags.remove(key, entry.tags)
 
     def _make_room(self) -> None:
+        if len(self._entries) > self.limit:
+            self._expire()
         while len(self._entries) > self.limit:
-            self._entries.pop(self._order.oldest())
-            self._order.forget(self._order.oldest())
-            self.stats.evicted += 1
+            self._forget(self._order.oldest())
+            self._stats.evicted += 1
diff --git a/shelf/storage.py b/shelf/storage.py
--- a/shelf/storage.py
+++ b/shelf/storage.py
@@ -18,7 +18,7 @@ def write_shelf(
             continue
         left = None if entry.expires is None else entry.expires - now
         lines.append(
-            json.dumps({"key": key, "value": entry.value, "left": left, "tags": list(entry.tags)})
+            json.dumps({"key": key, "value": entry.value, "left": left, "tags": sorted(entry.tags)})
         )
     path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
 
@@ -29,5 +29,5 @@ def read_shelf(path: Path, now: float) -> dict[Hashable, Entry]:
     for line in path.read_text(encoding="utf-8").splitlines():
         found = json.loads(line)
         expires = None if found["left"] is None else now + found["left"]
-        entries[found["key"]] = Entry(found["value"], expires)
+        entries[found["key"]] = Entry(found["value"], expires, frozenset(found.get("tags", ())))
     return entries
diff --git a/shelf/tags.py b/shelf/tags.py
--- a/shelf/tags.py
+++ b/shelf/tags.py
@@ -1,24 +1,13 @@
-"""The index from tags to the keys that carry them."""
+"""Tags of entries."""
 
-from collections.abc import Hashable, Iterable
+from collections.abc import Hashable, Mapping
 
+from shelf.entry import Entry
 
-class TagIndex:
-    def __init__(self) -> None:
-        self._keys: dict[str, set[Hashable]] = {}
 
-    def add(self, key: Hashable, tags: Iterable[str]) -> None:
-        for tag in tags:
-            self._keys.setdefault(tag, set()).add(key)
+def keys_with(tag: str, entries: Mapping[Hashable, Entry]) -> list[Hashable]:
+    return [key for key, entry in entries.items() if tag in entry.tags]
 
-    def remove(self, key: Hashable, tags: Iterable[str]) -> None:
-        for tag in tags:
-            keys = self._keys.get(tag)
-            if keys is not None:
-                keys.discard(key)
 
-    def keys(self, tag: str) -> set[Hashable]:
-        return self._keys.get(tag, set())
-
-    def tags(self) -> list[str]:
-        return sorted(self._keys)
+def all_tags(entries: Mapping[Hashable, Entry]) -> list[str]:
+    return sorted({tag for entry in entries.values() for tag in entry.tags})
diff --git a/tests/test_left.py b/tests/test_left.py
new file mode 100644
--- /dev/null
+++ b/tests/test_left.py
@@ -0,0 +1,4 @@
+def test_left(shelf):
+    for n in range(5):
+        shelf.put(n, n)
+    assert shelf.stats.left == 2
PATCH
git -c user.name=a -c user.email=a@b stash -q && git stash apply -q
