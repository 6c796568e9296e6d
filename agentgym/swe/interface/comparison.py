"""Compares the public interfaces of two states of a repository.

Names with a leading underscore are free, and so are modules with one. Names in ``__all__`` are
public, or else what a module defines, and what a package takes over from its own modules (PEP 8).
Where the text does not tell what a name stands for, nothing is said about it.
"""

from __future__ import annotations

import ast
import fnmatch
import posixpath
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.swe.detection import is_code
from agentgym.swe.interface.classes import (
    changed_bases,
    changed_fields,
    changed_kind,
    constructor,
    is_abstract,
    kind_of,
    members_of,
)
from agentgym.swe.interface.definitions import Class, Function, Imported, Module, Value, is_public
from agentgym.swe.interface.functions_compared import State, changed_function, changed_signature
from agentgym.swe.interface.packaging import changed_packaging, lost_data, new_imports
from agentgym.swe.interface.resolution import Found, Repository, literal
from agentgym.swe.test_paths import is_test_path

_VERSIONS: Final = ("__version__", "VERSION")
_GENERATED: Final = ("__eq__", "__lt__", "__le__", "__gt__", "__ge__")
"""Methods that a dataclass may have without a definition."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one state of a repository.

    Attributes:
        paths: Their paths, relative to the repository.
        read: Returns the content of a file; None for a link, and for a path without a file.
    """

    paths: Collection[str]
    read: Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class Difference:
    """A change of the interface.

    Attributes:
        subject: The name by which it is reached, as ``module:Class.method``, with ``()`` for
            the parameters.
        text: The name and what changed.
        path: The file in which that name is.
        homes: The names under which it is defined.
    """

    subject: str
    text: str
    path: str
    homes: tuple[str, ...] = ()

    def is_covered(self, patterns: Sequence[str]) -> bool:
        """Return whether patterns name what changed, or something to which it belongs.

        A pattern for a module does not cover what a package takes over from it.
        """
        names = {*_with_owners(self.subject)}
        names |= {name for home in self.homes for name in _with_owners(home) if ":" in name}
        return any(fnmatch.fnmatchcase(name, each) for name in names for each in patterns)


def _with_owners(subject: str) -> Iterator[str]:
    module, _, name = subject.partition(":")
    yield subject
    name = name.removesuffix("()")
    for whole, mark in ((name, f"{module}:"), (module, "")):
        parts = whole.split(".")
        yield from (mark + ".".join(parts[:count]) for count in range(1, len(parts) + 1))


def changed_interface(
    base: Files,
    patched: Files,
    *,
    roots: Sequence[str] = ("",),
    redesigned: Sequence[str] = (),
    announced: str = "",
) -> list[str]:
    """Return what a patch changes in the public interface of a repository, a line for each.

    Nothing of the repository runs. New names, new optional parameters and private names are free;
    code may move as long as everything can be imported from where it was.

    Args:
        base: The files before the patch.
        patched: The files after it.
        roots: Folders from which modules are imported, relative to the repository.
        redesigned: What may change: patterns of ``module:Class.method``, ``project:version`` or
            ``import:name``. A pattern for a module or class covers what belongs to it, one that
            ends with ``()`` the parameters alone.
        announced: New text of changelogs. A new version that it names may change.

    Example:
        >>> def files(text):
        ...     return Files(["shelf.py"], {"shelf.py": text}.get)
        >>> changed_interface(files(b"def put(key): ..."), files(b"def put(name): ..."))
        ['shelf.py: put() takes no `key` any more', 'shelf.py: put() needs a new argument, `name`']
    """
    if "*" in redesigned:
        return []
    before = _repository(base, roots)
    after = _repository(patched, roots, before)
    found = [
        *_Comparison(before, after, announced).differences(),
        *(
            Difference(f"project:{key}", text, path)
            for key, text, path in changed_packaging(
                base.paths, base.read, patched.paths, patched.read
            )
            if not (key == "version" and _is_announced(text, announced))
        ),
        *(
            Difference(path, "this file of a package is gone", path)
            for path in lost_data(base.paths, patched.paths)
        ),
        *(
            Difference(
                f"import:{name}", f"imports {name}, which the project does not declare", path
            )
            for name, path in new_imports(before, after, patched.paths, patched.read)
        ),
    ]
    told: dict[tuple[str, ...], str] = {}
    for each in found:
        if not each.is_covered(redesigned):
            # What a package takes over has been told already if its own module may not change.
            told.setdefault(
                (*(each.homes or (each.subject,)), each.text), f"{each.path}: {each.text}"
            )
    return list(told.values())


def _is_announced(text: str, announced: str) -> bool:
    version = text.rpartition(" ")[2].strip("'\"")
    return bool(version) and version in announced.split()


