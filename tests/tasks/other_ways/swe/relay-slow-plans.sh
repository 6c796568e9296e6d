#!/bin/bash
set -euo pipefail
cd /srv/relay
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## 0.8.1 (2026-03-10)
+- Plans and boards are fast for many jobs again.
+
 ## 0.8.0 (2026-02-24)
 - Priorities (#41).
 - `Board.blocked` (#39).
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -37,6 +37,6 @@ board.blocked()                   # ["index", "report"]
 |---|---|
 | `relay/graph.py` | jobs and what they depend on |
 | `relay/order.py` | `plan` |
-| `relay/circles.py` | how circles are found |
+| `relay/circles.py`, `relay/components.py` | how circles are found |
 | `relay/board.py` | `Board`, the states of jobs |
 | `relay/reader.py` | job files |
diff --git a/relay/board.py b/relay/board.py
--- a/relay/board.py
+++ b/relay/board.py
@@ -19,7 +19,9 @@ class Board:
     def __init__(self, graph: Graph) -> None:
         self.graph = graph
         self._order = plan(graph)
+        self._at = {name: at for at, name in enumerate(self._order)}
         self._states = {name: State.WAITS for name in self._order}
+        self._missing = {name: len(set(graph.job(name).needs)) for name in self._order}
 
     def state(self, name: str) -> State:
         if name not in self._states:
@@ -28,46 +30,54 @@ class Board:
 
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
+        stopped: set[str] = set()
+        found = []
+        for name in self._order:
+            if self._states[name] is State.FAILED:
+                stopped.add(name)
+            elif self._states[name] is State.WAITS and not stopped.isdisjoint(self.graph.job(name).needs):
+                stopped.add(name)
+                found.append(name)
+        return found
 
     def finish(self, name: str) -> list[str]:
         """Note that a job is done; return the jobs that this makes ready."""
-        before = set(self.ready())
         self._expect(name, State.WAITS)
         self._states[name] = State.DONE
-        return [other for other in self.ready() if other not in before]
+        found = []
+        for other in self.graph.dependents(name):
+            self._missing[other] -= 1
+            if self._is_ready(other):
+                found.append(other)
+        return sorted(found, key=self._at.__getitem__)
 
     def fail(self, name: str) -> list[str]:
         """Note that a job failed; return the jobs that this blocks."""
-        before = set(self.blocked())
         self._expect(name, State.WAITS)
+        before = set(self.blocked())
         self._states[name] = State.FAILED
-        return [other for other in self.blocked() if other not in before]
+        reached, todo = {name}, [name]
+        while todo:
+            for other in self.graph.dependents(todo.pop()):
+                if other not in reached and self._states[other] is State.WAITS:
+                    reached.add(other)
+                    todo.append(other)
+        return [other for other in self._order if other in reached and other != name and other not in before]
 
     def retry(self, name: str) -> None:
         """Let a failed job wait again."""
         self._expect(name, State.FAILED)
         self._states[name] = State.WAITS
 
-    def _is_blocked(self, name: str) -> bool:
-        if self.state(name) is not State.WAITS:
-            return False
-        needs = self.graph.job(name).needs
-        return any(
-            self.state(need) is State.FAILED or self._is_blocked(need) for need in needs
-        )
+    def _is_ready(self, name: str) -> bool:
+        return self._states[name] is State.WAITS and not self._missing[name]
 
     def _expect(self, name: str, state: State) -> None:
         if self.state(name) is not state:
             raise JobError(f"{name}: {self.state(name).value}, expected that it {state.value}")
-        if state is State.WAITS and name not in self.ready():
+        if state is State.WAITS and not self._is_ready(name):
             raise JobError(f"{name}: is not ready")
diff --git a/relay/circles.py b/relay/circles.py
--- a/relay/circles.py
+++ b/relay/circles.py
@@ -1,5 +1,6 @@
 """Finds circles."""
 
+from relay.components import groups
 from relay.graph import Graph
 
 
@@ -9,17 +10,44 @@ def find_circle(graph: Graph) -> list[str] | None:
     Each name is followed by one that it needs. Of several circles, one with the smallest name that
     is part of any is returned.
     """
-    for name in graph.names():
-        if found := _path_back(graph, name, name, ()):
-            return found
-    return None
+    best: set[str] | None = None
+    for group in groups(graph.names(), lambda name: graph.job(name).needs, graph.dependents):
+        one = next(iter(group))
+        if len(group) == 1 and one not in graph.job(one).needs:
+            continue
+        if best is None or min(group) < min(best):
+            best = group
+    if best is None:
+        return None
+    start = min(best)
+    dead: set[str] = set()
+    path: list[str] = []
+    stack: list[tuple[str, list[str]]] = [(start, [])]
+    first = True
+    while True:
+        if first:
+            here = start
+            path.append(here)
+            dead.add(here)
+            stack = [(here, sorted(set(graph.job(here).needs), reverse=True))]
+            first = False
+        here, rest = stack[-1]
+        if not rest:
+            stack.pop()
+            path.pop()
+            continue
+        need = rest.pop()
+        if need == start:
+            return [name for name in path for _ in range(2 if _twice(graph, path, name, start) else 1)]
+        if need in best and need not in dead:
+            dead.add(need)
+            path.append(need)
+            stack.append((need, sorted(set(graph.job(need).needs), reverse=True)))
 
 
-def _path_back(graph: Graph, start: str, here: str, seen: tuple[str, ...]) -> list[str] | None:
-    for need in sorted(graph.job(here).needs):
-        if need == start:
-            return [*seen, here]
-        if need not in seen and need > start:
-            if found := _path_back(graph, start, need, (*seen, here)):
-                return found
-    return None
+def _twice(graph: Graph, path: list[str], name: str, start: str) -> bool:
+    # Kept from 0.8.0: a job with a need of its own appears twice before a larger name.
+    if name == start or name not in graph.job(name).needs:
+        return False
+    at = path.index(name) + 1
+    return (path[at] if at < len(path) else start) > name
diff --git a/relay/components.py b/relay/components.py
new file mode 100644
--- /dev/null
+++ b/relay/components.py
@@ -0,0 +1,34 @@
+"""Groups of jobs that need each other (Kosaraju's algorithm without recursion)."""
+
+from collections.abc import Callable, Iterable, Iterator
+
+
+def groups(names: Iterable[str], needs: Callable[[str], Iterable[str]], dependents: Callable[[str], Iterable[str]]) -> Iterator[set[str]]:
+    seen: set[str] = set()
+    left: list[str] = []
+    for root in names:
+        if root in seen:
+            continue
+        seen.add(root)
+        stack = [(root, iter(needs(root)))]
+        while stack:
+            here, rest = stack[-1]
+            following = next((each for each in rest if each not in seen), None)
+            if following is None:
+                left.append(here)
+                stack.pop()
+            else:
+                seen.add(following)
+                stack.append((following, iter(needs(following))))
+    done: set[str] = set()
+    for root in reversed(left):
+        if root in done:
+            continue
+        group, todo = {root}, [root]
+        while todo:
+            for other in dependents(todo.pop()):
+                if other not in done and other not in group:
+                    group.add(other)
+                    todo.append(other)
+        done |= group
+        yield group
diff --git a/relay/graph.py b/relay/graph.py
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
+        for job in self:
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
--- a/relay/order.py
+++ b/relay/order.py
@@ -1,5 +1,7 @@
 """Orders in which jobs can run."""
 
+from heapq import heapify, heappop, heappush
+
 from relay.circles import find_circle
 from relay.errors import CircleError
 from relay.graph import Graph
@@ -16,15 +18,19 @@ def plan(graph: Graph) -> list[str]:
         CircleError: There is a circle.
     """
     graph.check()
-    if circle := find_circle(graph):
-        raise CircleError(circle)
+    missing = {job.name: len(set(job.needs)) for job in graph}
+    could = [(-job.priority, job.name) for job in graph if not missing[job.name]]
+    heapify(could)
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
+        name = heappop(could)[1]
+        order.append(name)
+        for other in graph.dependents(name):
+            missing[other] -= 1
+            if not missing[other]:
+                heappush(could, (-graph.job(other).priority, other))
+    if len(order) < len(graph):
+        circle = find_circle(graph)
+        assert circle is not None
+        raise CircleError(circle)
     return order
PATCH
git add -A && git -c user.name=me -c user.email=me@x commit -qm x && git -c user.name=me -c user.email=me@x commit -q --amend -m 'Fast plans'
