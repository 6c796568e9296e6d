#!/bin/bash
set -euo pipefail
cd /srv/hoist
git apply --whitespace=nowarn <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,9 @@
 # Changelog
 
+## 3.1.1 (2026-03-06)
+- Fixed: settings that equal the default were ignored in options and variables (#92).
+- Fixed: lists, `verify`, places of mistakes, `hoist settings`.
+
 ## 3.1.0 (2026-02-17)
 - `hoist settings` (#88).
 - `[environments.NAME]` (#85).
diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -36,6 +36,7 @@ Mistakes are lines on stderr, and the exit code is 2.
 | module | holds |
 |---|---|
 | `hoist/settings.py` | keys, kinds, defaults |
+| `hoist/mistakes.py` | mistakes and how they are collected |
 | `hoist/layers.py` | layers and how they are joined |
 | `hoist/files.py`, `hoist/variables.py`, `hoist/options.py` | where layers are from |
 | `hoist/plan.py` | plans |
diff --git a/hoist/cli.py b/hoist/cli.py
--- a/hoist/cli.py
+++ b/hoist/cli.py
@@ -9,7 +9,7 @@ from hoist.files import file_layers
 from hoist.layers import Setting, joined
 from hoist.options import add_options, option_layers
 from hoist.plan import plan, read_manifest
-from hoist.settings import SettingsError
+from hoist.settings import Mistakes, SettingsError
 from hoist.variables import variable_layers
 
 
@@ -26,16 +26,25 @@ def main(arguments: Sequence[str], variables: Mapping[str, str] = os.environ) ->
         if options.command == "settings":
             _show(settings_of(options, options.environments[0], variables))
         else:
-            artifacts = read_manifest(options.manifest)
-            for environment in options.environments:
-                found = settings_of(options, environment, variables)
-                print("\n".join(plan(environment, artifacts, found)))
+            print("\n".join(_plans(options, variables)))
     except (SettingsError, ValueError, OSError) as error:
         print(error, file=sys.stderr)
         return 2
     return 0
 
 
+def _plans(options: argparse.Namespace, variables: Mapping[str, str]) -> list[str]:
+    """Return the lines of all plans, or raise all mistakes."""
+    mistakes = Mistakes()
+    found = {}
+    for environment in options.environments:
+        with mistakes.collected():
+            found[environment] = settings_of(options, environment, variables)
+    mistakes.check()
+    artifacts = read_manifest(options.manifest)
+    return ["\n".join(plan(each, artifacts, found[each])) for each in options.environments]
+
+
 def settings_of(
     options: argparse.Namespace, environment: str, variables: Mapping[str, str]
 ) -> dict[str, Setting]:
@@ -44,14 +53,18 @@ def settings_of(
     Raises:
         SettingsError: There are mistakes.
     """
-    return joined(
-        [
-            *file_layers(options.user_file, environment),
-            *file_layers(options.file, environment),
-            *variable_layers(variables),
-            *option_layers(options),
-        ]
-    )
+    mistakes = Mistakes()
+    layers = []
+    for read in (
+        lambda: file_layers(options.user_file, environment),
+        lambda: file_layers(options.file, environment),
+        lambda: variable_layers(variables),
+        lambda: option_layers(options),
+    ):
+        with mistakes.collected():
+            layers += read()
+    mistakes.check()
+    return joined(layers)
 
 
 def _show(found: Mapping[str, Setting]) -> None:
diff --git a/hoist/files.py b/hoist/files.py
--- a/hoist/files.py
+++ b/hoist/files.py
@@ -6,7 +6,7 @@ from pathlib import Path
 from typing import Any
 
 from hoist.layers import Layer
-from hoist.settings import LISTS, SettingsError, checked
+from hoist.settings import LISTS, Mistakes, SettingsError, checked
 
 
 def file_layers(path: Path, environment: str) -> list[Layer]:
@@ -21,15 +21,27 @@ def file_layers(path: Path, environment: str) -> list[Layer]:
         content = tomllib.loads(path.read_text(encoding="utf-8"))
     except (OSError, ValueError) as error:
         raise SettingsError(f"{path}: {error}") from None
+    mistakes = Mistakes()
     environments = content.pop("environments", {})
-    return [_layer(path, content), _layer(path, environments.get(environment, {}))]
+    own: Any = {}
+    with mistakes.collected(f"{path}: environments: "):
+        if not isinstance(environments, dict):
+            raise SettingsError(f"expected tables, got {environments!r}")
+        own = environments.get(environment, {})
+        if not isinstance(own, dict):
+            own, wrong = {}, own
+            raise SettingsError(f"expected a table {environment}, got {wrong!r}")
+    layers = [_layer(path, table, mistakes) for table in (content, own)]
+    mistakes.check()
+    return layers
 
 
-def _layer(path: Path, content: Mapping[str, Any]) -> Layer:
+def _layer(path: Path, content: Mapping[str, Any], mistakes: Mistakes) -> Layer:
     values, added = {}, {}
     for key, value in content.items():
-        if key.endswith("+") and key[:-1] in LISTS:
-            added[key[:-1]] = checked(key[:-1], value)
-        else:
-            values[key] = checked(key, value)
+        with mistakes.collected(f"{path}: {key}: "):
+            if key.endswith("+") and key[:-1] in LISTS:
+                added[key[:-1]] = checked(key[:-1], value)
+            else:
+                values[key] = checked(key, value)
     return Layer(str(path), values, added)
diff --git a/hoist/layers.py b/hoist/layers.py
--- a/hoist/layers.py
+++ b/hoist/layers.py
@@ -30,20 +30,14 @@ class Setting:
 
 def joined(layers: Iterable[Layer]) -> dict[str, Setting]:
     """Return all settings, from defaults and layers in their order."""
-    found = {key: Setting(value, "default") for key, value in DEFAULTS.items()}
+    values: dict[str, Any] = {key: list(value) if key in LISTS else value for key, value in DEFAULTS.items()}
+    sources: dict[str, list[str]] = {key: [] for key in DEFAULTS}
     for layer in layers:
         for key, value in layer.values.items():
-            if key in LISTS:
-                value = _added(found[key].value, value)
-            if value and value != DEFAULTS[key]:
-                found[key] = Setting(value, layer.name)
+            values[key], sources[key] = value, [layer.name]
         for key, more in layer.added.items():
-            found[key] = Setting(_added(found[key].value, more), layer.name)
-    return found
-
-
-def _added(values: list[str], more: list[str]) -> list[str]:
-    for value in more:
-        if value not in values:
-            values.append(value)
-    return values
+            new = [each for each in dict.fromkeys(more) if each not in values[key]]
+            values[key] = [*values[key], *new]
+            if new and layer.name not in sources[key]:
+                sources[key].append(layer.name)
+    return {key: Setting(values[key], ", ".join(sources[key]) or "default") for key in DEFAULTS}
diff --git a/hoist/mistakes.py b/hoist/mistakes.py
new file mode 100644
--- /dev/null
+++ b/hoist/mistakes.py
@@ -0,0 +1,26 @@
+"""Mistakes in settings."""
+
+from collections.abc import Iterator
+from contextlib import contextmanager
+
+
+class SettingsError(Exception):
+    """Mistakes in settings, one a line."""
+
+
+class Mistakes:
+    """Collects mistakes, each once."""
+
+    def __init__(self) -> None:
+        self._lines: dict[str, None] = {}
+
+    @contextmanager
+    def collected(self, place: str = "") -> Iterator[None]:
+        try:
+            yield
+        except SettingsError as error:
+            self._lines.update({place + line: None for line in str(error).splitlines()})
+
+    def check(self) -> None:
+        if self._lines:
+            raise SettingsError("\n".join(self._lines))
diff --git a/hoist/options.py b/hoist/options.py
--- a/hoist/options.py
+++ b/hoist/options.py
@@ -4,7 +4,7 @@ import argparse
 from pathlib import Path
 
 from hoist.layers import Layer
-from hoist.settings import DEFAULTS, LISTS, from_text
+from hoist.settings import DEFAULTS, LISTS, Mistakes, from_text
 
 _NAMES = {"tags": "--tag", "skip": "--skip"}
 
@@ -14,13 +14,13 @@ def add_options(parser: argparse.ArgumentParser) -> None:
     parser.add_argument("--user-file", type=Path, default=Path.home() / ".hoist.toml")
     parser.add_argument("--file", type=Path, default=Path("hoist.toml"))
     parser.add_argument("--manifest", type=Path, default=Path("manifest.txt"))
-    for key, value in DEFAULTS.items():
+    for key in DEFAULTS:
         if key == "verify":
-            parser.add_argument("--verify", action=argparse.BooleanOptionalAction, default=value)
+            parser.add_argument("--verify", action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS)
         elif key in LISTS:
-            parser.add_argument(_NAMES[key], dest=key, action="append", default=value)
+            parser.add_argument(_NAMES[key], dest=key, action="append", default=argparse.SUPPRESS)
         else:
-            parser.add_argument(f"--{key}", default=str(value))
+            parser.add_argument(f"--{key}", default=argparse.SUPPRESS)
 
 
 def option_layers(options: argparse.Namespace) -> list[Layer]:
@@ -29,11 +29,14 @@ def option_layers(options: argparse.Namespace) -> list[Layer]:
     Raises:
         SettingsError: A value is wrong.
     """
-    layers = []
-    for key, default in DEFAULTS.items():
+    layers, mistakes = [], Mistakes()
+    for key in DEFAULTS:
+        if not hasattr(options, key):
+            continue
         given = getattr(options, key)
-        if key not in LISTS and key != "verify":
-            given = from_text(key, given)
-        if given != default:
-            layers.append(Layer(_NAMES.get(key, f"--{key}"), {key: given}))
+        name = "--no-verify" if key == "verify" and not given else _NAMES.get(key, f"--{key}")
+        with mistakes.collected(f"{name}: "):
+            value = given if key in LISTS or key == "verify" else from_text(key, given)
+            layers.append(Layer(name, {key: value}))
+    mistakes.check()
     return layers
diff --git a/hoist/settings.py b/hoist/settings.py
--- a/hoist/settings.py
+++ b/hoist/settings.py
@@ -3,6 +3,8 @@
 from collections.abc import Mapping
 from typing import Any
 
+from hoist.mistakes import Mistakes, SettingsError
+
 DEFAULTS: Mapping[str, Any] = {
     "jobs": 4,
     "verify": True,
@@ -12,10 +14,7 @@ DEFAULTS: Mapping[str, Any] = {
     "skip": [],
 }
 LISTS = ("tags", "skip")
-
-
-class SettingsError(Exception):
-    """Mistakes in settings, one a line."""
+_YES_NO = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
 
 
 def checked(key: str, value: Any) -> Any:
@@ -51,9 +50,11 @@ def from_text(key: str, text: str) -> Any:
         SettingsError: It stands for none.
     """
     if key in LISTS:
-        return [part.strip() for part in text.split(",")]
+        return [part.strip() for part in text.split(",") if part.strip()]
     if key == "verify":
-        return bool(text)
+        if text.lower() not in _YES_NO:
+            raise SettingsError(f"expected yes or no, got {text!r}")
+        return _YES_NO[text.lower()]
     if key in ("jobs", "timeout"):
         try:
             return checked(key, int(text) if key == "jobs" else float(text))
diff --git a/hoist/variables.py b/hoist/variables.py
--- a/hoist/variables.py
+++ b/hoist/variables.py
@@ -3,7 +3,7 @@
 from collections.abc import Mapping
 
 from hoist.layers import Layer
-from hoist.settings import DEFAULTS, from_text
+from hoist.settings import DEFAULTS, Mistakes, from_text
 
 PREFIX = "HOIST_"
 
@@ -14,9 +14,11 @@ def variable_layers(variables: Mapping[str, str]) -> list[Layer]:
     Raises:
         SettingsError: A value is wrong.
     """
-    layers = []
+    layers, mistakes = [], Mistakes()
     for key in DEFAULTS:
         name = PREFIX + key.upper()
-        if variables.get(name):
-            layers.append(Layer(name, {key: from_text(key, variables[name])}))
+        if name in variables:
+            with mistakes.collected(f"{name}: "):
+                layers.append(Layer(name, {key: from_text(key, variables[name])}))
+    mistakes.check()
     return layers
PATCH
