#!/bin/bash
cd /srv/bell
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index f64b5bd..99b4abe 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- Subscribers, retained messages and the journal have the order that the README states again (#93).
+
 ## 1.6.0 (2026-02-27)
 - An index of patterns: buses with thousands of subscriptions are fast (#88).
 - `Bus.journal` (#84).
diff --git a/bell/bus.py b/bell/bus.py
index 3d85d3a..dd9a3fe 100644
--- a/bell/bus.py
+++ b/bell/bus.py
@@ -45,7 +45,7 @@ class Bus:
     def _deliver(self, topic: str, message: Any, subscriptions: list[Subscription]) -> int:
         names = self._journal.begin(topic)
         for subscription in subscriptions:
-            names.add(subscription.name)
+            names.append(subscription.name)
             try:
                 subscription.handler(topic, message)
             except Exception as error:
diff --git a/bell/index.py b/bell/index.py
index 6a14c52..36b62c9 100644
--- a/bell/index.py
+++ b/bell/index.py
@@ -1,7 +1,8 @@
 """Finds the subscriptions that match a topic, without a look at all of them."""
 
+import itertools
 from collections.abc import Callable
-from dataclasses import dataclass
+from dataclasses import dataclass, replace
 from typing import Any
 
 from bell.topics import matches
@@ -11,12 +12,13 @@ Handler = Callable[[str, Any], None]
 
 @dataclass(frozen=True)
 class Subscription:
-    """A handler and its pattern. `name` is unique in a bus."""
+    """A handler and its pattern. `name` is unique in a bus, `number` counts subscriptions."""
 
     name: str
     pattern: tuple[str, ...]
     handler: Handler
     priority: int = 0
+    number: int = 0
 
 
 class Index:
@@ -25,8 +27,10 @@ class Index:
     def __init__(self) -> None:
         self._subscriptions: dict[str, Subscription] = {}
         self._by_first: dict[str, set[str]] = {}
+        self._numbers = itertools.count()
 
     def add(self, subscription: Subscription) -> None:
+        subscription = replace(subscription, number=next(self._numbers))
         self._subscriptions[subscription.name] = subscription
         self._by_first.setdefault(subscription.pattern[0], set()).add(subscription.name)
 
@@ -44,4 +48,4 @@ class Index:
             names |= self._by_first.get(first, set())
         found = [self._subscriptions[name] for name in names]
         found = [each for each in found if matches(each.pattern, topic)]
-        return sorted(found, key=lambda each: -each.priority)
+        return sorted(found, key=lambda each: (-each.priority, each.number))
diff --git a/bell/journal.py b/bell/journal.py
index f5b4729..9b2e9b4 100644
--- a/bell/journal.py
+++ b/bell/journal.py
@@ -5,11 +5,11 @@ class Journal:
     """Lines `topic -> names`, one a message."""
 
     def __init__(self) -> None:
-        self._deliveries: list[tuple[str, set[str]]] = []
+        self._deliveries: list[tuple[str, list[str]]] = []
 
-    def begin(self, topic: str) -> set[str]:
+    def begin(self, topic: str) -> list[str]:
         """Begin a line; the names that are added to the result belong to it."""
-        names: set[str] = set()
+        names: list[str] = []
         self._deliveries.append((topic, names))
         return names
 
diff --git a/bell/retained.py b/bell/retained.py
index 3386115..c3b6877 100644
--- a/bell/retained.py
+++ b/bell/retained.py
@@ -13,12 +13,15 @@ class Retained:
 
     def keep(self, topic: str, message: Any) -> None:
         """Keep the last message of a topic; None removes what is kept."""
-        if message is None:
-            self._messages.pop(topic, None)
-        else:
+        # A message that replaces another one is the newest.
+        self._messages.pop(topic, None)
+        if message is not None:
             self._messages[topic] = message
 
     def find(self, pattern: tuple[str, ...]) -> list[tuple[str, Any]]:
-        """Return the topics that a pattern matches, with their messages."""
-        topics = {topic for topic in self._messages if matches(pattern, check_topic(topic))}
-        return [(topic, self._messages[topic]) for topic in topics]
+        """Return the topics that a pattern matches, with their messages, the oldest first."""
+        return [
+            (topic, message)
+            for topic, message in self._messages.items()
+            if matches(pattern, check_topic(topic))
+        ]
PATCH
