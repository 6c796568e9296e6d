#!/bin/bash
cd /srv/tern
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index 305ac62..c53b57b 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- `mirror` is asynchronous and makes several requests at once; `tern.transport` is gone (#77).
+
 ## 1.5.0 (2026-03-02)
 - `tern.aio`, the asynchronous transport of 2.0 (#72). `tern.transport` will be removed.
 
diff --git a/README.md b/README.md
index c77d985..fb77852 100644
--- a/README.md
+++ b/README.md
@@ -10,7 +10,7 @@ A feed is a text with an item a line: a URL, a space, and the name of the file.
 get a folder for each host. `state.json` knows which URLs were fetched; what it knows is not fetched again.
 
 A request that fails is tried again after a pause (`Settings.pauses`); what fails for good is in the report and does not stop
-the others. `Fatal` (the certificate is wrong, the disk is full) stops everything.
+the others. At most `Settings.together` requests are under way at once, and one per host. `Fatal` (the certificate is wrong, the disk is full) stops everything.
 
 | module | holds |
 |---|---|
@@ -19,6 +19,5 @@ the others. `Fatal` (the certificate is wrong, the disk is full) stops everythin
 | `tern/state.py` | what was fetched |
 | `tern/files.py` | files that are complete or not there |
 | `tern/settings.py` | `Settings` |
-| `tern/transport.py` | requests, blocking; it goes with 2.0 |
-| `tern/aio.py` | requests, asynchronous |
+| `tern/aio.py` | requests |
 | `tern/errors.py` | what requests raise |
diff --git a/tern/__main__.py b/tern/__main__.py
index 2453c58..d414e0e 100644
--- a/tern/__main__.py
+++ b/tern/__main__.py
@@ -1,12 +1,13 @@
 """Mirrors feeds: python3 -m tern FOLDER FEED..."""
 
+import asyncio
 import sys
 from collections.abc import Sequence
 from pathlib import Path
 
+from tern.aio import Transport
 from tern.errors import Fatal
 from tern.mirror import mirror
-from tern.transport import Transport
 
 
 def main(arguments: Sequence[str]) -> int:
@@ -14,7 +15,7 @@ def main(arguments: Sequence[str]) -> int:
         print(__doc__, file=sys.stderr)
         return 2
     try:
-        report = mirror(Transport(), Path(arguments[0]), arguments[1:])
+        report = asyncio.run(mirror(Transport(), Path(arguments[0]), arguments[1:]))
     except Fatal as error:
         print(f"tern: {error}", file=sys.stderr)
         return 3
diff --git a/tern/mirror.py b/tern/mirror.py
index 9715de9..1bff9ab 100644
--- a/tern/mirror.py
+++ b/tern/mirror.py
@@ -1,15 +1,16 @@
 """Mirrors feeds."""
 
+import asyncio
 from collections.abc import Sequence
 from dataclasses import dataclass, field
 from pathlib import Path
 
+from tern.aio import Transport
 from tern.errors import Busy, Missing, RequestError
 from tern.feed import FeedError, Item, host_of, read_feed
 from tern.files import complete_file
 from tern.settings import Settings
 from tern.state import State
-from tern.transport import Transport
 
 
 @dataclass
@@ -29,7 +30,7 @@ class Report:
     tries: int = 0
 
 
-def mirror(
+async def mirror(
     transport: Transport, folder: Path, feeds: Sequence[str], settings: Settings = Settings()
 ) -> Report:
     """Fetch all feeds and the items that are not there yet.
@@ -37,61 +38,164 @@ def mirror(
     Raises:
         Fatal: Nothing can go on. What was fetched stays.
     """
-    return _Mirror(transport, Path(folder), settings).run(feeds)
+    return await _Mirror(transport, Path(folder), feeds, settings).run()
+
+
+@dataclass(order=True)
+class _Job:
+    """A request. Jobs begin in the order of `place`: feed and item; a feed is its item -1."""
+
+    place: tuple[int, int]
+    url: str = field(compare=False)
+    item: Item | None = field(default=None, compare=False)
+    tried: int = field(default=0, compare=False)
+
+    @property
+    def folder(self) -> str:
+        return host_of(self.url).replace(":", "_")
 
 
 class _Mirror:
-    def __init__(self, transport: Transport, folder: Path, settings: Settings) -> None:
+    """One coordinator begins jobs and looks at what they led to; jobs know nothing of each other."""
+
+    def __init__(
+        self, transport: Transport, folder: Path, feeds: Sequence[str], settings: Settings
+    ) -> None:
         self._transport, self._folder, self._settings = transport, folder, settings
         self._state = State(folder)
-        self._report = Report()
+        self._tries = 0
         self._seen: set[str] = set()
+        self._waiting = [_Job((at, -1), url) for at, url in enumerate(feeds)]
+        self._requests: dict[asyncio.Task[bytes], _Job] = {}
+        self._pauses: dict[asyncio.Task[None], _Job] = {}
+        # What feeds hold, until the feeds before were read; None for a feed that failed.
+        self._read: dict[int, list[Item] | None] = {}
+        self._planned = 0
+        self._left: dict[int, int] = {}
+        self._outcomes: dict[tuple[int, int], tuple[str, str, str]] = {}
+        self._written: dict[str, tuple[int, int]] = {}
 
-    def run(self, feeds: Sequence[str]) -> Report:
+    async def run(self) -> Report:
         try:
-            for feed in feeds:
-                self._feed(feed)
-                self._state.save()
+            while self._waiting or self._requests or self._pauses:
+                self._begin()
+                running = [*self._requests, *self._pauses]
+                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
+                for task in [task for task in running if task in done]:
+                    self._end(task)
         finally:
+            await self._stop()
             self._state.save()
-        return self._report
+        return self._report()
 
-    def _feed(self, feed: str) -> None:
-        try:
-            items = read_feed(self._get(feed))
-        except (RequestError, FeedError) as error:
-            self._report.failed.append((feed, str(error)))
-            return
-        for item in items:
-            self._item(item)
+    def _begin(self) -> None:
+        for job in sorted(self._waiting):
+            if len(self._requests) == self._settings.together:
+                return
+            if job.folder not in {other.folder for other in self._requests.values()}:
+                self._waiting.remove(job)
+                self._tries += 1
+                self._requests[asyncio.create_task(self._fetch(job))] = job
+
+    async def _stop(self) -> None:
+        running = [*self._requests, *self._pauses]
+        for task in running:
+            task.cancel()
+        await asyncio.gather(*running, return_exceptions=True)
 
-    def _item(self, item: Item) -> None:
-        if item.url in self._state or item.url in self._seen:
-            self._report.known.append(item.url)
+    def _end(self, task: asyncio.Task) -> None:
+        if task in self._pauses:
+            job = self._pauses.pop(task)
+            task.result()
+            self._waiting.append(job)
             return
-        self._seen.add(item.url)
+        job = self._requests.pop(task)
         try:
-            data = self._get(item.url)
+            data = task.result()
+            if job.item is None:
+                self._take_feed(job, read_feed(data))
+            else:
+                self._finish(job, "fetched")
+        except Missing as error:
+            self._fail(job, error)
         except RequestError as error:
-            self._report.failed.append((item.url, str(error)))
-            return
-        file = f"{host_of(item.url).replace(':', '_')}/{item.name}"
-        with complete_file(self._folder / file) as out:
-            out.write(data)
-        self._state.add(item.url, file)
-        self._report.fetched.append(item.url)
-
-    def _get(self, url: str) -> bytes:
-        """Return a body, with as many tries as there are pauses, and one."""
-        for pause in (*self._settings.pauses, None):
-            self._report.tries += 1
-            try:
-                return self._transport.get(url)
-            except Missing:
-                raise
-            except RequestError as error:
-                if pause is None:
-                    raise
-                after = error.after_s if isinstance(error, Busy) else None
-            self._transport.sleep(pause if after is None else after)
-        raise AssertionError("the last try returns or raises")
+            if job.tried == len(self._settings.pauses):
+                self._fail(job, error)
+                return
+            after = error.after_s if isinstance(error, Busy) else None
+            pause = self._settings.pauses[job.tried] if after is None else after
+            job.tried += 1
+            self._pauses[asyncio.create_task(self._transport.sleep(pause))] = job
+        except FeedError as error:
+            self._fail(job, error)
+
+    def _fail(self, job: _Job, error: Exception) -> None:
+        self._finish(job, "failed", str(error))
+        if job.item is None:
+            self._take_feed(job, None)
+
+    def _take_feed(self, job: _Job, items: list[Item] | None) -> None:
+        """Plan the items of all feeds that were read, as far as no feed before is missing."""
+        self._read[job.place[0]] = items
+        while self._planned in self._read:
+            self._plan(self._planned, self._read.pop(self._planned) or [])
+            self._planned += 1
+
+    def _plan(self, feed: int, items: list[Item]) -> None:
+        self._left[feed] = len(items) + 1
+        for at, item in enumerate(items):
+            job = _Job((feed, at), item.url, item)
+            if item.url in self._state or item.url in self._seen:
+                self._finish(job, "known")
+            else:
+                self._seen.add(item.url)
+                self._waiting.append(job)
+        self._count_down(feed)
+
+    def _finish(self, job: _Job, what: str, reason: str = "") -> None:
+        self._outcomes[job.place] = (what, job.url, reason)
+        if job.item is not None:
+            self._count_down(job.place[0])
+
+    def _count_down(self, feed: int) -> None:
+        self._left[feed] -= 1
+        if not self._left[feed]:
+            self._state.save()
+
+    async def _fetch(self, job: _Job) -> bytes:
+        """Return the body of a feed; write that of an item."""
+        response = await self._transport.open(job.url)
+        try:
+            if job.item is None:
+                body = bytearray()
+                while data := await response.read(self._settings.chunk):
+                    body += data
+                return bytes(body)
+            file = f"{job.folder}/{job.item.name}"
+            with complete_file(self._folder / file) as out:
+                while data := await response.read(self._settings.chunk):
+                    out.write(data)
+                # An item further on has the same file, and was faster.
+                if self._written.get(file, job.place) > job.place:
+                    raise _Overtaken
+            self._written[file] = job.place
+            self._state.add(job.url, file)
+        except _Overtaken:
+            self._state.add(job.url, file)
+        finally:
+            await response.close()
+        return b""
+
+    def _report(self) -> Report:
+        report = Report(tries=self._tries)
+        for place in sorted(self._outcomes):
+            what, url, reason = self._outcomes[place]
+            if what == "failed":
+                report.failed.append((url, reason))
+            else:
+                getattr(report, what).append(url)
+        return report
+
+
+class _Overtaken(Exception):
+    pass
diff --git a/tern/settings.py b/tern/settings.py
index 62284b4..34e3a73 100644
--- a/tern/settings.py
+++ b/tern/settings.py
@@ -8,7 +8,7 @@ class Settings:
     """Settings.
 
     Attributes:
-        together: Most requests at once (asynchronous transports only).
+        together: Most requests at once.
         pauses: Seconds before the second try, the third, and so on; then a request has failed.
         chunk: Bytes to ask for at once.
     """
diff --git a/tern/transport.py b/tern/transport.py
deleted file mode 100644
index 84d7cef..0000000
--- a/tern/transport.py
+++ /dev/null
@@ -1,39 +0,0 @@
-"""Requests, blocking. `tern.aio` replaces it."""
-
-import time
-import urllib.error
-import urllib.request
-
-from tern.errors import Broken, Busy, Fatal, Missing, RequestError
-
-
-class Transport:
-    """Makes one request at a time."""
-
-    def get(self, url: str) -> bytes:
-        """Return the whole body.
-
-        Raises:
-            RequestError: It failed.
-            Fatal: Nothing can go on.
-        """
-        try:
-            with urllib.request.urlopen(url, timeout=30) as response:
-                body = response.read()
-                if len(body) < int(response.headers.get("Content-Length") or 0):
-                    raise Broken(f"{url}: {len(body)} bytes only")
-                return body
-        except urllib.error.HTTPError as error:
-            if error.code in (404, 410):
-                raise Missing(f"{url}: not there") from None
-            if error.code in (429, 503):
-                after = error.headers.get("Retry-After", "")
-                raise Busy(f"{url}: busy", float(after) if after.isdigit() else None) from None
-            raise RequestError(f"{url}: {error.code}") from None
-        except urllib.error.URLError as error:
-            if "CERTIFICATE" in str(error.reason):
-                raise Fatal(f"{url}: {error.reason}") from None
-            raise RequestError(f"{url}: {error.reason}") from None
-
-    def sleep(self, seconds: float) -> None:
-        time.sleep(seconds)
diff --git a/tests/old_world.py b/tests/old_world.py
deleted file mode 100644
index 3c88d83..0000000
--- a/tests/old_world.py
+++ /dev/null
@@ -1,22 +0,0 @@
-"""A blocking transport over a dictionary."""
-
-from tern import Missing
-
-
-class World:
-    """Each URL has a body, an error, or a list of those: one a request."""
-
-    def __init__(self, content):
-        self.content, self.asked, self.slept = content, [], []
-
-    def get(self, url):
-        self.asked.append(url)
-        answer = self.content.get(url, Missing(f"{url}: not there"))
-        if isinstance(answer, list):
-            answer = answer.pop(0)
-        if isinstance(answer, Exception):
-            raise answer
-        return answer
-
-    def sleep(self, seconds):
-        self.slept.append(seconds)
PATCH
