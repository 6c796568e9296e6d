#!/bin/bash
set -euo pipefail
cd /srv/tern
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## 2.0.0 (2026-03-18)
+- The mirror is asynchronous (#77).
+
 ## 1.5.0 (2026-03-02)
 - `tern.aio`, the asynchronous transport of 2.0 (#72). `tern.transport` will be removed.
 
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -15,10 +15,10 @@ the others. `Fatal` (the certificate is wrong, the disk is full) stops everythin
 | module | holds |
 |---|---|
 | `tern/mirror.py` | `mirror`, `Report` |
+| `tern/turns.py` | which request may begin |
 | `tern/feed.py` | what a feed says |
 | `tern/state.py` | what was fetched |
 | `tern/files.py` | files that are complete or not there |
 | `tern/settings.py` | `Settings` |
-| `tern/transport.py` | requests, blocking; it goes with 2.0 |
 | `tern/aio.py` | requests, asynchronous |
 | `tern/errors.py` | what requests raise |
diff --git a/tern/__main__.py b/tern/__main__.py
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
--- a/tern/mirror.py
+++ b/tern/mirror.py
@@ -1,15 +1,17 @@
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
+from tern.turns import Place, Turns
 
 
 @dataclass
@@ -29,7 +31,7 @@ class Report:
     tries: int = 0
 
 
-def mirror(
+async def mirror(
     transport: Transport, folder: Path, feeds: Sequence[str], settings: Settings = Settings()
 ) -> Report:
     """Fetch all feeds and the items that are not there yet.
@@ -37,61 +39,109 @@ def mirror(
     Raises:
         Fatal: Nothing can go on. What was fetched stays.
     """
-    return _Mirror(transport, Path(folder), settings).run(feeds)
+    return await _Mirror(transport, Path(folder), settings).run(feeds)
 
 
 class _Mirror:
     def __init__(self, transport: Transport, folder: Path, settings: Settings) -> None:
         self._transport, self._folder, self._settings = transport, folder, settings
         self._state = State(folder)
-        self._report = Report()
+        self._turns = Turns(settings.together)
         self._seen: set[str] = set()
+        self._files: dict[str, Place] = {}
+        self._tries = 0
 
-    def run(self, feeds: Sequence[str]) -> Report:
+    async def run(self, feeds: Sequence[str]) -> Report:
+        known = [asyncio.Event() for _ in range(len(feeds) + 1)]
+        known[0].set()
         try:
-            for feed in feeds:
-                self._feed(feed)
-                self._state.save()
+            async with asyncio.TaskGroup() as group:
+                tasks = [
+                    group.create_task(self._feed(at, feed, known[at], known[at + 1]))
+                    for at, feed in enumerate(feeds)
+                ]
+        except BaseExceptionGroup as errors:
+            raise _first(errors) from None
         finally:
             self._state.save()
-        return self._report
+        report = Report(tries=self._tries)
+        for task in tasks:
+            for name in ("fetched", "known", "failed"):
+                getattr(report, name).extend(getattr(task.result(), name))
+        return report
 
-    def _feed(self, feed: str) -> None:
+    async def _feed(self, at: int, feed: str, before: asyncio.Event, after: asyncio.Event) -> Report:
+        part = Report()
+        items: list[Item] = []
         try:
-            items = read_feed(self._get(feed))
+            items = read_feed(await self._get((at, 0), feed))
         except (RequestError, FeedError) as error:
-            self._report.failed.append((feed, str(error)))
-            return
-        for item in items:
-            self._item(item)
-
-    def _item(self, item: Item) -> None:
-        if item.url in self._state or item.url in self._seen:
-            self._report.known.append(item.url)
-            return
-        self._seen.add(item.url)
+            part.failed.append((feed, str(error)))
+        # An item belongs to the first feed that has it: wait until those before are read.
+        await before.wait()
+        mine = []
+        for number, item in enumerate(items, start=1):
+            if item.url not in self._state and item.url not in self._seen:
+                self._seen.add(item.url)
+                mine.append((number, item))
+        numbers = {number for number, _ in mine}
+        part.known = [item.url for number, item in enumerate(items, start=1) if number not in numbers]
+        after.set()
+        async with asyncio.TaskGroup() as group:
+            tasks = [(item, group.create_task(self._item((at, number), item))) for number, item in mine]
+        for item, task in tasks:
+            error = task.result()
+            if error is None:
+                part.fetched.append(item.url)
+            else:
+                part.failed.append((item.url, error))
+        self._state.save()
+        return part
+
+    async def _item(self, place: Place, item: Item) -> str | None:
         try:
-            data = self._get(item.url)
+            data = await self._get(place, item.url)
         except RequestError as error:
-            self._report.failed.append((item.url, str(error)))
-            return
+            return str(error)
         file = f"{host_of(item.url).replace(':', '_')}/{item.name}"
-        with complete_file(self._folder / file) as out:
-            out.write(data)
+        if self._files.get(file, place) <= place:
+            with complete_file(self._folder / file) as out:
+                out.write(data)
+            self._files[file] = place
         self._state.add(item.url, file)
-        self._report.fetched.append(item.url)
+        return None
 
-    def _get(self, url: str) -> bytes:
+    async def _get(self, place: Place, url: str) -> bytes:
         """Return a body, with as many tries as there are pauses, and one."""
         for pause in (*self._settings.pauses, None):
-            self._report.tries += 1
             try:
-                return self._transport.get(url)
+                async with self._turns.turn(place, host_of(url)):
+                    self._tries += 1
+                    return await self._once(url)
             except Missing:
                 raise
             except RequestError as error:
                 if pause is None:
                     raise
                 after = error.after_s if isinstance(error, Busy) else None
-            self._transport.sleep(pause if after is None else after)
+            except BaseException:
+                self._turns.stop()
+                raise
+            await self._transport.sleep(pause if after is None else after)
         raise AssertionError("the last try returns or raises")
+
+    async def _once(self, url: str) -> bytes:
+        response = await self._transport.open(url)
+        try:
+            parts = []
+            while part := await response.read(self._settings.chunk):
+                parts.append(part)
+            return b"".join(parts)
+        finally:
+            await response.close()
+
+
+def _first(errors: BaseException) -> BaseException:
+    while isinstance(errors, BaseExceptionGroup):
+        errors = errors.exceptions[0]
+    return errors
diff --git a/tern/transport.py b/tern/transport.py
deleted file mode 100644
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
diff --git a/tern/turns.py b/tern/turns.py
new file mode 100644
--- /dev/null
+++ b/tern/turns.py
@@ -0,0 +1,62 @@
+"""Which request may begin: few at once, one a host, the first in order."""
+
+import asyncio
+from collections.abc import AsyncIterator
+from contextlib import asynccontextmanager
+
+Place = tuple[int, int]
+
+
+class Turns:
+    def __init__(self, together: int) -> None:
+        self._free = together
+        self._over = False
+        self._hosts: set[str] = set()
+        self._waiting: list[tuple[Place, str, asyncio.Future[None]]] = []
+
+    @asynccontextmanager
+    async def turn(self, place: Place, host: str) -> AsyncIterator[None]:
+        """Wait for a turn, and give it back at the end of the block."""
+        future = asyncio.get_running_loop().create_future()
+        entry = (place, host, future)
+        self._waiting.append(entry)
+        self._soon()
+        try:
+            await future
+        except asyncio.CancelledError:
+            if future.done() and not future.cancelled():
+                self._back(host)
+            elif entry in self._waiting:
+                self._waiting.remove(entry)
+            raise
+        try:
+            yield
+        finally:
+            self._back(host)
+
+    def stop(self) -> None:
+        """Let nobody else begin."""
+        self._waiting = []
+        self._over = True
+
+    def _back(self, host: str) -> None:
+        self._free += 1
+        self._hosts.discard(host)
+        self._soon()
+
+    def _soon(self) -> None:
+        # A few rounds later, so that what an answer leads to has a place in the queue by then.
+        loop = asyncio.get_running_loop()
+        loop.call_soon(loop.call_soon, loop.call_soon, self._begin)
+
+    def _begin(self) -> None:
+        for entry in sorted(self._waiting, key=lambda each: each[0]):
+            _, host, future = entry
+            if self._over or not self._free:
+                return
+            if host in self._hosts or future.done():
+                continue
+            self._waiting.remove(entry)
+            self._free -= 1
+            self._hosts.add(host)
+            future.set_result(None)
diff --git a/tests/new_world.py b/tests/new_world.py
new file mode 100644
--- /dev/null
+++ b/tests/new_world.py
@@ -0,0 +1,36 @@
+"""An asynchronous transport over a dictionary."""
+
+from tern import Missing
+
+
+class Body:
+    def __init__(self, data):
+        self.data, self.closed = data, 0
+
+    async def read(self, size):
+        data, self.data = self.data[:3], self.data[3:]
+        if isinstance(data, Exception):
+            raise data
+        return data
+
+    async def close(self):
+        self.closed += 1
+
+
+class World:
+    """Each URL has a body, an error, or a list of those: one a request."""
+
+    def __init__(self, content):
+        self.content, self.asked, self.slept = content, [], []
+
+    async def open(self, url):
+        self.asked.append(url)
+        answer = self.content.get(url, Missing(f"{url}: not there"))
+        if isinstance(answer, list):
+            answer = answer.pop(0)
+        if isinstance(answer, Exception):
+            raise answer
+        return Body(answer)
+
+    async def sleep(self, seconds):
+        self.slept.append(seconds)
diff --git a/tests/old_world.py b/tests/old_world.py
deleted file mode 100644
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
diff --git a/tests/test_mirror.py b/tests/test_mirror.py
--- a/tests/test_mirror.py
+++ b/tests/test_mirror.py
@@ -1,9 +1,16 @@
+import asyncio
 import json
 
 import pytest
-from old_world import World
+from new_world import World
+
+from tern import Broken, Busy, Fatal, Settings
+from tern import mirror as amirror
+
+
+def mirror(*arguments):
+    return asyncio.run(amirror(*arguments))
 
-from tern import Broken, Busy, Fatal, Settings, mirror
 
 FEEDS = {
     "http://a/feed": b"# new ones\nhttp://a/1 one\nhttp://b/2 two\n",
@@ -16,7 +23,7 @@ FEEDS = {
 
 def test_feeds_are_fetched_in_order(tmp_path):
     world = World(dict(FEEDS))
-    report = mirror(world, tmp_path, ["http://a/feed", "http://b/feed"])
+    report = mirror(world, tmp_path, ["http://a/feed", "http://b/feed"], Settings(together=1))
     assert report.fetched == ["http://a/1", "http://b/2", "http://a/3"]
     assert report.known == ["http://b/2"] and report.tries == 5
     assert world.asked == ["http://a/feed", "http://a/1", "http://b/2", "http://b/feed", "http://a/3"]
@@ -26,9 +33,9 @@ def test_feeds_are_fetched_in_order(tmp_path):
 
 def test_tries(tmp_path):
     world = World(FEEDS | {"http://a/1": [Busy("busy", 7), Broken("broken"), b"1"], "http://b/2": Broken("broken")})
-    report = mirror(world, tmp_path, ["http://a/feed"], Settings(pauses=(1, 2)))
+    report = mirror(world, tmp_path, ["http://a/feed"], Settings(pauses=(1, 2), together=1))
     assert report.fetched == ["http://a/1"] and report.failed == [("http://b/2", "broken")]
-    assert world.slept == [7, 2, 1, 2] and report.tries == 7
+    assert sorted(world.slept) == [1, 2, 2, 7] and report.tries == 7
 
 
 def test_a_fatal_error(tmp_path):
PATCH
