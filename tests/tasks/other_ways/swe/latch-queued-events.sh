#!/bin/bash
set -euo pipefail
cd /srv/latch
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## 0.8.0 (2026-03-02)
+- Events are queued; transitions are all or nothing (#61).
+
 ## 0.7.0 (2026-02-25)
 - Watchers (#57).
 - `Machine.can` (#55).
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -43,6 +43,13 @@ machine.states                      # ("open", "open.free")
 | `latch/chart.py` | states and transitions |
 | `latch/reader.py` | charts from dictionaries, and what is wrong with them |
 | `latch/machine.py` | `Machine` |
+| `latch/inbox.py` | events that wait |
 | `latch/moves.py` | what a transition leaves and enters |
 | `latch/timers.py` | timers |
 | `latch/dot.py` | charts as Graphviz text |
+
+## Busy machines
+
+A machine handles one event after the other. What actions, guards and watchers send waits its turn, and `send` returns `False` for it. An action or a guard that
+raises undoes its transition, timers included; the outermost call raises the first error in the end. Watchers see complete transitions only.
+`advance` handles timers at their own times. After 1000 events in one call there is a `ChartError`.
diff --git a/latch/inbox.py b/latch/inbox.py
new file mode 100644
--- /dev/null
+++ b/latch/inbox.py
@@ -0,0 +1,32 @@
+"""Events that wait."""
+
+from typing import Any
+
+
+class Inbox:
+    """A queue whose newest entries can be forgotten."""
+
+    def __init__(self) -> None:
+        self._events: list[Any] = []
+        self._next = 0
+
+    def put(self, event: Any) -> None:
+        self._events.append(event)
+
+    def next(self) -> Any | None:
+        """Take out the oldest event; None if nothing waits."""
+        if self._next == len(self._events):
+            self.clear()
+            return None
+        self._next += 1
+        return self._events[self._next - 1]
+
+    def mark(self) -> int:
+        return len(self._events)
+
+    def back_to(self, mark: int) -> None:
+        """Forget what came after a mark."""
+        del self._events[mark:]
+
+    def clear(self) -> None:
+        self._events, self._next = [], 0
diff --git a/latch/machine.py b/latch/machine.py
--- a/latch/machine.py
+++ b/latch/machine.py
@@ -1,12 +1,14 @@
 """Machines: a chart, and where one is in it."""
 
-from collections.abc import Callable, Iterable, Mapping
+from collections.abc import Callable, Iterable, Iterator, Mapping
+from contextlib import contextmanager
 from dataclasses import dataclass, field
 from typing import Any
 
 from latch.chart import Chart, ChartError, State, Transition
+from latch.inbox import Inbox
 from latch.moves import entered, move
-from latch.timers import Timers
+from latch.timers import Timer, Timers
 
 
 @dataclass(frozen=True)
@@ -19,6 +21,9 @@ Function = Callable[["Machine", Event], Any]
 Watcher = Callable[["Machine", Event, tuple[str, ...], tuple[str, ...]], None]
 
 
+MOST_EVENTS = 1000
+
+
 class Machine:
     """A machine that follows a chart.
 
@@ -38,6 +43,10 @@ class Machine:
         self._active: list[State] = []
         self._timers = Timers()
         self._watchers: list[Watcher] = []
+        self._inbox = Inbox()
+        self._errors: list[Exception] = []
+        self._busy = False
+        self._handled = 0
 
     @property
     def states(self) -> tuple[str, ...]:
@@ -59,19 +68,27 @@ class Machine:
         Raises:
             ChartError: The machine has started already.
         """
-        if self._active:
+        if self._active or self._busy:
             raise ChartError("the machine has started already")
         root = self.chart.root
-        self._enter(entered(self.chart, root, root), Event("start"), ())
+        inner = entered(self.chart, root, root)
+        with self._outermost():
+            self._handle(Event("start"), lambda event: self._enter(inner, event) or True)
+            self._handle_waiting()
 
     def send(self, name: str, /, **data: Any) -> bool:
-        """Handle an event; return whether a transition was taken."""
+        """Handle an event; return whether a transition was taken.
+
+        An event that is sent while the machine is busy waits, and the result is False.
+        """
         event = Event(name, data)
-        transition = self._find(event)
-        if transition is None:
+        if self._busy:
+            self._inbox.put(event)
             return False
-        self._take(transition, event)
-        return True
+        with self._outermost():
+            taken = self._handle(event, self._on_event)
+            self._handle_waiting()
+        return taken
 
     def can(self, name: str, /, **data: Any) -> bool:
         """Return whether an event would be handled now."""
@@ -79,12 +96,65 @@ class Machine:
 
     def advance(self, now: float) -> None:
         """Tell the time, in seconds from the start of the machine."""
-        self.now = now
-        for timer in self._timers.due(now):
-            event = Event("after")
-            transition = self._first(timer.transitions, event)
-            if transition is not None:
-                self._take(transition, event)
+        if self._busy:
+            raise ChartError("the time cannot go on within a transition")
+        now = max(now, self.now)
+        with self._outermost():
+            try:
+                while (timer := self._timers.take(now)) is not None:
+                    self.now = max(self.now, timer.due)
+                    self._handle(Event("after"), lambda event: self._on_timer(timer, event))
+                    self._handle_waiting()
+            finally:
+                self.now = now
+
+    @contextmanager
+    def _outermost(self) -> Iterator[None]:
+        self._busy, self._handled, self._errors = True, 0, []
+        try:
+            yield
+        except ChartError as error:
+            self._errors.append(error)
+        finally:
+            self._busy = False
+            self._inbox.clear()
+        if self._errors:
+            raise self._errors[0]
+
+    def _handle_waiting(self) -> None:
+        while (event := self._inbox.next()) is not None:
+            self._handle(event, self._on_event)
+
+    def _handle(self, event: Event, work: Callable[[Event], bool]) -> bool:
+        """Do the work of an event as a whole or not at all; errors are kept."""
+        if self._handled == MOST_EVENTS:
+            raise ChartError(f"more than {MOST_EVENTS} events in one call: do they cause each other?")
+        self._handled += 1
+        before, active = self.states, list(self._active)
+        timers, mark = self._timers.copy(), self._inbox.mark()
+        try:
+            taken = work(event)
+        except BaseException as error:
+            self._active = active
+            self._timers.restore(timers)
+            self._inbox.back_to(mark)
+            if not isinstance(error, Exception):
+                raise
+            self._errors.append(error)
+            return False
+        if taken:
+            for watcher in list(self._watchers):
+                try:
+                    watcher(self, event, before, self.states)
+                except Exception as error:
+                    self._errors.append(error)
+        return taken
+
+    def _on_event(self, event: Event) -> bool:
+        return self._take(self._find(event), event)
+
+    def _on_timer(self, timer: Timer, event: Event) -> bool:
+        return self._take(self._first(timer.transitions, event), event)
 
     def _find(self, event: Event) -> Transition | None:
         for state in reversed(self._active):
@@ -99,26 +169,26 @@ class Machine:
                 return transition
         return None
 
-    def _take(self, transition: Transition, event: Event) -> None:
-        before = self.states
+    def _take(self, transition: Transition | None, event: Event) -> bool:
+        if transition is None:
+            return False
         if transition.target is None:
             self._call(transition.action, event)
-            return
+            return True
         left, inner = move(self.chart, self._active[-1], transition)
         for state in left:
             self._call(state.exit, event)
             self._timers.end(state)
             self._active.remove(state)
         self._call(transition.action, event)
-        self._enter(inner, event, before)
+        self._enter(inner, event)
+        return True
 
-    def _enter(self, states: list[State], event: Event, before: tuple[str, ...]) -> None:
+    def _enter(self, states: list[State], event: Event) -> None:
         for state in states:
             self._active.append(state)
             self._timers.begin(state, self.now)
             self._call(state.entry, event)
-        for watcher in self._watchers:
-            watcher(self, event, before, self.states)
 
     def _call(self, name: str | None, event: Event) -> None:
         if name is not None:
diff --git a/latch/timers.py b/latch/timers.py
--- a/latch/timers.py
+++ b/latch/timers.py
@@ -27,11 +27,19 @@ class Timers:
         """End the timers of a state that is left."""
         self._running = [timer for timer in self._running if timer.state is not state]
 
-    def due(self, now: float) -> list[Timer]:
-        """Take out the timers that have run out."""
-        found = [timer for timer in self._running if timer.due <= now]
-        self._running = [timer for timer in self._running if timer.due > now]
+    def take(self, now: float) -> Timer | None:
+        """Take out the timer that runs out first, the outer one of two, if it has by now."""
+        found = min(self._running, key=lambda timer: (timer.due, timer.state.path.count(".")), default=None)
+        if found is None or found.due > now:
+            return None
+        self._running.remove(found)
         return found
 
+    def copy(self) -> list[Timer]:
+        return list(self._running)
+
+    def restore(self, running: list[Timer]) -> None:
+        self._running = list(running)
+
     def __len__(self) -> int:
         return len(self._running)
PATCH