def _repository(files: Files, roots: Sequence[str], other: Repository | None = None) -> Repository:
    paths, folders = dict[str, str](), set[str]()
    for root in sorted(roots, key=len):
        top = f"{root.strip('/')}/" if root.strip("/") else ""
        for path in files.paths:
            if not path.startswith(top) or not path.endswith(".py"):
                continue
            parts = path[len(top) : -3].split("/")
            if parts[-1] == "__init__":
                parts.pop()
            if not parts or not all(part.isidentifier() for part in parts):
                continue
            name = ".".join(parts)
            # A package hides a module with the same name.
            if posixpath.basename(path) == "__init__.py" or not paths.get(name, "").endswith(
                "/__init__.py"
            ):
                paths[name] = path
            folders |= {".".join(parts[:count]) for count in range(1, len(parts))}
    return Repository(paths, files.read, folders, other)


class _Comparison:
    """The comparison of two states, see `changed_interface`."""

    def __init__(self, before: Repository, after: Repository, announced: str) -> None:
        self._before, self._after, self._announced = before, after, announced

    def differences(self) -> Iterator[Difference]:
        """Yield the changes, those of the modules that define a name first."""
        paths = self._before.paths
        for name in sorted(paths, key=lambda name: (paths[name].endswith("/__init__.py"), name)):
            if not is_code(paths[name]) or is_test_path(paths[name]):
                continue
            if is_public(name):
                yield from self._module(name)
            elif name.endswith("__main__") and name not in self._after.paths:
                owner = name.rpartition(".")[0]
                yield Difference(name, f"python -m {owner} is gone", paths[name])

    def _module(self, name: str) -> Iterator[Difference]:
        was = self._before.module(name)
        if was is None:
            return
        public = list(_public_names(was, self._before))
        if name not in self._after.paths:
            if public:
                yield Difference(name, f"the module {name} is gone", was.path)
            return
        now = self._after.module(name)
        if now is None:
            return
        for each in public:
            yield from self._name(was, each)
        left = set(now.exported or was.exported or ())
        for each in was.exported or ():
            if each not in left and self._after.find(name, each):
                text = f"{each} is not in __all__ any more"
                yield Difference(f"{name}:{each}", text, was.path)

    def _name(self, module: Module, name: str) -> Iterator[Difference]:
        olds = self._before.find(module.name, name)
        news = self._after.find(module.name, name)
        subject = f"{module.name}:{name}"
        homes = tuple(each.place for each in olds)
        if not news:
            if olds:
                yield Difference(subject, f"{name} is gone", module.path, homes)
            return
        if any(each.definition is None for each in olds):
            return
        for new in news:
            differences = [list(self._compare(old, new, name)) for old in olds]
            for inner, text in min(differences, key=len, default=()):
                inside = tuple(f"{home}{inner}" for home in homes)
                yield Difference(subject + inner, text, module.path, inside)

    def _compare(self, old: Found, new: Found, name: str) -> Iterator[tuple[str, str]]:
        """Yield the member that changed, with a dot before it, and what to say."""
        was, now = old.definition, new.definition
        if isinstance(was, Class) and isinstance(now, Class):
            yield from self._class(old, new, name)
        else:
            yield from self._one(old, new, name)

    def _one(self, old: Found, new: Found, shown: str) -> Iterator[tuple[str, str]]:
        """Yield "()" for the parameters, or nothing, and what to say."""
        was, now = old.definition, new.definition
        if was is None or now is None or isinstance(was, Imported) or isinstance(now, Imported):
            return
        if isinstance(was, Function) and isinstance(now, Function):
            name = shown.rpartition(".")[2]
            call = "" if was.binding in ("property", "cached property") else "()"
            states = State(self._before, old.module), State(self._after, new.module)
            kept = True
            for text in changed_function(was, now, name=name):
                kept = was.binding == now.binding
                yield "", f"{shown}{call} {text}"
            # The parameters of a property and of a method have nothing in common.
            if kept:
                for text in changed_signature(was.signature, now.signature, *states, now):
                    yield "()", f"{shown}{call} {text}"
        elif isinstance(was, Value) and isinstance(now, Value):
            if self._has_other_value(old, new, shown):
                yield "", f"{shown} has another value"
            return
        else:
            used, uses = self._kind(old), self._kind(new)
            if used and uses and used != uses:
                yield "", f"{shown} is a {uses} and was a {used}"

    def _kind(self, found: Found) -> str:
        """Return how a thing is used; empty if the text does not tell."""
        one = found.definition
        if isinstance(one, Class):
            return "class"
        if isinstance(one, Function):
            # What reads an attribute reads a property in the same way.
            return "value" if one.binding in ("property", "cached property") else one.binding
        repository = self._before if found.module in self._before.paths else self._after
        given = one.given if isinstance(one, Value) else None
        return (
            "value"
            if given is not None and literal(repository.written(found.module, given))
            else ""
        )

    def _has_other_value(self, old: Found, new: Found, shown: str) -> bool:
        was, now = old.definition, new.definition
        assert isinstance(was, Value) and isinstance(now, Value)
        if was.given is None or now.given is None:
            return False
        before = self._before.written(old.module, was.given)
        after = self._after.written(new.module, now.given)
        if now.changes != was.changes and literal(before):
            return True
        if before == after or not literal(before) or not literal(after):
            return False
        if _grew(before, after):
            return False
        return not (shown in _VERSIONS and after.strip("'\"") in self._announced.split())

    def _class(self, old: Found, new: Found, name: str) -> Iterator[tuple[str, str]]:
        before, after = self._before, self._after
        for compare in (changed_bases, changed_kind, changed_fields):
            yield from (("", f"{name} {text}") for text in compare(before, old, after, new))
        kind = kind_of(before, old)
        if kind in ("class", "dataclass"):
            yield from ((".__init__()", text) for text in self._made(old, new, name))
        members = list(members_of(before, old))
        for member in members:
            shown = f"{name}.{member}"
            olds = before.member(old, member)
            is_value = not any(isinstance(each.definition, Function) for each in olds)
            news = after.member(new, member, is_value=is_value)
            if not news and not (member in _GENERATED and kind_of(after, new) == "dataclass"):
                yield f".{member}", f"{shown} is gone"
            for one in news:
                texts = [list(self._member(each, one, shown, kind)) for each in olds]
                found = min(texts, key=len, default=[])
                yield from ((f".{member}{part}", text) for part, text in found)
        for member in members_of(after, new):
            definitions = [each.definition for each in after.member(new, member)]
            if member not in members and is_abstract(definitions):
                yield f".{member}", f"{name}.{member} has to be defined by subclasses"

    def _member(self, old: Found, new: Found, shown: str, kind: str) -> Iterator[tuple[str, str]]:
        # Fields with their defaults are compared as parameters, members of enumerations as fields.
        was = old.definition
        is_field = isinstance(was, Value) and isinstance(new.definition, Value)
        if kind == "dataclass" and isinstance(was, Value):
            is_field = is_field and was.is_declared and was.annotation != "ClassVar"
        if kind == "class" or not is_field:
            yield from self._one(old, new, shown)

    def _made(self, old: Found, new: Found, name: str) -> Iterator[str]:
        was, now = constructor(self._before, old), constructor(self._after, new)
        if was is None or now is None:
            return
        states = State(self._before, was[1]), State(self._after, now[1])
        for text in changed_signature(was[0].signature, now[0].signature, *states, now[0]):
            yield f"{name}() {text}"


