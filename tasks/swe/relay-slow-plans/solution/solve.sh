#!/bin/bash
cd /srv/relay
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index dd44a13..5b585c4 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- Plans and boards of thousands of jobs are fast again (#44).
+
 ## 0.8.0 (2026-02-24)
 - Priorities (#41).
 - `Board.blocked` (#39).
diff --git a/relay/board.py b/relay/board.py
index 68572fd..acda768 100644
--- a/relay/board.py
+++ b/relay/board.py
@@ -20,6 +20,7 @@ class Board:
         self.graph = graph
         self._order = plan(graph)
         self._states = {name: State.WAITS for name in self._order}
+        self._place = {name: place for place, name in enumerate(self._order)}
 
     def state(self, name: str) -> State:
         if name not in self._states:
@@ -28,28 +29,30 @@ class Board:
 
     def ready(self) -> list[str]:
         """Return the jobs that could be started now, in the order of the plan."""
-        return [
-            name
-            for name in self._order
-            if self.state(name) is State.WAITS
-            and all(self.state(need) is State.DONE for need in self.graph.job(name).needs)
-        ]
+        return [name for name in self._order if self._is_ready(name)]
 
     def blocked(self) -> list[str]:
         """Return the jobs that wait for a job that failed, in the order of the plan."""
-        return [name for name in self._order if self._is_blocked(name)]
+        blocked: set[str] = set()
+        for name in self._order:
+            if self._states[name] is State.WAITS and any(
+                self._states[need] is State.FAILED or need in blocked
+                for need in self.graph.job(name).needs
+            ):
+                blocked.add(name)
+        return sorted(blocked, key=self._place.__getitem__)
 
     def finish(self, name: str) -> list[str]:
         """Note that a job is done; return the jobs that this makes ready."""
-        before = set(self.ready())
         self._expect(name, State.WAITS)
         self._states[name] = State.DONE
-        return [other for other in self.ready() if other not in before]
+        ready = [other for other in self.graph.dependents(name) if self._is_ready(other)]
+        return sorted(ready, key=self._place.__getitem__)
 
     def fail(self, name: str) -> list[str]:
         """Note that a job failed; return the jobs that this blocks."""
-        before = set(self.blocked())
         self._expect(name, State.WAITS)
+        before = set(self.blocked())
         self._states[name] = State.FAILED
         return [other for other in self.blocked() if other not in before]
 
@@ -58,16 +61,13 @@ class Board:
         self._expect(name, State.FAILED)
         self._states[name] = State.WAITS
 
-    def _is_blocked(self, name: str) -> bool:
-        if self.state(name) is not State.WAITS:
-            return False
-        needs = self.graph.job(name).needs
-        return any(
-            self.state(need) is State.FAILED or self._is_blocked(need) for need in needs
+    def _is_ready(self, name: str) -> bool:
+        return self._states[name] is State.WAITS and all(
+            self._states[need] is State.DONE for need in self.graph.job(name).needs
         )
 
     def _expect(self, name: str, state: State) -> None:
         if self.state(name) is not state:
             raise JobError(f"{name}: {self.state(name).value}, expected that it {state.value}")
-        if state is State.WAITS and name not in self.ready():
+        if state is State.WAITS and not self._is_ready(name):
             raise JobError(f"{name}: is not ready")
diff --git a/relay/circles.py b/relay/circles.py
index 8d3f532..a70ee69 100644
--- a/relay/circles.py
+++ b/relay/circles.py
@@ -9,17 +9,45 @@ def find_circle(graph: Graph) -> list[str] | None:
     Each name is followed by one that it needs. Of several circles, one with the smallest name that
     is part of any is returned.
     """
-    for name in graph.names():
-        if found := _path_back(graph, name, name, ()):
+    left = _in_circles_or_between(graph)
+    for name in sorted(left):
+        if found := _path_back(graph, name, left):
             return found
     return None
 
 
-def _path_back(graph: Graph, start: str, here: str, seen: tuple[str, ...]) -> list[str] | None:
-    for need in sorted(graph.job(here).needs):
-        if need == start:
-            return [*seen, here]
-        if need not in seen and need > start:
-            if found := _path_back(graph, start, need, (*seen, here)):
-                return found
+def _in_circles_or_between(graph: Graph) -> set[str]:
+    """Return the jobs that remain when those without open needs leave, again and again."""
+    open_needs = {job.name: len(set(job.needs)) for job in graph}
+    free = [name for name, count in open_needs.items() if not count]
+    left = set(open_needs)
+    while free:
+        name = free.pop()
+        left.discard(name)
+        for dependent in graph.dependents(name):
+            open_needs[dependent] -= 1
+            if not open_needs[dependent]:
+                free.append(dependent)
+    return left
+
+
+def _path_back(graph: Graph, start: str, left: set[str]) -> list[str] | None:
+    """Return a path from a job back to itself over larger names, depth first."""
+    path, seen = [start], {start}
+    waiting = [_needs(graph, start, left)]
+    while path:
+        need = next(waiting[-1], None)
+        if need is None:
+            path.pop()
+            waiting.pop()
+        elif need == start:
+            return path
+        elif need not in seen and need > start:
+            seen.add(need)
+            path.append(need)
+            waiting.append(_needs(graph, need, left))
     return None
+
+
+def _needs(graph: Graph, name: str, left: set[str]):
+    return (need for need in sorted(graph.job(name).needs) if need in left)
diff --git a/relay/graph.py b/relay/graph.py
index 121610b..95e3026 100644
--- a/relay/graph.py
+++ b/relay/graph.py
@@ -19,7 +19,8 @@ class Graph:
     """Jobs by name."""
 
     def __init__(self, jobs: Iterable[Job] = ()) -> None:
-        self._jobs: list[Job] = []
+        self._jobs: dict[str, Job] = {}
+        self._dependents: dict[str, list[str]] = {}
         for job in jobs:
             self.add(job)
 
@@ -27,35 +28,36 @@ class Graph:
         """Add a job; a name can be used once."""
         if job.name in self:
             raise JobError(f"{job.name}: defined twice")
-        self._jobs.append(job)
+        self._jobs[job.name] = job
+        for need in dict.fromkeys(job.needs):
+            self._dependents.setdefault(need, []).append(job.name)
 
     def job(self, name: str) -> Job:
         """Return a job; an unknown name is a JobError."""
-        for job in self._jobs:
-            if job.name == name:
-                return job
-        raise JobError(f"{name}: unknown job")
+        if name not in self._jobs:
+            raise JobError(f"{name}: unknown job")
+        return self._jobs[name]
 
     def names(self) -> list[str]:
         """Return all names, sorted."""
-        return sorted(job.name for job in self._jobs)
+        return sorted(self._jobs)
 
     def dependents(self, name: str) -> list[str]:
         """Return the names of the jobs that need a job directly, sorted."""
-        return sorted(job.name for job in self._jobs if name in job.needs)
+        return sorted(self._dependents.get(name, ()))
 
     def check(self) -> None:
         """Raise JobError if a job needs one that is not there."""
-        for job in self._jobs:
+        for job in self._jobs.values():
             for need in job.needs:
                 if need not in self:
                     raise JobError(f"{job.name}: needs {need}, which is unknown")
 
     def __contains__(self, name: object) -> bool:
-        return any(job.name == name for job in self._jobs)
+        return name in self._jobs
 
     def __iter__(self) -> Iterator[Job]:
-        return iter(self._jobs)
+        return iter(self._jobs.values())
 
     def __len__(self) -> int:
         return len(self._jobs)
diff --git a/relay/order.py b/relay/order.py
index 23122ae..c6981a9 100644
--- a/relay/order.py
+++ b/relay/order.py
@@ -1,5 +1,7 @@
 """Orders in which jobs can run."""
 
+import heapq
+
 from relay.circles import find_circle
 from relay.errors import CircleError
 from relay.graph import Graph
@@ -18,13 +20,15 @@ def plan(graph: Graph) -> list[str]:
     graph.check()
     if circle := find_circle(graph):
         raise CircleError(circle)
+    open_needs = {job.name: len(set(job.needs)) for job in graph}
+    could = [(-job.priority, job.name) for job in graph if not job.needs]
+    heapq.heapify(could)
     order: list[str] = []
-    while len(order) < len(graph):
-        could = [
-            job
-            for job in graph
-            if job.name not in order and all(need in order for need in job.needs)
-        ]
-        could.sort(key=lambda job: (-job.priority, job.name))
-        order.append(could[0].name)
+    while could:
+        name = heapq.heappop(could)[1]
+        order.append(name)
+        for dependent in graph.dependents(name):
+            open_needs[dependent] -= 1
+            if not open_needs[dependent]:
+                heapq.heappush(could, (-graph.job(dependent).priority, dependent))
     return order
PATCH
