#!/bin/bash
set -euo pipefail
cd /srv/chime
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## 0.9.1 (2026-03-06)
+- Runs no longer drift (#48).
+
 ## 0.9.0 (2026-02-10)
 - `Calendar` and `shift` (#44).
 - `catch_up` (#41).
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -34,7 +34,7 @@ The first day (`start`) decides which days those are, and no run is before it. T
 | module | holds |
 |---|---|
 | `chime/rule.py` | texts to rules |
-| `chime/days.py` | the days of a rule |
+| `chime/occurrences.py` | the runs of a job, from its first day |
 | `chime/calendar.py` | working days |
 | `chime/job.py` | `Job` |
 | `chime/runs.py` | `next_runs` |
diff --git a/chime/days.py b/chime/days.py
deleted file mode 100644
--- a/chime/days.py
+++ /dev/null
@@ -1,49 +0,0 @@
-"""The days of a rule."""
-
-from calendar import monthrange
-from datetime import date, timedelta
-
-from chime.rule import Rule
-
-
-def first_day(rule: Rule, start: date) -> date:
-    """Return the first day of a rule that is not before a day."""
-    if rule.unit == "week":
-        return _weekday_from(rule, start)
-    if rule.unit == "month":
-        day = in_month(start.year, start.month, rule.on[0])
-        return day if day >= start else _months_later(day, rule.count, rule.on[0])
-    return start
-
-
-def day_after(rule: Rule, day: date) -> date:
-    """Return the day of a rule that follows one of its days."""
-    if rule.unit == "day":
-        return day + timedelta(days=rule.count)
-    if rule.unit == "week":
-        following = [on for on in rule.on if on > day.weekday()]
-        if following:
-            return day + timedelta(days=following[0] - day.weekday())
-        monday = day - timedelta(days=day.weekday())
-        return monday + timedelta(weeks=rule.count, days=rule.on[0])
-    if rule.unit == "month":
-        return _months_later(day, rule.count, day.day)
-    return in_month(day.year + 1, day.month, day.day)
-
-
-def in_month(year: int, month: int, day: int) -> date:
-    """Return a day of a month, or its last one if it has no such day."""
-    return date(year, month, min(day, monthrange(year, month)[1]))
-
-
-def _weekday_from(rule: Rule, start: date) -> date:
-    for days in range(7):
-        day = start + timedelta(days=days)
-        if day.weekday() in rule.on:
-            return day
-    raise AssertionError("a rule by week has a day")
-
-
-def _months_later(day: date, months: int, on: int) -> date:
-    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
-    return in_month(year, month + 1, on)
diff --git a/chime/occurrences.py b/chime/occurrences.py
new file mode 100644
--- /dev/null
+++ b/chime/occurrences.py
@@ -0,0 +1,66 @@
+"""The runs of a job: the day of each is computed from the first day alone."""
+
+from calendar import monthrange
+from datetime import MAXYEAR, date, datetime, timedelta
+
+from chime.calendar import Calendar
+from chime.job import Job
+
+_SHIFT_DAYS = 61
+
+
+class Runs:
+    """Iterates over the runs after a time; begins near it, however long ago the first day is."""
+
+    def __init__(self, job: Job, calendar: Calendar, after: datetime | None) -> None:
+        self._job, self._calendar, self._after = job, calendar, after
+        self._number = self._near(after.date()) if after else 0
+
+    def __iter__(self) -> "Runs":
+        self._waiting: list[datetime] = []
+        return self
+
+    def __next__(self) -> datetime:
+        while not self._waiting:
+            days = self._period(self._number)
+            if days is None:
+                raise StopIteration
+            self._number += 1
+            for day in days:
+                due = self._due(day)
+                if due is not None and (self._after is None or due > self._after):
+                    self._waiting.append(due)
+                    self._after = due
+        return self._waiting.pop(0)
+
+    def _due(self, day: date) -> datetime | None:
+        if day < self._job.start:
+            return None
+        moved = self._calendar.shifted(day, self._job.shift)
+        if moved is None or moved < self._job.start:
+            return None
+        return datetime.combine(moved, self._job.rule.at)
+
+    def _near(self, day: date) -> int:
+        """Return a period that ends before all runs after a day."""
+        rule, gone = self._job.rule, (day - self._job.start).days - _SHIFT_DAYS
+        length = {"day": 1, "week": 7, "month": 31, "year": 366}[rule.unit] * rule.count
+        return max(0, gone // length - 1)
+
+    def _period(self, number: int) -> list[date] | None:
+        rule, start = self._job.rule, self._job.start
+        steps = number * rule.count
+        try:
+            if rule.unit == "day":
+                return [start + timedelta(days=steps)]
+            if rule.unit == "week":
+                monday = start - timedelta(days=start.weekday()) + timedelta(weeks=steps)
+                return [monday + timedelta(days=on) for on in rule.on]
+        except OverflowError:
+            return None
+        months = start.year * 12 + start.month - 1 + (steps * 12 if rule.unit == "year" else steps)
+        year, month = months // 12, months % 12 + 1
+        if year > MAXYEAR:
+            return None
+        wanted = rule.on[0] if rule.on else start.day
+        return [date(year, month, min(wanted, monthrange(year, month)[1]))]
diff --git a/chime/runs.py b/chime/runs.py
--- a/chime/runs.py
+++ b/chime/runs.py
@@ -1,39 +1,15 @@
 """When a job runs."""
 
 from datetime import datetime
+from itertools import islice
 
 from chime.calendar import Calendar
-from chime.days import day_after, first_day
 from chime.job import Job
+from chime.occurrences import Runs
 
 
 def next_runs(
     job: Job, after: datetime, count: int, calendar: Calendar | None = None
 ) -> list[datetime]:
     """Return the runs of a job after a time, the first ones."""
-    calendar = calendar or Calendar()
-    found: list[datetime] = []
-    day = first_day(job.rule, job.start)
-    while len(found) < count:
-        shifted = calendar.shifted(day, job.shift)
-        if shifted is not None:
-            due = datetime.combine(shifted, job.rule.at)
-            if due > after:
-                found.append(due)
-            day = max(day, shifted)
-        day = day_after(job.rule, day)
-    return found
-
-
-def run_after(job: Job, last: datetime | None, calendar: Calendar) -> datetime | None:
-    """Return the run of a job that follows its last one; the first one if there was none."""
-    if last is None:
-        day = first_day(job.rule, job.start)
-    else:
-        day = day_after(job.rule, last.date())
-    while (shifted := calendar.shifted(day, job.shift)) is not None:
-        due = datetime.combine(shifted, job.rule.at)
-        if last is None or due > last:
-            return due
-        day = day_after(job.rule, day)
-    return None
+    return list(islice(Runs(job, calendar or Calendar(), after), count))
diff --git a/chime/scheduler.py b/chime/scheduler.py
--- a/chime/scheduler.py
+++ b/chime/scheduler.py
@@ -1,12 +1,13 @@
 """Schedulers."""
 
+import heapq
 from collections.abc import Iterable
 from datetime import datetime, timedelta
 from pathlib import Path
 
 from chime.calendar import Calendar
 from chime.job import Job
-from chime.runs import run_after
+from chime.occurrences import Runs
 from chime.state import read_state, write_state
 
 
@@ -33,24 +34,22 @@ class Scheduler:
     def advance(self, now: datetime) -> list[tuple[str, datetime]]:
         """Run what is due; return the names of the jobs and the times of their runs."""
         made = []
-        for job in self.jobs.values():
-            for due in self._due(job, now):
-                job.run(due)
-                self._last[job.name] = due
-                made.append((job.name, due))
+        queue = [(due, order, job) for order, job in enumerate(self.jobs.values()) for due in self._due(job, now)]
+        heapq.heapify(queue)
+        while queue:
+            due, _, job = heapq.heappop(queue)
+            job.run(due)
+            self._last[job.name] = due
+            made.append((job.name, due))
         return made
 
     def _due(self, job: Job, now: datetime) -> list[datetime]:
-        late, due = [], []
-        following = run_after(job, self._last.get(job.name), self.calendar)
-        while following is not None and following <= now:
-            if now - following > timedelta(seconds=job.late_s):
-                late.append(following)
-            else:
-                due.append(following)
-            following = run_after(job, following, self.calendar)
-        if job.catch_up == "last":
-            late = late[:1]
-        elif job.catch_up == "none":
-            late = []
-        return late + due
+        """Return the runs of a job that are to be made now."""
+        in_time = now - timedelta(seconds=job.late_s)
+        late: list[datetime] = []
+        due: list[datetime] = []
+        for run in Runs(job, self.calendar, self._last.get(job.name)):
+            if run > now:
+                break
+            (due if run >= in_time else late).append(run)
+        return {"all": late, "last": late[-1:], "none": []}[job.catch_up] + due
PATCH
git checkout -q -b no-drift
git add -A
git -c user.name=x -c user.email=x@x commit -qm 'No drift'
