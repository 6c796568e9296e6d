#!/bin/bash
set -euo pipefail
cd /srv/wicket
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## 0.10.0 (2026-03-03)
+- Answers to `HEAD` and `OPTIONS` (#76).
+
 ## 0.9.0 (2026-02-11)
 - Routers can be mounted in routers (#71).
 - `{name:path}` (#69).
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -27,12 +27,16 @@ app.mount("/books", books)
 * **Errors** are JSON: `{"error": "no such book"}`. `HttpError` has a status and headers; anything else is a 500 without
   details.
 
+Load balancers may ask with `HEAD`: the route for `GET` answers, and only the body is left out. `OPTIONS` tells in `Allow` what a
+path can do.
+
 `wicket.testing.Client` calls an app without a server. `python3 -m pytest` runs the tests.
 
 | module | holds |
 |---|---|
 | `wicket/app.py` | `App`, the WSGI side |
 | `wicket/routing.py` | `Router`, routes, matching |
+| `wicket/methods.py` | answers to `OPTIONS`, the `Allow` header |
 | `wicket/pattern.py` | path patterns |
 | `wicket/request.py`, `wicket/response.py` | what goes in and out |
 | `wicket/errors.py` | `HttpError` |
diff --git a/tests/methods/test_head.py b/tests/methods/test_head.py
new file mode 100644
--- /dev/null
+++ b/tests/methods/test_head.py
@@ -0,0 +1,10 @@
+from wicket import App
+from wicket.testing import Client
+
+
+def test_head():
+    app = App()
+    app.get('/')(lambda request: {'a': 1})
+    seen = Client(app).head('/')
+    assert (seen.body, seen.headers['Content-Length']) == (b'', '8')
+    assert Client(app).request('OPTIONS', '/').headers['Allow'] == 'GET, HEAD, OPTIONS'
diff --git a/wicket/app.py b/wicket/app.py
--- a/wicket/app.py
+++ b/wicket/app.py
@@ -22,6 +22,8 @@ class App(Router):
         response = self.respond(Request.from_environ(environ))
         phrase = HTTPStatus(response.status).phrase
         headers = {**response.headers, "Content-Length": str(len(response.body))}
+        if environ.get("REQUEST_METHOD") == "HEAD":
+            response = Response(response.status)
         start_response(f"{response.status} {phrase}", list(headers.items()))
         return [response.body]
 
diff --git a/wicket/methods.py b/wicket/methods.py
new file mode 100644
--- /dev/null
+++ b/wicket/methods.py
@@ -0,0 +1,17 @@
+"""Methods that are answered without a route of their own."""
+
+from collections.abc import Iterable, Mapping
+
+from wicket.response import Response
+
+
+def allowed(methods: Iterable[str]) -> Mapping[str, str]:
+    """Return the header that names the methods of a path."""
+    found = {*methods, "OPTIONS"}
+    if "GET" in found:
+        found.add("HEAD")
+    return {"Allow": ", ".join(sorted(found))}
+
+
+def options(methods: Iterable[str]) -> Response:
+    return Response(204, headers=dict(allowed(methods)))
diff --git a/wicket/routing.py b/wicket/routing.py
--- a/wicket/routing.py
+++ b/wicket/routing.py
@@ -1,10 +1,11 @@
 """Routers: which handler answers a request."""
 
 from collections.abc import Callable, Iterator
-from dataclasses import dataclass
+from dataclasses import dataclass, replace
 from typing import Any
 
 from wicket.errors import HttpError
+from wicket.methods import allowed, options
 from wicket.pattern import Pattern
 from wicket.request import Request
 
@@ -73,14 +74,20 @@ class Router:
         Raises:
             HttpError: 404: no such path; 405: the path has other methods.
         """
-        known = False
+        matches: list[tuple[Route, dict[str, Any]]] = []
         for route in sorted(self.routes(), key=lambda route: route.pattern.rank()):
             values = route.pattern.match(path)
             if values is None:
                 continue
             if route.method == method:
                 return route, values
-            known = True
-        if known:
-            raise HttpError(405, f"{method} is not allowed here")
-        raise HttpError(404, f"{path}: not found")
+            matches.append((route, values))
+        if not matches:
+            raise HttpError(404, f"{path}: not found")
+        methods = [route.method for route, _ in matches]
+        if method == "HEAD" and "GET" in methods:
+            return matches[methods.index("GET")]
+        if method == "OPTIONS":
+            nearest = matches[0][0]
+            return replace(nearest, method=method, handler=lambda request, **slots: options(methods)), matches[0][1]
+        raise HttpError(405, f"{method} is not allowed here", allowed(methods))
diff --git a/wicket/testing.py b/wicket/testing.py
--- a/wicket/testing.py
+++ b/wicket/testing.py
@@ -38,5 +38,8 @@ class Client:
     def get(self, path: str, **more: Any) -> Response:
         return self.request("GET", path, **more)
 
+    def head(self, path: str, **more: Any) -> Response:
+        return self.request("HEAD", path, **more)
+
     def post(self, path: str, body: Any = None, **more: Any) -> Response:
         return self.request("POST", path, body, **more)
PATCH
