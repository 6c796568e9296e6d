#!/bin/bash
cd /srv/wicket
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index ed804ce..50f8b9f 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- `HEAD` and `OPTIONS` are answered; a 405 has `Allow` (#74).
+
 ## 0.9.0 (2026-02-11)
 - Routers can be mounted in routers (#71).
 - `{name:path}` (#69).
diff --git a/README.md b/README.md
index 383927b..9bf700d 100644
--- a/README.md
+++ b/README.md
@@ -21,6 +21,8 @@ app.mount("/books", books)
   `Response`, or `None` for 204.
 * **Slots** are `{name}` (text without a slash), `{name:int}` and `{name:path}` (text with slashes). A route with fixed
   text goes before one with a slot at the same place, whatever was registered first.
+* **Methods.** A path with `GET` answers `HEAD` too, and every path answers `OPTIONS`, unless there is a route for it.
+  Other methods are a 405 with `Allow`.
 * **Routers** hold routes and can be mounted below a prefix, in an app and in each other.
 * **Middleware** wraps handlers: `middleware(request, next)`. That of an app runs first, then that of each router from
   the outside in.
diff --git a/wicket/app.py b/wicket/app.py
index 690b492..24a60b2 100644
--- a/wicket/app.py
+++ b/wicket/app.py
@@ -19,11 +19,12 @@ class App(Router):
     def __call__(
         self, environ: dict[str, Any], start_response: Callable[..., Any]
     ) -> Iterable[bytes]:
-        response = self.respond(Request.from_environ(environ))
+        request = Request.from_environ(environ)
+        response = self.respond(request)
         phrase = HTTPStatus(response.status).phrase
         headers = {**response.headers, "Content-Length": str(len(response.body))}
         start_response(f"{response.status} {phrase}", list(headers.items()))
-        return [response.body]
+        return [] if request.method == "HEAD" else [response.body]
 
     def respond(self, request: Request) -> Response:
         """Return the response to a request; errors become responses."""
diff --git a/wicket/routing.py b/wicket/routing.py
index 888e644..4774ccb 100644
--- a/wicket/routing.py
+++ b/wicket/routing.py
@@ -7,6 +7,7 @@ from typing import Any
 from wicket.errors import HttpError
 from wicket.pattern import Pattern
 from wicket.request import Request
+from wicket.response import Response
 
 Handler = Callable[..., Any]
 Middleware = Callable[[Request, Callable[[Request], Any]], Any]
@@ -67,20 +68,38 @@ class Router:
         for below, router in self._mounted:
             yield from router.routes(prefix + below, own)
 
+    def allowed(self, path: str) -> list[str]:
+        """Return the methods of a path, sorted; empty if there is no such path."""
+        methods = {route.method for route in self.routes() if route.pattern.match(path) is not None}
+        if "GET" in methods:
+            methods.add("HEAD")
+        return sorted(methods | {"OPTIONS"}) if methods else []
+
     def find(self, method: str, path: str) -> tuple[Route, dict[str, Any]]:
         """Return the route for a request and the values of its slots.
 
         Raises:
             HttpError: 404: no such path; 405: the path has other methods.
         """
-        known = False
-        for route in sorted(self.routes(), key=lambda route: route.pattern.rank()):
-            values = route.pattern.match(path)
-            if values is None:
-                continue
-            if route.method == method:
-                return route, values
-            known = True
-        if known:
-            raise HttpError(405, f"{method} is not allowed here")
-        raise HttpError(404, f"{path}: not found")
+        matching = [
+            (route, values)
+            for route in sorted(self.routes(), key=lambda route: route.pattern.rank())
+            if (values := route.pattern.match(path)) is not None
+        ]
+        if not matching:
+            raise HttpError(404, f"{path}: not found")
+        # A HEAD of one's own goes before the one that every GET brings.
+        for wanted in (method, "GET") if method == "HEAD" else (method,):
+            for route, values in matching:
+                if route.method == wanted:
+                    return route, values
+        allow = ", ".join(self.allowed(path))
+        if method == "OPTIONS":
+            # The middleware of the first route answers too: it may add headers of its own.
+            first = matching[0][0]
+            return Route(method, first.pattern, _options(allow), first.middleware), {}
+        raise HttpError(405, f"{method} is not allowed here", {"Allow": allow})
+
+
+def _options(allow: str) -> Handler:
+    return lambda request: Response(204, headers={"Allow": allow})
PATCH
