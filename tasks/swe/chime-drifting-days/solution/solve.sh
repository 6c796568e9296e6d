#!/bin/bash
cd /srv/chime
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index 1172c75..729c18b 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- Runs are counted from the first day of a job, whatever was shifted, missed or cut short (#48).
+
 ## 0.9.0 (2026-02-10)
 - `Calendar` and `shift` (#44).
 - `catch_up` (#41).
diff --git a/chime/days.py b/chime/days.py
index ea08a87..390128c 100644
--- a/chime/days.py
+++ b/chime/days.py
@@ -1,49 +1,40 @@
 """The days of a rule."""
 
+import itertools
 from calendar import monthrange
+from collections.abc import Iterator
 from datetime import date, timedelta
 
 from chime.rule import Rule
 
 
-def first_day(rule: Rule, start: date) -> date:
-    """Return the first day of a rule that is not before a day."""
-    if rule.unit == "week":
-        return _weekday_from(rule, start)
-    if rule.unit == "month":
-        day = in_month(start.year, start.month, rule.on[0])
-        return day if day >= start else _months_later(day, rule.count, rule.on[0])
-    return start
+def days_of(rule: Rule, start: date) -> Iterator[date]:
+    """Yield the days of a rule from the first day of a job on, in their order.
 
+    They end with the last year that dates have.
+    """
+    try:
+        for number in itertools.count(step=rule.count):
+            for day in _days(rule, start, number):
+                if day >= start:
+                    yield day
+    except (OverflowError, ValueError):
+        return
 
-def day_after(rule: Rule, day: date) -> date:
-    """Return the day of a rule that follows one of its days."""
+
+def _days(rule: Rule, start: date, number: int) -> list[date]:
+    """Return the days of a rule in the day, week, month or year of a number; the start has 0."""
     if rule.unit == "day":
-        return day + timedelta(days=rule.count)
+        return [start + timedelta(days=number)]
     if rule.unit == "week":
-        following = [on for on in rule.on if on > day.weekday()]
-        if following:
-            return day + timedelta(days=following[0] - day.weekday())
-        monday = day - timedelta(days=day.weekday())
-        return monday + timedelta(weeks=rule.count, days=rule.on[0])
+        monday = start - timedelta(days=start.weekday())
+        return [monday + timedelta(weeks=number, days=on) for on in rule.on]
     if rule.unit == "month":
-        return _months_later(day, rule.count, day.day)
-    return in_month(day.year + 1, day.month, day.day)
+        year, month = divmod(start.year * 12 + start.month - 1 + number, 12)
+        return [in_month(year, month + 1, rule.on[0])]
+    return [in_month(start.year + number, start.month, start.day)]
 
 
 def in_month(year: int, month: int, day: int) -> date:
     """Return a day of a month, or its last one if it has no such day."""
     return date(year, month, min(day, monthrange(year, month)[1]))
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
diff --git a/chime/runs.py b/chime/runs.py
index 08f0178..eae7046 100644
--- a/chime/runs.py
+++ b/chime/runs.py
@@ -1,39 +1,29 @@
 """When a job runs."""
 
+import itertools
+from collections.abc import Iterator
 from datetime import datetime
 
 from chime.calendar import Calendar
-from chime.days import day_after, first_day
+from chime.days import days_of
 from chime.job import Job
 
 
+def runs_after(job: Job, after: datetime | None, calendar: Calendar) -> Iterator[datetime]:
+    """Yield the runs of a job after a time, or all of them."""
+    for day in days_of(job.rule, job.start):
+        shifted = calendar.shifted(day, job.shift)
+        if shifted is None or shifted < job.start:
+            continue
+        due = datetime.combine(shifted, job.rule.at)
+        # Days that are shifted to the same one follow each other.
+        if after is None or due > after:
+            yield due
+            after = due
+
+
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
+    return list(itertools.islice(runs_after(job, after, calendar or Calendar()), count))
diff --git a/chime/scheduler.py b/chime/scheduler.py
index dbdfcc7..e20139a 100644
--- a/chime/scheduler.py
+++ b/chime/scheduler.py
@@ -1,12 +1,13 @@
 """Schedulers."""
 
+import itertools
 from collections.abc import Iterable
 from datetime import datetime, timedelta
 from pathlib import Path
 
 from chime.calendar import Calendar
 from chime.job import Job
-from chime.runs import run_after
+from chime.runs import runs_after
 from chime.state import read_state, write_state
 
 
@@ -32,25 +33,20 @@ class Scheduler:
 
     def advance(self, now: datetime) -> list[tuple[str, datetime]]:
         """Run what is due; return the names of the jobs and the times of their runs."""
+        due = [
+            (run, name) for name, job in self.jobs.items() for run in self._due(job, now)
+        ]
         made = []
-        for job in self.jobs.values():
-            for due in self._due(job, now):
-                job.run(due)
-                self._last[job.name] = due
-                made.append((job.name, due))
+        for run, name in sorted(due, key=lambda each: each[0]):
+            self.jobs[name].run(run)
+            self._last[name] = run
+            made.append((name, run))
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
+        runs = runs_after(job, self._last.get(job.name), self.calendar)
+        missed = list(itertools.takewhile(lambda run: run <= now, runs))
+        limit = timedelta(seconds=job.late_s)
+        late = [run for run in missed if now - run > limit]
+        made = {"all": late, "last": late[-1:], "none": []}[job.catch_up]
+        return made + missed[len(late) :]
PATCH
