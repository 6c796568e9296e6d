#!/bin/bash
cd /srv/wicket
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index 19f4d25..c9450af 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- Files outside a folder and hidden files can no longer be read by `static` and `Pages` (#83).
+
 ## 0.10.0 (2026-03-05)
 - `wicket.pages` (#80).
 - `wicket.static` (#78).
diff --git a/README.md b/README.md
index 1c51601..270e5f8 100644
--- a/README.md
+++ b/README.md
@@ -29,7 +29,8 @@ app.mount("/books", books)
 
 * **Files**: `app.mount("/static", static("public"))` serves a folder. `Pages("pages").show("hello", name="Ada")` is an HTML page
   with values (`[[ name ]]`) and parts (`[[ part footer ]]`). Folders and what is in them may be links, as deployments make them
-  (`public -> releases/42`).
+  (`public -> releases/42`);
+  a link in a folder must lead to a place below it. Hidden files are not served.
 
 `wicket.testing.Client` calls an app without a server. `python3 -m pytest` runs the tests.
 
diff --git a/wicket/folder.py b/wicket/folder.py
index 633d706..e1ff2ef 100644
--- a/wicket/folder.py
+++ b/wicket/folder.py
@@ -1,22 +1,31 @@
-"""Folders whose files can be read by name."""
+"""Folders whose files can be read by name, and no others."""
 
-import os.path
 from pathlib import Path
 
 
 class Folder:
-    """The files below a folder, by names with slashes."""
+    """The files below a folder, by names with slashes.
+
+    The folder may be a link, and is looked up anew each time. Links in it may lead to places below
+    it. Hidden files, whose names or folders begin with a dot, are not there.
+    """
 
     def __init__(self, root: str | Path) -> None:
-        self.root = os.path.abspath(root)
+        self.root = Path(root).absolute()
 
     def find(self, name: str) -> Path | None:
         """Return the path of a file; None if there is no such file."""
-        path = os.path.normpath(os.path.join(self.root, name))
-        if not path.startswith(self.root):
+        if any(part.startswith(".") for part in name.split("/")) or "\0" in name:
+            return None
+        try:
+            root = self.root.resolve(strict=True)
+            path = (root / name).resolve(strict=True)
+        except (OSError, RuntimeError, ValueError):
             return None
-        found = Path(path)
-        return found if found.exists() else None
+        hidden = not path.is_relative_to(root) or any(
+            part.startswith(".") for part in path.relative_to(root).parts
+        )
+        return path if not hidden and path.is_file() else None
 
     def read(self, name: str) -> bytes | None:
         """Return the content of a file; None if there is no such file."""
PATCH
