"""Reads the metadata of a repository for installers, and the modules that its code needs.

Reads pyproject.toml (PEP 621, Poetry), setup.cfg and requirements files. A statement may move from
one of them to another.
"""

from __future__ import annotations

import configparser
import posixpath
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias

from agentgym.manifest import parse_toml
from agentgym.swe.detection import is_code
from agentgym.swe.interface.resolution import Repository

Read: TypeAlias = Callable[[str], bytes | None]
Stated: TypeAlias = dict[str, tuple[str, str]]
"""The file and the value of each statement."""

_MOST_BYTES: Final = 300_000
_MOST_SHOWN: Final = 80
_REQUIREMENTS: Final = re.compile(
    r"(requirements(/base|/main)?|requirements/requirements)\.(txt|in)"
)
_SPECIFIED: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[^\]]*\])?\s*(.*)", re.DOTALL)
_MODULES: Final = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv",
    "Crypto": "pycryptodome",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "git": "gitpython",
    "jwt": "pyjwt",
    "magic": "python-magic",
    "OpenSSL": "pyopenssl",
    "PIL": "pillow",
    "pkg_resources": "setuptools",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Modules with another name than their distribution."""


def changed_packaging(
    before_paths: Collection[str], before: Read, after_paths: Collection[str], after: Read
) -> Iterator[tuple[str, str, str]]:
    """Yield key, text and path of each changed statement; a key is such as ``version``."""
    old, new = _stated(before_paths, before), _stated(after_paths, after)
    for path in sorted(_broken(after_paths, after) - _broken(before_paths, before)):
        yield path, "cannot be read any more", path
        return
    for key, (path, value) in old.items():
        if key not in new:
            yield key, f"{_shown(key)} is gone", path
        elif new[key][1] != value:
            yield (
                key,
                f"{_shown(key)} is now {_shown(new[key][1]) or 'without bounds'}",
                new[key][0],
            )
    for key, (path, _) in new.items():
        if key not in old and key.startswith("dependency "):
            yield key, f"{_shown(key)} is new", path


def _shown(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def lost_data(before: Collection[str], after: Collection[str]) -> Iterator[str]:
    """Yield the files of packages that are gone and were no modules."""
    packages = {posixpath.dirname(path) for path in before if path.endswith("/__init__.py")}
    for path in sorted(set(before) - set(after)):
        parts = path.split("/")
        above = {"/".join(parts[:count]) for count in range(1, len(parts))}
        free = any(part.startswith((".", "_")) or part in ("test", "tests") for part in parts)
        if above & packages and not free and not path.endswith((".py", ".pyc")):
            yield path


def _tables(path: str, read: Read) -> Mapping[str, Any] | None:
    """Return the tables of a file; None if it cannot be read."""
    data = read(path)
    if data is None or len(data) > _MOST_BYTES:
        return None
    try:
        text = data.decode("utf-8-sig")
        if path.endswith(".toml"):
            return parse_toml(text)
        parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
        parser.read_string(text)
        return {name: dict(parser[name]) for name in parser.sections()}
    except (configparser.Error, ValueError, RecursionError, MemoryError):
        return None


def _broken(paths: Collection[str], read: Read) -> set[str]:
    files = [path for path in ("pyproject.toml", "setup.cfg") if path in paths]
    return {path for path in files if _tables(path, read) is None}


def _stated(paths: Collection[str], read: Read) -> Stated:
    """Return all statements of a repository's files."""
    found: Stated = {}
    for path, statements in (("pyproject.toml", _of_pyproject), ("setup.cfg", _of_setup)):
        if path in paths and (tables := _tables(path, read)) is not None:
            for key, value in statements(tables):
                found.setdefault(key, (path, value))
    for path in sorted(paths):
        data = read(path) if _REQUIREMENTS.fullmatch(path) else None
        if data is not None and len(data) <= _MOST_BYTES:
            for line in data.decode("utf-8", "replace").splitlines():
                plain = line.partition(" #")[0].strip()
                if plain and not plain.startswith(("#", "-")):
                    found.setdefault(*_dependency(path, plain))
    return found