def _grew(before: str, after: str) -> bool:
    """Return whether a written table or set has all that another one had."""
    old, new = _entries(before), _entries(after)
    return old is not None and new is not None and old <= new


def _entries(written: str) -> set[str] | None:
    """Return the entries of a dict or set in the form of `Repository.written`; None of others."""
    try:
        call = ast.parse(written, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return None
    if call.func.id == "set":
        return {ast.unparse(each) for each in call.args}
    if call.func.id == "dict" and call.args and isinstance(table := call.args[0], ast.Dict):
        keys = [ast.unparse(key) if key else "**" for key in table.keys]
        values = map(ast.unparse, table.values)
        return {f"{key}: {value}" for key, value in zip(keys, values, strict=True)}
    return None


def _public_names(module: Module, repository: Repository) -> Iterator[str]:
    """Yield the names of a module on which others may rely."""
    if module.exported is not None:
        yield from module.exported
    else:
        for name, definitions in module.names.items():
            own = any(not isinstance(each, Imported) for each in definitions)
            if is_public(name) and (
                own or (module.is_package and _is_own(definitions, repository))
            ):
                yield name
        for star in module.stars if module.is_package else ():
            if (inner := repository.module(star)) is not None and inner is not module:
                yield from _public_names_of_star(inner)
    if "__version__" in module.names and "__version__" not in (module.exported or ()):
        yield "__version__"


def _public_names_of_star(module: Module) -> Iterator[str]:
    for name, definitions in module.names.items():
        if name in (module.exported or ()) or (
            module.exported is None
            and is_public(name)
            and any(not isinstance(each, Imported) for each in definitions)
        ):
            yield name


def _is_own(definitions: Sequence[object], repository: Repository) -> bool:
    return any(
        isinstance(each, Imported) and repository.has(each.module.partition(".")[0])
        for each in definitions
    )
