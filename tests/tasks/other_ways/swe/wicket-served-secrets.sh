#!/bin/bash
set -euo pipefail
cd /srv/wicket
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -3,6 +3,7 @@
 ## 0.10.0 (2026-03-05)
 - `wicket.pages` (#80).
 - `wicket.static` (#78).
+- Only regular files that are really below the folder and not hidden are served (#83).
 
 ## 0.9.0 (2026-02-11)
 - Routers can be mounted in routers (#71).
diff --git a/wicket/folder.py b/wicket/folder.py
--- a/wicket/folder.py
+++ b/wicket/folder.py
@@ -1,6 +1,7 @@
 """Folders whose files can be read by name."""
 
-import os.path
+import os
+import stat
 from pathlib import Path
 
 
@@ -12,13 +13,29 @@ class Folder:
 
     def find(self, name: str) -> Path | None:
         """Return the path of a file; None if there is no such file."""
-        path = os.path.normpath(os.path.join(self.root, name))
-        if not path.startswith(self.root):
+        if name.startswith("/") or name.endswith("/") or "\0" in name:
             return None
-        found = Path(path)
-        return found if found.exists() else None
+        wanted = os.path.normpath(name)
+        if wanted.split(os.sep)[0] == os.pardir or _is_hidden(wanted):
+            return None
+        top = os.path.realpath(self.root)
+        path = os.path.realpath(os.path.join(top, wanted))
+        if os.path.commonpath([top, path]) != top or _is_hidden(os.path.relpath(path, top)):
+            return None
+        return Path(path) if os.path.isfile(path) else None
 
     def read(self, name: str) -> bytes | None:
         """Return the content of a file; None if there is no such file."""
         path = self.find(name)
-        return None if path is None else path.read_bytes()
+        if path is None:
+            return None
+        try:
+            number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
+        except OSError:
+            return None
+        with os.fdopen(number, "rb") as file:
+            return file.read() if stat.S_ISREG(os.fstat(number).st_mode) else None
+
+
+def _is_hidden(path: str) -> bool:
+    return any(part.startswith(".") for part in path.split(os.sep))
PATCH
git add -A
git -c user.name=x -c user.email=x@x commit -qm 'Serve only files of the folder'
