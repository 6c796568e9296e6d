#!/bin/bash
set -euo pipefail
cd /srv/wicket
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## 0.10.0
+- Load balancers and browsers: HEAD, OPTIONS, Allow.
+
 ## 0.9.0 (2026-02-11)
 - Routers can be mounted in routers (#71).
 - `{name:path}` (#69).
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -21,6 +21,7 @@ app.mount("/books", books)
   `Response`, or `None` for 204.
 * **Slots** are `{name}` (text without a slash), `{name:int}` and `{name:path}` (text with slashes). A route with fixed
   text goes before one with a slot at the same place, whatever was registered first.
+* `HEAD` and `OPTIONS` need no routes: the first is the `GET` route without its body, the second lists what is allowed.
 * **Routers** hold routes and can be mounted below a prefix, in an app and in each other.
 * **Middleware** wraps handlers: `middleware(request, next)`. That of an app runs first, then that of each router from
   the outside in.
diff --git a/wicket/app.py b/wicket/app.py
--- a/wicket/app.py
+++ b/wicket/app.py
@@ -3,6 +3,7 @@
 import sys
 import traceback
 from collections.abc import Callable, Iterable
+from dataclasses import replace
 from functools import partial
 from http import HTTPStatus
 from typing import Any
@@ -10,7 +11,7 @@ from typing import Any
 from wicket.errors import HttpError
 from wicket.request import Request
 from wicket.response import Response
-from wicket.routing import Router
+from wicket.routing import Route, Router
 
 
 class App(Router):
@@ -23,12 +24,22 @@ class App(Router):
         phrase = HTTPStatus(response.status).phrase
         headers = {**response.headers, "Content-Length": str(len(response.body))}
         start_response(f"{response.status} {phrase}", list(headers.items()))
-        return [response.body]
+        return [] if environ["REQUEST_METHOD"] == "HEAD" else [response.body]
+
+    def _route(self, request: Request) -> tuple[Route, dict[str, Any]]:
+        try:
+            return self.find(request.method, request.path)
+        except HttpError as error:
+            if request.method != "OPTIONS" or error.status != 405:
+                raise
+            answer = Response(204, headers={"Allow": error.headers["Allow"]})
+            first, _ = self.matching(request.path)[0]
+            return replace(first, handler=lambda request: answer), {}
 
     def respond(self, request: Request) -> Response:
         """Return the response to a request; errors become responses."""
         try:
-            route, values = self.find(request.method, request.path)
+            route, values = self._route(request)
             call: Callable[[Request], Any] = partial(_handle, route.handler, values)
             for middleware in reversed(route.middleware):
                 call = partial(_through, middleware, call)
diff --git a/wicket/routing.py b/wicket/routing.py
--- a/wicket/routing.py
+++ b/wicket/routing.py
@@ -18,6 +18,7 @@ class Route:
     pattern: Pattern
     handler: Handler
     middleware: tuple[Middleware, ...] = ()
+    implied: bool = False
 
 
 class Router:
@@ -64,6 +65,8 @@ class Router:
         for route in self._routes:
             path = prefix + route.pattern.text
             yield Route(route.method, Pattern(path), route.handler, own)
+            if route.method == "GET":
+                yield Route("HEAD", Pattern(path), route.handler, own, implied=True)
         for below, router in self._mounted:
             yield from router.routes(prefix + below, own)
 
@@ -73,14 +76,22 @@ class Router:
         Raises:
             HttpError: 404: no such path; 405: the path has other methods.
         """
-        known = False
+        matching = self.matching(path)
+        if not matching:
+            raise HttpError(404, f"{path}: not found")
+        fitting = [(route, values) for route, values in matching if route.method == method]
+        for route, values in sorted(fitting, key=lambda each: each[0].implied):
+            return route, values
+        raise HttpError(405, f"{method} is not allowed here", {"Allow": self.allowed(path)})
+
+    def matching(self, path: str) -> list[tuple[Route, dict[str, Any]]]:
+        """Return the routes of a path with the values of their slots, the most fixed one first."""
+        found = []
         for route in sorted(self.routes(), key=lambda route: route.pattern.rank()):
             values = route.pattern.match(path)
-            if values is None:
-                continue
-            if route.method == method:
-                return route, values
-            known = True
-        if known:
-            raise HttpError(405, f"{method} is not allowed here")
-        raise HttpError(404, f"{path}: not found")
+            if values is not None:
+                found.append((route, values))
+        return found
+
+    def allowed(self, path: str) -> str:
+        return ", ".join(sorted({"OPTIONS"} | {route.method for route, _ in self.matching(path)}))
PATCH
