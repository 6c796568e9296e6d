#!/bin/bash
set -euo pipefail
cd /srv/bell
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,9 @@
 # Changelog
 
+## 1.6.1 (2026-03-04)
+- Orders no longer depend on the hash seed: subscribers with equal priorities, retained messages,
+  and the names in `Bus.journal()` (#93).
+
 ## 1.6.0 (2026-02-27)
 - An index of patterns: buses with thousands of subscriptions are fast (#88).
 - `Bus.journal` (#84).
diff --git a/bell/index.py b/bell/index.py
--- a/bell/index.py
+++ b/bell/index.py
@@ -2,6 +2,8 @@
 
 from collections.abc import Callable
 from dataclasses import dataclass
+from heapq import merge
+from itertools import count
 from typing import Any
 
 from bell.topics import matches
@@ -24,24 +26,25 @@ class Index:
 
     def __init__(self) -> None:
         self._subscriptions: dict[str, Subscription] = {}
-        self._by_first: dict[str, set[str]] = {}
+        self._by_first: dict[str, dict[str, int]] = {}
+        self._numbers = count()
 
     def add(self, subscription: Subscription) -> None:
         self._subscriptions[subscription.name] = subscription
-        self._by_first.setdefault(subscription.pattern[0], set()).add(subscription.name)
+        self._by_first.setdefault(subscription.pattern[0], {})[subscription.name] = next(self._numbers)
 
     def remove(self, name: str) -> None:
         subscription = self._subscriptions.pop(name)
-        self._by_first[subscription.pattern[0]].discard(name)
+        self._by_first[subscription.pattern[0]].pop(name, None)
 
     def __contains__(self, name: str) -> bool:
         return name in self._subscriptions
 
     def find(self, topic: tuple[str, ...]) -> list[Subscription]:
         """Return the subscriptions that match a topic, the next to be called first."""
-        names: set[str] = set()
-        for first in (topic[0], "*", "#"):
-            names |= self._by_first.get(first, set())
-        found = [self._subscriptions[name] for name in names]
+        buckets = [self._by_first.get(first, {}).items() for first in (topic[0], "*", "#")]
+        oldest_first = merge(*([(at, name) for name, at in each] for each in buckets))
+        found = [self._subscriptions[name] for _, name in oldest_first]
         found = [each for each in found if matches(each.pattern, topic)]
-        return sorted(found, key=lambda each: -each.priority)
+        found.sort(key=lambda each: each.priority, reverse=True)
+        return found
diff --git a/bell/journal.py b/bell/journal.py
--- a/bell/journal.py
+++ b/bell/journal.py
@@ -1,15 +1,22 @@
 """A journal of deliveries."""
 
 
+class Names(dict):
+    """Names, each once, in the order in which they were added."""
+
+    def add(self, name: str) -> None:
+        self[name] = None
+
+
 class Journal:
     """Lines `topic -> names`, one a message."""
 
     def __init__(self) -> None:
-        self._deliveries: list[tuple[str, set[str]]] = []
+        self._deliveries: list[tuple[str, Names]] = []
 
-    def begin(self, topic: str) -> set[str]:
+    def begin(self, topic: str) -> Names:
         """Begin a line; the names that are added to the result belong to it."""
-        names: set[str] = set()
+        names = Names()
         self._deliveries.append((topic, names))
         return names
 
diff --git a/bell/retained.py b/bell/retained.py
--- a/bell/retained.py
+++ b/bell/retained.py
@@ -9,16 +9,23 @@ class Retained:
     """Messages by topic."""
 
     def __init__(self) -> None:
-        self._messages: dict[str, Any] = {}
+        self._messages: dict[str, tuple[int, Any]] = {}
+        self._at = 0
 
     def keep(self, topic: str, message: Any) -> None:
         """Keep the last message of a topic; None removes what is kept."""
         if message is None:
             self._messages.pop(topic, None)
         else:
-            self._messages[topic] = message
+            self._at += 1
+            self._messages[topic] = (self._at, message)
 
     def find(self, pattern: tuple[str, ...]) -> list[tuple[str, Any]]:
         """Return the topics that a pattern matches, with their messages."""
-        topics = {topic for topic in self._messages if matches(pattern, check_topic(topic))}
-        return [(topic, self._messages[topic]) for topic in topics]
+        found = [
+            (at, topic, message)
+            for topic, (at, message) in self._messages.items()
+            if matches(pattern, check_topic(topic))
+        ]
+        found.sort(key=lambda each: each[0])
+        return [(topic, message) for _, topic, message in found]
diff --git a/tests/orders/test_promised_orders.py b/tests/orders/test_promised_orders.py
new file mode 100644
--- /dev/null
+++ b/tests/orders/test_promised_orders.py
@@ -0,0 +1,9 @@
+from bell import Bus
+
+
+def test_many_names_in_order():
+    bus, heard = Bus(), []
+    for n in range(50):
+        bus.subscribe('a/#' if n % 2 else '*/b', lambda t, m, n=n: heard.append(n), name=f's{n}')
+    bus.publish('a/b', 1)
+    assert heard == list(range(50))
PATCH
git -c user.name=me -c user.email=me@x checkout -q -b fix && git add -A && git -c user.name=me -c user.email=me@x commit -qm 'Keep promised orders (#93)' && git checkout -q main && git -c user.name=me -c user.email=me@x merge -q --no-ff -m 'Merge fix' fix && git branch -D -q fix
