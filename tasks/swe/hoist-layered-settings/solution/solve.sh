#!/bin/bash
cd /srv/hoist
git apply <<'PATCH'
diff --git a/CHANGELOG.md b/CHANGELOG.md
index 190abea..8de66f9 100644
--- a/CHANGELOG.md
+++ b/CHANGELOG.md
@@ -1,5 +1,8 @@
 # Changelog
 
+## Unreleased
+- Settings count whatever their value, lists are not joined, and mistakes say where they are (#92).
+
 ## 3.1.0 (2026-02-17)
 - `hoist settings` (#88).
 - `[environments.NAME]` (#85).
diff --git a/hoist/cli.py b/hoist/cli.py
index aea08f6..03f30db 100644
--- a/hoist/cli.py
+++ b/hoist/cli.py
@@ -9,7 +9,6 @@ from hoist.files import file_layers
 from hoist.layers import Setting, joined
 from hoist.options import add_options, option_layers
 from hoist.plan import plan, read_manifest
-from hoist.settings import SettingsError
 from hoist.variables import variable_layers
 
 
@@ -22,34 +21,39 @@ def main(arguments: Sequence[str], variables: Mapping[str, str] = os.environ) ->
         add_options(command)
         command.add_argument("environments", metavar="ENVIRONMENT", nargs=count)
     options = parser.parse_args(arguments)
+    mistakes: list[str] = []
+    found = {
+        each: settings_of(options, each, variables, mistakes) for each in options.environments
+    }
+    if mistakes:
+        print("\n".join(dict.fromkeys(mistakes)), file=sys.stderr)
+        return 2
+    if options.command == "settings":
+        _show(found[options.environments[0]])
+        return 0
     try:
-        if options.command == "settings":
-            _show(settings_of(options, options.environments[0], variables))
-        else:
-            artifacts = read_manifest(options.manifest)
-            for environment in options.environments:
-                found = settings_of(options, environment, variables)
-                print("\n".join(plan(environment, artifacts, found)))
-    except (SettingsError, ValueError, OSError) as error:
+        artifacts = read_manifest(options.manifest)
+    except (ValueError, OSError) as error:
         print(error, file=sys.stderr)
         return 2
+    for environment in options.environments:
+        print("\n".join(plan(environment, artifacts, found[environment])))
     return 0
 
 
 def settings_of(
-    options: argparse.Namespace, environment: str, variables: Mapping[str, str]
+    options: argparse.Namespace,
+    environment: str,
+    variables: Mapping[str, str],
+    mistakes: list[str],
 ) -> dict[str, Setting]:
-    """Return the settings for an environment.
-
-    Raises:
-        SettingsError: There are mistakes.
-    """
+    """Return the settings for an environment; collect mistakes."""
     return joined(
         [
-            *file_layers(options.user_file, environment),
-            *file_layers(options.file, environment),
-            *variable_layers(variables),
-            *option_layers(options),
+            *file_layers(options.user_file, environment, mistakes),
+            *file_layers(options.file, environment, mistakes),
+            *variable_layers(variables, mistakes),
+            *option_layers(options, mistakes),
         ]
     )
 
diff --git a/hoist/files.py b/hoist/files.py
index 1948e80..ec6832a 100644
--- a/hoist/files.py
+++ b/hoist/files.py
@@ -9,27 +9,33 @@ from hoist.layers import Layer
 from hoist.settings import LISTS, SettingsError, checked
 
 
-def file_layers(path: Path, environment: str) -> list[Layer]:
-    """Return the layers of a file for an environment, the general one first.
-
-    Raises:
-        SettingsError: The file cannot be read, or holds mistakes.
-    """
+def file_layers(path: Path, environment: str, mistakes: list[str]) -> list[Layer]:
+    """Return the layers of a file for an environment, the general one first; collect mistakes."""
     if not path.exists():
         return []
     try:
         content = tomllib.loads(path.read_text(encoding="utf-8"))
     except (OSError, ValueError) as error:
-        raise SettingsError(f"{path}: {error}") from None
+        mistakes.append(f"{path}: {error}")
+        return []
     environments = content.pop("environments", {})
-    return [_layer(path, content), _layer(path, environments.get(environment, {}))]
+    own = environments.get(environment, {}) if isinstance(environments, dict) else None
+    if not isinstance(own, dict):
+        mistakes.append(f"{path}: environments: expected a table for each environment")
+        own = {}
+    return [_layer(path, content, mistakes), _layer(path, own, mistakes)]
 
 
-def _layer(path: Path, content: Mapping[str, Any]) -> Layer:
-    values, added = {}, {}
+def _layer(path: Path, content: Mapping[str, Any], mistakes: list[str]) -> Layer:
+    values: dict[str, Any] = {}
+    added: dict[str, list[str]] = {}
     for key, value in content.items():
-        if key.endswith("+") and key[:-1] in LISTS:
-            added[key[:-1]] = checked(key[:-1], value)
-        else:
-            values[key] = checked(key, value)
+        name = key.removesuffix("+")
+        try:
+            if name != key and name in LISTS:
+                added[name] = checked(name, value)
+            else:
+                values[key] = checked(key, value)
+        except SettingsError as error:
+            mistakes.append(f"{path}: {key}: {error}")
     return Layer(str(path), values, added)
diff --git a/hoist/layers.py b/hoist/layers.py
index 6e6cd3b..0aa03df 100644
--- a/hoist/layers.py
+++ b/hoist/layers.py
@@ -33,17 +33,13 @@ def joined(layers: Iterable[Layer]) -> dict[str, Setting]:
     found = {key: Setting(value, "default") for key, value in DEFAULTS.items()}
     for layer in layers:
         for key, value in layer.values.items():
-            if key in LISTS:
-                value = _added(found[key].value, value)
-            if value and value != DEFAULTS[key]:
-                found[key] = Setting(value, layer.name)
+            found[key] = Setting(value, layer.name)
         for key, more in layer.added.items():
-            found[key] = Setting(_added(found[key].value, more), layer.name)
+            found[key] = _added(found[key], more, layer.name)
     return found
 
 
-def _added(values: list[str], more: list[str]) -> list[str]:
-    for value in more:
-        if value not in values:
-            values.append(value)
-    return values
+def _added(setting: Setting, more: list[str], name: str) -> Setting:
+    sources = setting.source.split(", ") if setting.source != "default" else []
+    source = ", ".join(dict.fromkeys([*sources, name]))
+    return Setting(list(dict.fromkeys([*setting.value, *more])), source)
diff --git a/hoist/options.py b/hoist/options.py
index 800181f..2ac9285 100644
--- a/hoist/options.py
+++ b/hoist/options.py
@@ -4,7 +4,7 @@ import argparse
 from pathlib import Path
 
 from hoist.layers import Layer
-from hoist.settings import DEFAULTS, LISTS, from_text
+from hoist.settings import DEFAULTS, LISTS, SettingsError, from_text
 
 _NAMES = {"tags": "--tag", "skip": "--skip"}
 
@@ -14,26 +14,25 @@ def add_options(parser: argparse.ArgumentParser) -> None:
     parser.add_argument("--user-file", type=Path, default=Path.home() / ".hoist.toml")
     parser.add_argument("--file", type=Path, default=Path("hoist.toml"))
     parser.add_argument("--manifest", type=Path, default=Path("manifest.txt"))
-    for key, value in DEFAULTS.items():
+    for key in DEFAULTS:
         if key == "verify":
-            parser.add_argument("--verify", action=argparse.BooleanOptionalAction, default=value)
+            parser.add_argument("--verify", action=argparse.BooleanOptionalAction)
         elif key in LISTS:
-            parser.add_argument(_NAMES[key], dest=key, action="append", default=value)
+            parser.add_argument(_NAMES[key], dest=key, action="append")
         else:
-            parser.add_argument(f"--{key}", default=str(value))
+            parser.add_argument(f"--{key}")
 
 
-def option_layers(options: argparse.Namespace) -> list[Layer]:
-    """Return the layers of the options that are given.
-
-    Raises:
-        SettingsError: A value is wrong.
-    """
+def option_layers(options: argparse.Namespace, mistakes: list[str]) -> list[Layer]:
+    """Return the layers of the options that are given; collect mistakes."""
     layers = []
-    for key, default in DEFAULTS.items():
+    for key in DEFAULTS:
         given = getattr(options, key)
-        if key not in LISTS and key != "verify":
-            given = from_text(key, given)
-        if given != default:
-            layers.append(Layer(_NAMES.get(key, f"--{key}"), {key: given}))
+        name = "--no-verify" if key == "verify" and given is False else _NAMES.get(key, f"--{key}")
+        try:
+            if given is not None:
+                value = from_text(key, given) if isinstance(given, str) else given
+                layers.append(Layer(name, {key: value}))
+        except SettingsError as error:
+            mistakes.append(f"{name}: {error}")
     return layers
diff --git a/hoist/settings.py b/hoist/settings.py
index cbb7520..e461f4d 100644
--- a/hoist/settings.py
+++ b/hoist/settings.py
@@ -12,6 +12,7 @@ DEFAULTS: Mapping[str, Any] = {
     "skip": [],
 }
 LISTS = ("tags", "skip")
+_WORDS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
 
 
 class SettingsError(Exception):
@@ -51,9 +52,11 @@ def from_text(key: str, text: str) -> Any:
         SettingsError: It stands for none.
     """
     if key in LISTS:
-        return [part.strip() for part in text.split(",")]
+        return [part.strip() for part in text.split(",") if part.strip()]
     if key == "verify":
-        return bool(text)
+        if text.strip().lower() not in _WORDS:
+            raise SettingsError(f"expected one of {', '.join(_WORDS)}, got {text!r}")
+        return _WORDS[text.strip().lower()]
     if key in ("jobs", "timeout"):
         try:
             return checked(key, int(text) if key == "jobs" else float(text))
diff --git a/hoist/variables.py b/hoist/variables.py
index 11ca44a..da3129f 100644
--- a/hoist/variables.py
+++ b/hoist/variables.py
@@ -3,20 +3,19 @@
 from collections.abc import Mapping
 
 from hoist.layers import Layer
-from hoist.settings import DEFAULTS, from_text
+from hoist.settings import DEFAULTS, SettingsError, from_text
 
 PREFIX = "HOIST_"
 
 
-def variable_layers(variables: Mapping[str, str]) -> list[Layer]:
-    """Return the layers of the variables that are set.
-
-    Raises:
-        SettingsError: A value is wrong.
-    """
+def variable_layers(variables: Mapping[str, str], mistakes: list[str]) -> list[Layer]:
+    """Return the layers of the variables that are set; collect mistakes."""
     layers = []
     for key in DEFAULTS:
         name = PREFIX + key.upper()
-        if variables.get(name):
-            layers.append(Layer(name, {key: from_text(key, variables[name])}))
+        try:
+            if name in variables:
+                layers.append(Layer(name, {key: from_text(key, variables[name])}))
+        except SettingsError as error:
+            mistakes.append(f"{name}: {error}")
     return layers
PATCH
