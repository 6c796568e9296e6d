#!/bin/bash
cd /srv/shelf
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index b2b87a2..7f73080 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,9 @@
 # Changelog
 
+## Unreleased
+- Tags follow their entries: after another `put`, an eviction, an expiry and a `load` (#55).
+- Every entry that leaves is counted once (#55).
+
 ## 1.4.0 (2026-01-18)
 - Tags and `drop_tag` (#52).
 
diff --git a/shelf/cache.py b/shelf/cache.py
index 31610cf..359237a 100644
--- a/shelf/cache.py
+++ b/shelf/cache.py
@@ -43,9 +43,13 @@ class Shelf:
         tags: Iterable[str] = (),
     ) -> None:
         """Keep a value under a key; what was there is replaced."""
-        lifetime = lifetime or self.lifetime
+        lifetime = self.lifetime if lifetime is None else lifetime
         expires = None if lifetime is None else self.clock() + lifetime
         entry = Entry(value, expires, frozenset(tags))
+        if (old := self._entries.get(key)) is not None:
+            if old.is_expired(self.clock()):
+                self.stats.expired += 1
+            self._remove(key)
         self._entries[key] = entry
         self._order.touch(key)
         self._tags.add(key, entry.tags)
@@ -68,24 +72,31 @@ class Shelf:
         """Remove an entry; return whether there was one."""
         if key not in self._entries:
             return False
+        expired = self._entries[key].is_expired(self.clock())
         self._remove(key)
+        if expired:
+            self.stats.expired += 1
+            return False
         self.stats.dropped += 1
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
+        now, count = self.clock(), 0
+        for key in list(self._tags.keys(tag)):
+            if self._entries[key].is_expired(now):
+                self.stats.expired += 1
+            else:
+                self.stats.dropped += 1
+                count += 1
+            self._remove(key)
         return count
 
     def tags(self) -> list[str]:
         """Return the tags that entries carry, sorted."""
-        return self._tags.tags()
+        now = self.clock()
+        live = (entry for entry in self._entries.values() if not entry.is_expired(now))
+        return sorted({tag for entry in live for tag in entry.tags})
 
     def sweep(self) -> int:
         """Remove all entries whose lifetime has ended; return how many they were."""
@@ -127,7 +138,8 @@ class Shelf:
         self._tags.remove(key, entry.tags)
 
     def _make_room(self) -> None:
+        if len(self._entries) > self.limit:
+            self.sweep()
         while len(self._entries) > self.limit:
-            self._entries.pop(self._order.oldest())
-            self._order.forget(self._order.oldest())
+            self._remove(self._order.oldest())
             self.stats.evicted += 1
diff --git a/shelf/storage.py b/shelf/storage.py
index 1a24f59..8e88382 100644
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
index 1eefd9d..b6e5397 100644
--- a/shelf/tags.py
+++ b/shelf/tags.py
@@ -16,9 +16,8 @@ class TagIndex:
             keys = self._keys.get(tag)
             if keys is not None:
                 keys.discard(key)
+                if not keys:
+                    del self._keys[tag]
 
     def keys(self, tag: str) -> set[Hashable]:
         return self._keys.get(tag, set())
-
-    def tags(self) -> list[str]:
-        return sorted(self._keys)
PATCH
