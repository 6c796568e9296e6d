"""Records of the definitions of modules. Of a syntax tree they hold small expressions only."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Flavour: TypeAlias = Literal["function", "coroutine", "generator", "asynchronous generator"]
Binding: TypeAlias = Literal[
    "function", "method", "class method", "static method", "property", "cached property"
]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function.

    Attributes:
        name: Its name.
        kind: How an argument may be given; "either" is by position or by name.
        default: The default, None for a parameter that has to be given.
    """

    name: str
    kind: Literal["position", "either", "name"]
    default: ast.expr | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a function, and whether it takes any further ones."""

    parameters: tuple[Parameter, ...] = ()
    any_positions: bool = False
    any_names: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function, or a method without the parameter for its object.

    Attributes:
        signature: Its parameters.
        flavour: How its body runs.
        binding: How a class holds it; "function" outside of classes.
        marks: Known decorators: "cache", "contextmanager", "asynccontextmanager", "abstract".
        others: Other decorators, which may do anything.
        iterates: Whether a plain function returns an iterator; None if that is not known.
        is_settable: Whether a property may be set.
        fallbacks: Values that the body puts in the place of a parameter.
        replaced: Statements that replace the function's parts after its definition.
    """

    signature: Signature
    flavour: Flavour = "function"
    binding: Binding = "function"
    marks: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    iterates: bool | None = None
    is_settable: bool = False
    fallbacks: Mapping[str, tuple[ast.expr, ...]] = field(default_factory=dict)
    replaced: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Value:
    """Something that an expression gives, None for any value.

    Attributes:
        given: The expression.
        changes: Statements that change the value later.
        is_declared: Whether it has an annotation, as the fields of a dataclass have.
        annotation: The annotation's name, without what it is applied to.
    """

    given: ast.expr | None = None
    changes: tuple[str, ...] = ()
    is_declared: bool = False
    annotation: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """A name that comes from another module; the module itself without `name`."""

    module: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Class:
    """A class.

    Attributes:
        bases: The names of its bases, without what they are applied to.
        members: What its body defines, by name and in order.
        attributes: Names that its methods set on the object.
        dataclass: Options of the dataclass decorator, None without that decorator.
        is_open: Whether it may have any attribute.
        sets_any: Whether its methods may set any attribute, which makes no method.
    """

    bases: tuple[str, ...] = ()
    members: Mapping[str, tuple[Definition, ...]] = field(default_factory=dict)
    attributes: frozenset[str] = frozenset()
    dataclass: Mapping[str, bool] | None = None
    is_open: bool = False
    sets_any: bool = False


Definition: TypeAlias = Function | Class | Value | Imported


@dataclass(frozen=True, slots=True)
class Module:
    """A module.

    Attributes:
        name: Its dotted name.
        path: Its file, relative to the repository.
        names: What it defines and imports.
        stars: Modules of which it imports everything.
        exported: The names in ``__all__``, None without one, or with one that is computed.
        imports: Top-level modules that it cannot do without.
        is_open: Whether it may have any name.
    """

    name: str
    path: str
    names: Mapping[str, tuple[Definition, ...]] = field(default_factory=dict)
    stars: tuple[str, ...] = ()
    exported: tuple[str, ...] | None = None
    imports: frozenset[str] = frozenset()
    is_open: bool = False

    @property
    def is_package(self) -> bool:
        """Whether it is the module of a package."""
        return self.path.rpartition("/")[2] == "__init__.py"


def is_public(name: str) -> bool:
    """Return whether a name, or each part of a dotted one, has no leading underscore."""
    return not any(part.startswith("_") for part in name.split("."))
