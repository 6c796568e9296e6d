#!/bin/bash
cd /srv/latch
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index 83f8d1f..2f5b59e 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- Events that are sent while the machine is busy wait; a transition that fails did not take place (#61).
+
 ## 0.7.0 (2026-02-25)
 - Watchers (#57).
 - `Machine.can` (#55).
diff --git a/README.md b/README.md
index b20ee1b..820c45d 100644
--- a/README.md
+++ b/README.md
@@ -35,6 +35,11 @@ machine.states                      # ("open", "open.free")
   tells the machine what time it is, in seconds from its start. Leaving the state ends the timer.
 * **Watchers**: `machine.watch(function)`; the function gets the machine, the event, and the states before and after.
 
+* **Events wait** if they are sent while the machine is busy, and are handled in the order in which they were sent. `send`
+  returns `False` for them. If an action or a guard raises, the states and timers are those from before, and what the
+  transition had sent is forgotten. The outermost `send` or `advance` raises the first error when nothing waits any more.
+  More than 1000 events in one call are a `ChartError`.
+
 `send` returns whether a transition was taken, `can` whether one would be. The start is the event `start`, timers are events
 `after`.
 
diff --git a/latch/machine.py b/latch/machine.py
index cb7fdda..643e457 100644
--- a/latch/machine.py
+++ b/latch/machine.py
@@ -8,6 +8,8 @@ from latch.chart import Chart, ChartError, State, Transition
 from latch.moves import entered, move
 from latch.timers import Timers
 
+_MOST_EVENTS = 1000
+
 
 @dataclass(frozen=True)
 class Event:
@@ -38,6 +40,10 @@ class Machine:
         self._active: list[State] = []
         self._timers = Timers()
         self._watchers: list[Watcher] = []
+        self._busy = False
+        self._waiting: list[Event] = []
+        self._errors: list[Exception] = []
+        self._handled = 0
 
     @property
     def states(self) -> tuple[str, ...]:
@@ -59,19 +65,24 @@ class Machine:
         Raises:
             ChartError: The machine has started already.
         """
-        if self._active:
+        if self._active or self._busy:
             raise ChartError("the machine has started already")
-        root = self.chart.root
-        self._enter(entered(self.chart, root, root), Event("start"), ())
+        event = Event("start")
+        self._run(lambda: self._step(event, lambda: self._begin(event)))
 
     def send(self, name: str, /, **data: Any) -> bool:
-        """Handle an event; return whether a transition was taken."""
+        """Handle an event; return whether a transition was taken.
+
+        While the machine is busy, the event waits and the result is False.
+
+        Raises:
+            ChartError: More than 1000 events were handled, and some still wait.
+        """
         event = Event(name, data)
-        transition = self._find(event)
-        if transition is None:
+        if self._busy:
+            self._waiting.append(event)
             return False
-        self._take(transition, event)
-        return True
+        return self._run(lambda: self._react(event))
 
     def can(self, name: str, /, **data: Any) -> bool:
         """Return whether an event would be handled now."""
@@ -79,12 +90,62 @@ class Machine:
 
     def advance(self, now: float) -> None:
         """Tell the time, in seconds from the start of the machine."""
-        self.now = now
-        for timer in self._timers.due(now):
-            event = Event("after")
-            transition = self._first(timer.transitions, event)
-            if transition is not None:
-                self._take(transition, event)
+        if self._busy:
+            raise ChartError("time does not pass while the machine is busy")
+        self._run(lambda: self._pass_time(now))
+
+    def _pass_time(self, now: float) -> bool:
+        while (timer := self._timers.take_next(now)) is not None:
+            self.now = max(self.now, timer.due)
+            self._step(event := Event("after"), lambda: self._try(timer.transitions, event))
+            self._handle_waiting()
+        self.now = max(self.now, now)
+        return True
+
+    def _run(self, work: Callable[[], bool]) -> bool:
+        """Do the work of one call from outside, and all that waits; raise the first error."""
+        self._busy, self._handled, self._errors = True, 0, []
+        try:
+            done = work()
+            self._handle_waiting()
+        finally:
+            self._busy = False
+            self._waiting.clear()
+        if self._errors:
+            raise self._errors[0]
+        return done
+
+    def _handle_waiting(self) -> None:
+        while self._waiting:
+            self._react(self._waiting.pop(0))
+
+    def _react(self, event: Event) -> bool:
+        return self._step(event, lambda: self._take(self._find(event), event))
+
+    def _step(self, event: Event, act: Callable[[], bool]) -> bool:
+        """Handle one event as a whole, or not at all; return whether a transition was taken."""
+        self._handled += 1
+        if self._handled > _MOST_EVENTS:
+            raise ChartError(f"more than {_MOST_EVENTS} events in one call, the last: {event.name}")
+        active, timers, waiting = list(self._active), self._timers.saved(), len(self._waiting)
+        try:
+            taken = act()
+        except Exception as error:
+            self._active = active
+            self._timers.restore(timers)
+            del self._waiting[waiting:]
+            self._errors.append(error)
+            return False
+        if taken:
+            self._tell(event, tuple(state.path for state in active))
+        return taken
+
+    def _tell(self, event: Event, before: tuple[str, ...]) -> None:
+        for watcher in list(self._watchers):
+            try:
+                watcher(self, event, before, self.states)
+            except Exception as error:
+                self._errors.append(error)
 
     def _find(self, event: Event) -> Transition | None:
         for state in reversed(self._active):
@@ -99,26 +160,34 @@ class Machine:
                 return transition
         return None
 
-    def _take(self, transition: Transition, event: Event) -> None:
-        before = self.states
+    def _try(self, transitions: Iterable[Transition], event: Event) -> bool:
+        return self._take(self._first(transitions, event), event)
+
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
+
+    def _begin(self, event: Event) -> bool:
+        root = self.chart.root
+        self._enter(entered(self.chart, root, root), event)
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
index a6ba6c2..2d2c244 100644
--- a/latch/timers.py
+++ b/latch/timers.py
@@ -27,11 +27,21 @@ class Timers:
         """End the timers of a state that is left."""
         self._running = [timer for timer in self._running if timer.state is not state]
 
-    def due(self, now: float) -> list[Timer]:
-        """Take out the timers that have run out."""
+    def take_next(self, now: float) -> Timer | None:
+        """Take out the timer that ran out first, that of the outer state if times are equal."""
         found = [timer for timer in self._running if timer.due <= now]
-        self._running = [timer for timer in self._running if timer.due > now]
-        return found
+        if not found:
+            return None
+        first = min(found, key=lambda timer: (timer.due, timer.state.path.count(".")))
+        self._running.remove(first)
+        return first
+
+    def saved(self) -> list[Timer]:
+        """Return what `restore` takes."""
+        return list(self._running)
+
+    def restore(self, saved: list[Timer]) -> None:
+        self._running = list(saved)
 
     def __len__(self) -> int:
         return len(self._running)
PATCH