def _dependency(path: str, text: str, group: str = "") -> tuple[str, tuple[str, str]]:
    """Return the statement of a requirement; spaces and the order of bounds do not count."""
    match = _SPECIFIED.fullmatch(text)
    if match is None:
        return f"dependency {text.strip()}", (path, "")
    name, extras, rest = match.groups()
    bounds, mark, marker = rest.partition(";")
    told = ",".join(sorted(re.sub(r"[\s()]", "", each) for each in bounds.split(",")))
    key = f"dependency {_normal(name)}{f' of {group}' if group else ''}"
    return key, (path, f"{extras or ''}{told}{mark}{' '.join(marker.split())}")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _of_pyproject(tables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    project, tool = _table(tables, "project"), _table(tables, "tool")
    poetry = _table(tool, "poetry")
    for source in (project, poetry):
        for key in ("name", "version", "requires-python"):
            if isinstance(source.get(key), str):
                yield key, source[key]
    for text in _texts(project.get("dependencies")):
        key, (_, value) = _dependency("", text)
        yield key, value
    for group, texts in _table(project, "optional-dependencies").items():
        for text in _texts(texts):
            key, (_, value) = _dependency("", text, group)
            yield key, value
    for name, value in _table(poetry, "dependencies").items():
        key = "requires-python" if name == "python" else f"dependency {_normal(name)}"
        yield key, repr(value)
    for kind in ("scripts", "gui-scripts"):
        for name, value in {**_table(project, kind), **_table(poetry, kind)}.items():
            yield f"script {name}", _plain(value)
    groups = {**_table(project, "entry-points"), **_table(poetry, "plugins")}
    for group in groups:
        for name, value in _table(groups, group).items():
            yield f"entry point {group} {name}", _plain(value)
    for package, globs in _table(_table(tool, "setuptools"), "package-data").items():
        for glob in _texts(globs):
            yield f"package data {package} {glob}", ""


def _of_setup(tables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    metadata, options = _table(tables, "metadata"), _table(tables, "options")
    for key in ("name", "version"):
        if metadata.get(key):
            yield key, metadata[key]
    if options.get("python_requires"):
        yield "requires-python", options["python_requires"]
    requirements = [("", options.get("install_requires"))]
    requirements += _table(tables, "options.extras_require").items()
    for group, lines in requirements:
        for text in _lines(lines):
            key, (_, value) = _dependency("", text, group)
            yield key, value
    for group, lines in _table(tables, "options.entry_points").items():
        for line in _lines(lines):
            name, _, value = line.partition("=")
            script = group in ("console_scripts", "gui_scripts")
            kind = "script" if script else f"entry point {group}"
            yield f"{kind} {name.strip()}", _plain(value)
    for package, globs in _table(tables, "options.package_data").items():
        for glob in _lines(globs):
            yield f"package data {package} {glob}", ""


def _table(tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = tables.get(name)
    return found if isinstance(found, Mapping) else {}


def _texts(given: object) -> list[str]:
    return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []


def _lines(given: object) -> list[str]:
    lines = given.replace(";\n", "\n").splitlines() if isinstance(given, str) else []
    return [line.strip() for line in lines if line.strip()]


def _plain(value: object) -> str:
    return re.sub(r"\s+", "", value if isinstance(value, str) else repr(value))


def new_imports(
    before: Repository, after: Repository, paths: Collection[str], read: Read
) -> Iterator[tuple[str, str]]:
    """Yield name and path for each module from elsewhere that the base did not need.

    An import may fail if the code catches the error; it is left out.
    """
    used = {name for module in before.paths for name in _imports(before, module)}
    own = {name.partition(".")[0] for name in (*before.paths, *after.paths)}
    declared = "\n".join(_stated(paths, read)).lower().split()
    built = (read("setup.py") or b"").decode("utf-8", "replace") if "setup.py" in paths else ""
    for module, path in sorted(after.paths.items()):
        if not is_code(path):
            continue
        for name in sorted(_imports(after, module) - used - own - sys.stdlib_module_names):
            sold = _normal(_MODULES.get(name, name))
            if sold not in declared and name not in re.findall(r"\w+", built):
                used.add(name)
                yield name, path


def _imports(repository: Repository, name: str) -> frozenset[str]:
    found = repository.module(name)
    return found.imports if found is not None else frozenset()
