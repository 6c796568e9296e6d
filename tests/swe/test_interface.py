"""The public interface of a repository before and after a patch: what may change and what not."""

# Pairs of short modules are easier to compare in long lines.
# ruff: noqa: E501

import ast
import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.records import Change, ChangeKind
from agentgym.swe.interface.comparison import Files, changed_interface
from agentgym.swe.native import Issue
from agentgym.swe.patch import compare_trees
from agentgym.verify.memory_evidence import Link, MemoryTree


def files(texts):
    if isinstance(texts, str | bytes):
        texts = {"pkg/a.py": texts}
    data = {path: text.encode() if isinstance(text, str) else text for path, text in texts.items()}
    return Files(data.keys(), data.get)


def changes(before, after, **options):
    """Return what changed, without the path of the only module."""
    found = changed_interface(files(before), files(after), **options)
    return [each.removeprefix("pkg/a.py: ") for each in found]


FUNCTION = "def f(a, b=1, *, c=2): return a\n"
PROJECT = '[project]\nname = "pkg"\nversion = "1.0"\nrequires-python = ">=3.11"\n'
DATA = "from dataclasses import dataclass, field\n"
ENUM = "from enum import Enum, auto\nclass E(Enum):\n    A = 1\n    B = 2\n"
CLASS = """class C:
    limit = 5
    def __init__(self, a, b=1): self.a = a; self._b = b
    def m(self, x, y=0): return x
    @property
    def p(self): return 1
    @classmethod
    def k(cls, x): return cls(x)
    @staticmethod
    def s(x): return x
"""

ACCEPTED = {
    "nothing": (FUNCTION, FUNCTION),
    "optional": (FUNCTION, "def f(a, b=1, e=None, *, c=2, d=None): return a"),
    "anything more": (FUNCTION, "def f(a, b=1, *args, c=2, **more): return a"),
    "passed on": (FUNCTION, "def _f(a, b=1, *, c=2): return a\ndef f(*args, **kw): return _f(*args, **kw)"),
    "annotated": (FUNCTION, "def f(a: int, b: int = 1, *, c: int = 2) -> int: return a"),
    "alias": (FUNCTION, "def _g(a, b=1, *, c=2): return a\nf = _g\n"),
    "alias of a module": (FUNCTION, {"pkg/a.py": "from pkg import _b\nf = _b.f\n", "pkg/_b.py": FUNCTION}),
    "lambda": ("def f(a): return a", "f = lambda a: a"),
    "by name, too": ("def f(*, a=1): ...", "def f(a=1): ..."),
    "default of a constant": ("def f(a=5): ...", "LIMIT = 5\ndef f(a=LIMIT): ..."),
    "default calculated": ("def f(a=3600): ...", "def f(a=60 * 60): ..."),
    "default of another module": (
        "def f(a=5): ...",
        {"pkg/a.py": "from pkg.b import LIMIT\ndef f(a=LIMIT): ...", "pkg/b.py": "LIMIT = 5"},
    ),
    "full name of a default": (
        "import time\ndef f(a=time.monotonic): ...", "from time import monotonic\ndef f(a=monotonic): ...",
    ),
    "no shared list": ("def f(a=[]): return a", "def f(a=None): return list(a or [])"),
    "no shared tuple": ("def f(a=[]): return a", "def f(a=()): return list(a)"),
    "no default yet": (
        "def f(a=4): return a",
        "def f(a=None):\n    if a is None:\n        a = 4\n    return a",
    ),
    "no default yet, in one line": ("def f(a=4): return a", "def f(a=None): return 4 if a is None else a"),
    "sentinel": (
        "def f(a=None): return a",
        "_UNSET = object()\ndef f(a=_UNSET):\n    if a is _UNSET:\n        a = 7\n    return a",
    ),
    "private": ("def _f(a): ...\n_X = 1\nclass _C: ...", ""),
    "table with one more": ("X = {'a': 1}", "X = {'a': 1, 'b': 2}"),
    "set with one more": ("X = {'a'}", "X = {'a', 'b'}"),
    "private parameter": ("def f(a, _cache={}): ...", "def f(a, _known={}): ..."),
    "imports": ("import os\nfrom pathlib import Path\n" + FUNCTION, FUNCTION),
    "not exported": ("__all__ = ['f']\ndef f(): ...\ndef g(a): ...", "__all__ = ['f']\ndef f(): ..."),
    "exported in parts": ("__all__ = ['f']\ndef f(): ...", "__all__ = []\n__all__ += ['f']\ndef f(): ..."),
    "branches": (FUNCTION, f"try:\n    import x\nexcept ImportError:\n    x = None\nif x:\n    {FUNCTION}else:\n    {FUNCTION}"),
    "any name": ("X = 1\ndef f(): ...", "def __getattr__(name): return 1"),
    "overload": (
        "def f(a): ...",
        "from typing import overload\n@overload\ndef f(a: int): ...\n@overload\ndef f(a: str): ...\ndef f(a): ...",
    ),
    "decorated": (FUNCTION, "def _log(g): return g\n@_log\n" + FUNCTION),
    "constant moved": ("X = 5", {"pkg/a.py": "from pkg._b import X", "pkg/_b.py": "X = 5"}),
    "constant computed": ("X = {'a': 1}", "X = _table()\n"),
    "constant annotated": ("X = 5", "from typing import Final\nX: Final = 5"),
    "package": (FUNCTION, {"pkg/a/__init__.py": "from pkg.a._f import f", "pkg/a/_f.py": FUNCTION}),
    "package with star": (FUNCTION, {"pkg/a/__init__.py": "from ._f import *", "pkg/a/_f.py": FUNCTION}),
    "iterator": ("def f():\n    yield 1", "def f(): return iter([1])"),
    "iterator of a helper": ("def f():\n    yield 1", "def f(): return _g()\ndef _g():\n    yield 1"),
    "iteration": (
        "class C:\n    def __iter__(self): return iter(self._x)", "class C:\n    def __iter__(self):\n        yield from self._x",
    ),
    "generator of an expression": ("def f(): return (x for x in y)", "def f():\n    for x in y: yield x"),
    "attributes by name": (
        CLASS,
        CLASS.replace("self.a = a", "[setattr(self, name, a) for name in _NAMES]"),
    ),
    "class": (CLASS, CLASS + "    def more(self): ...\n    extra = 1\n"),
    "attribute as a property": (
        CLASS, CLASS.replace("self.a = a", "self._a = a") + "    @property\n    def a(self): return self._a\n",
    ),
    "property as an attribute": (
        CLASS, CLASS.replace("self._b = b", "self.p = b").replace("    @property\n    def p(self): return 1\n", ""),
    ),
    "inherited": (
        CLASS, "class _B:\n    def m(self, x, y=0): return x\n" + CLASS.replace("class C", "class C(_B)").replace("    def m(self, x, y=0): return x\n", ""),
    ),
    "moved class": (CLASS, {"pkg/a.py": "from pkg._c import C as C", "pkg/_c.py": CLASS}),
    "another order": ("def f(): ...\ndef g(): ...", "def g(): ...\ndef f(): ..."),
    "slots": (CLASS, CLASS.replace("    limit", "    __slots__ = ('a', '_b')\n    limit")),
    "method by another name": (
        CLASS, CLASS.replace("def m(", "def _m(") + "    m = _m\n",
    ),
    "set property": (CLASS, CLASS + "    @p.setter\n    def p(self, v): ...\n"),
    "subclass of an error": (
        "class E(ValueError): ...", "class _Base(ValueError): ...\nclass E(_Base): ...\nclass New(E): ...",
    ),
    "narrower error": ("class E(LookupError): ...", "class E(KeyError): ..."),
    "more bases": ("class E(Exception): ...", "class E(Exception, _Mixin): ..."),
    "moved base": (
        "class B(Exception): ...\nclass E(B): ...",
        {"pkg/a.py": "from pkg._b import B\nclass E(B): ...\n", "pkg/_b.py": "class B(Exception): ..."},
    ),
    "field": (DATA + "@dataclass\nclass D:\n    a: int\n", DATA + "@dataclass\nclass D:\n    a: int\n    b: int = 0\n"),
    "private field": (
        DATA + "@dataclass\nclass D:\n    a: int\n",
        DATA + "@dataclass\nclass D:\n    a: int\n    _b: dict = field(default_factory=dict, repr=False)\n",
    ),
    "field not given": (
        DATA + "@dataclass\nclass D:\n    a: int\n",
        DATA + "@dataclass\nclass D:\n    c: int = field(init=False)\n    a: int\n",
    ),
    "fields of a base": (
        DATA + "@dataclass\nclass D:\n    a: int\n    b: int = 0\n",
        DATA + "@dataclass\nclass _B:\n    a: int\n@dataclass\nclass D(_B):\n    b: int = 0\n",
    ),
    "ordered": (DATA + "@dataclass(frozen=True)\nclass D:\n    a: int\n", DATA + "@dataclass(frozen=True, order=True)\nclass D:\n    a: int\n"),
    "options said": (DATA + "@dataclass\nclass D:\n    a: int\n", DATA + "@dataclass(eq=True, frozen=False)\nclass D:\n    a: int\n"),
    "enumeration": (ENUM, ENUM + "    C = 3\n"),
    "enumeration inside": (ENUM, ENUM.replace("    B", "    C = 3\n    B")),
    "equality with a hash": (CLASS, CLASS + "    def __eq__(self, o): return True\n    def __hash__(self): return 1\n"),
    "type checking": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from x import y\ndef f(): ...", "def f(): ...",
    ),
    "mark outside": (
        "from contextlib import contextmanager\n@contextmanager\ndef f(a):\n    yield",
        "import contextlib\n@contextlib.contextmanager\ndef f(a):\n    yield a",
    ),
    "private cached": ("def _f(a): ...\ndef f(): ...", "import functools\n@functools.cache\ndef _f(a): ...\ndef f(): ..."),
    "tests": ({"tests/test_a.py": "def test_f(): ..."}, {"tests/test_a.py": ""}),
    "scripts": ({"scripts/run.py": "def f(a): ..."}, {}),
    "not Python": (FUNCTION, "def f(:"),
    "private module": ({"pkg/_a.py": FUNCTION}, {}),
    "renamed private module": (
        {"pkg/__init__.py": "from pkg._a import f", "pkg/_a.py": FUNCTION},
        {"pkg/__init__.py": "from pkg._b import f", "pkg/_b.py": FUNCTION},
    ),
    "relative": (
        {"pkg/__init__.py": "from pkg.a import f", "pkg/a.py": FUNCTION},
        {"pkg/__init__.py": "from .a import f", "pkg/a.py": FUNCTION},
    ),
    "submodule": ({"pkg/__init__.py": "from pkg import a", "pkg/a.py": FUNCTION}, {"pkg/__init__.py": "", "pkg/a.py": FUNCTION}),
    "newer module of the library": (FUNCTION, "try:\n    import tomllib\nexcept ImportError:\n    import tomli as tomllib\n" + FUNCTION),
    "module of the version": (FUNCTION, "import sys\nif sys.version_info >= (3, 11):\n    import tomllib\nelse:\n    import tomli as tomllib\n" + FUNCTION),
    "module of older versions": (FUNCTION, "import sys\nif sys.version_info < (3, 11):\n    import tomli as tomllib\nelse:\n    import tomllib\n" + FUNCTION),
    "guarded import": (FUNCTION, "try:\n    import orjson\nexcept ImportError:\n    orjson = None\n" + FUNCTION),
    "standard library": (FUNCTION, "import heapq\nimport collections.abc\nfrom __future__ import annotations\n" + FUNCTION),
    "own module": (FUNCTION, {"pkg/a.py": "import helper\n" + FUNCTION, "helper.py": ""}),
    "declared": (
        {"pkg/a.py": "", "pyproject.toml": PROJECT + 'dependencies = ["PyYAML"]\n'},
        {"pkg/a.py": "import yaml", "pyproject.toml": PROJECT + 'dependencies = ["PyYAML"]\n'},
    ),
    "dependencies in another form": (
        {"pyproject.toml": PROJECT + 'dependencies = ["a_b>=1,<2", "c"]\n'},
        {"pyproject.toml": PROJECT + 'dependencies = ["c", "A-b <2, >= 1"]\n'},
    ),
    "other tables": ({"pyproject.toml": PROJECT}, {"pyproject.toml": PROJECT + "[tool.ruff]\nline-length = 90\n"}),
    "new script": ({"pyproject.toml": PROJECT}, {"pyproject.toml": PROJECT + '[project.scripts]\na = "pkg.a:f"\n'}),
    "moved metadata": (
        {"setup.cfg": "[metadata]\nname = pkg\nversion = 1.0\n[options]\ninstall_requires =\n    a>=1\n    b\n"},
        {"pyproject.toml": '[project]\nname = "pkg"\nversion = "1.0"\ndependencies = ["b", "a>=1"]\n'},
    ),
}  # fmt: skip

REFUSED = {
    "function gone": (FUNCTION, "", "f is gone"),
    "function renamed": (FUNCTION, FUNCTION.replace("f(", "g("), "f is gone"),
    "function made private": (FUNCTION, FUNCTION.replace("f(", "_f("), "f is gone"),
    "deleted": (FUNCTION, FUNCTION + "del f\n", "f is gone"),
    "parameter gone": (FUNCTION, "def f(a, *, c=2): return a", "f() takes no `b` any more"),
    "parameter renamed": (FUNCTION, FUNCTION.replace("b=", "d="), "f() takes no `b` any more"),
    "parameters in another order": ("def f(a, b): ...", "def f(b, a): ...", "f() takes `a` in another place"),
    "inserted": ("def f(a, b=1): ...", "def f(a, x=None, b=1): ...", "f() takes `b` in another place"),
    "by name only": (FUNCTION, "def f(a, *, b=1, c=2): return a", "f() takes `b` by its name only"),
    "by place only": (FUNCTION, "def f(a, /, b=1, *, c=2): return a", "f() takes `a` by its place only"),
    "new required": (FUNCTION, "def f(a, b=1, *, c=2, d): return a", "f() needs a new argument, `d`"),
    "no default": (FUNCTION, "def f(a, b, *, c=2): return a", "f() has no default for `b` any more"),
    "other default": (FUNCTION, FUNCTION.replace("b=1", "b=2"), "f() has another default for `b`"),
    "other default by name": (FUNCTION, FUNCTION.replace("c=2", "c=3"), "f() has another default for `c`"),
    "default of another kind": (FUNCTION, FUNCTION.replace("b=1", "b=True"), "f() has another default for `b`"),
    "None for a value": (FUNCTION, FUNCTION.replace("b=1", "b=None"), "f() has another default for `b`"),
    "None for another value": (
        "def f(a=4): return a", "def f(a=None): return 5 if a is None else a", "f() has another default for `a`",
    ),
    "other constant as default": (
        "X = 5\ndef f(a=X): ...", "X = 5\n_Y = 6\ndef f(a=_Y): ...", "f() has another default for `a`",
    ),
    "other function as default": (
        "import time\ndef f(a=time.time): ...", "import time\ndef f(a=time.monotonic): ...", "f() has another default for `a`",
    ),
    "no further arguments": ("def f(*a): ...", "def f(): ...", "f() takes no further arguments any more"),
    "no further names": ("def f(**a): ...", "def f(): ...", "f() takes no further names any more"),
    "before further arguments": ("def f(*a): ...", "def f(b=None, *a): ...", "f() takes one of the further arguments as `b`"),
    "defaults replaced": (FUNCTION, FUNCTION + "f.__defaults__ = (9,)\n", "f() gets other defaults or code after its definition"),
    "coroutine": (FUNCTION, "async " + FUNCTION, "f() is a coroutine and was a function"),
    "no coroutine": ("async " + FUNCTION, FUNCTION, "f() is a function and was a coroutine"),
    "list for a generator": ("def f():\n    yield 1", "def f(): return [1]", "f() is a function and was a generator"),
    "generator for a list": ("def f(): return [1]", "def f():\n    yield 1", "f() is a generator and was a function"),
    "class for a function": (FUNCTION, "class f:\n    def __init__(self, a, b=1, *, c=2): ...", "f is a class and was a function"),
    "constant for a function": (FUNCTION, "f = 5", "f is a value and was a function"),
    "function for a constant": ("X = 5", "def X(): ...", "X is a function and was a value"),
    "cached": (FUNCTION, "import functools\n@functools.cache\n" + FUNCTION, "f() is cached function now"),
    "cached by assignment": (
        FUNCTION, "import functools\n" + FUNCTION.replace("f(", "_f(") + "f = functools.lru_cache(_f)\n", "f() is cached function now",
    ),
    "not cached": ("@lru_cache(maxsize=None)\n" + FUNCTION, FUNCTION, "f() is no cached function any more"),
    "no context manager": (
        "@contextmanager\ndef f():\n    yield", "def f():\n    yield", "f() is no context manager any more",
    ),
    "constant": ("X = 5", "X = 6", "X has another value"),
    "constant gone": ("X = 5", "", "X is gone"),
    "table with another value": ("X = {'a': 1}", "X = {'a': 2, 'b': 2}", "X has another value"),
    "table with one less": ("X = {'a': 1, 'b': 2}", "X = {'a': 1}", "X has another value"),
    "constant by another name": ("X = 5", "_Y = 6\nX = _Y", "X has another value"),
    "constant changed later": ("X = [1]", "X = [1]\nX.append(2)", "X has another value"),
    "constant changed by key": ("X = {'a': 1}", "X = {'a': 1}\nX['a'] = 2", "X has another value"),
    "constant in a set": ("X = {'a', 'b'}", "X = frozenset({'a'})", "X has another value"),
    "not in __all__": ("__all__ = ['f', 'g']\ndef f(): ...\ndef g(): ...", "__all__ = ['f']\ndef f(): ...\ndef g(): ...", "g is not in __all__ any more"),
    "class gone": (CLASS, "", "C is gone"),
    "method gone": (CLASS, CLASS.replace("def m(", "def n("), "C.m is gone"),
    "method gone where any attribute is set": (
        CLASS,
        CLASS.replace("def m(", "def n(") + "    def o(self, name): setattr(self, name, 1)\n",
        "C.m is gone",
    ),
    "attribute gone": (CLASS, CLASS.replace("self.a = a", "self._a = a"), "C.a is gone"),
    "constructor": (CLASS, CLASS.replace("a, b=1", "a, b=2"), "C() has another default for `b`"),
    "constructor with more": (CLASS, CLASS.replace("a, b=1", "a, n, b=1"), "C() takes `b` in another place"),
    "method": (CLASS, CLASS.replace("x, y=0", "x"), "C.m() takes no `y` any more"),
    "property for a method": (CLASS, CLASS.replace("    def m(self, x, y=0)", "    @property\n    def m(self)"), "C.m() is a property and was a method"),
    "method for a property": (CLASS, CLASS.replace("@property\n    ", ""), "C.p is a method and was a property"),
    "cached property": (CLASS, CLASS.replace("@property", "@cached_property"), "C.p is a cached property and was a property"),
    "method for a class method": (CLASS, CLASS.replace("@classmethod\n    ", ""), "C.k() is a method and was a class method"),
    "static method": (CLASS, CLASS.replace("@staticmethod\n    def s(x)", "def s(self, x)"), "C.s() is a method and was a static method"),
    "static method for a method": (CLASS, CLASS.replace("    def m(self, x", "    @staticmethod\n    def m(x"), "C.m() is a static method and was a method"),
    "class constant": (CLASS, CLASS.replace("limit = 5", "limit = 6"), "C.limit has another value"),
    "special method": (CLASS + "    def __len__(self): return 1\n", CLASS, "C.__len__ is gone"),
    "replaced method": (CLASS, CLASS + "C.m = lambda self: 1\n", "C.m"),
    "not settable": (
        CLASS + "    @p.setter\n    def p(self, v): ...\n", CLASS, "C.p cannot be set any more",
    ),
    "abstract": (
        "class P(Protocol):\n    def m(self): ...", "class P(Protocol):\n    def m(self): ...\n    @abstractmethod\n    def n(self): ...", "P.n has to be defined by subclasses",
    ),
    "no hash": (CLASS, CLASS + "    def __eq__(self, o): return True\n", "C cannot be hashed any more"),
    "base": ("class E(ValueError): ...", "class E(Exception): ...", "E is no ValueError any more"),
    "base of a base": (
        "class B(ValueError): ...\nclass E(B): ...", "class B(Exception): ...\nclass E(B): ...", "B is no ValueError any more",
    ),
    "own base": ("class B(Exception): ...\nclass E(B): ...", "class B(Exception): ...\nclass E(Exception): ...", "E is no B any more"),
    "field gone": (DATA + "@dataclass\nclass D:\n    a: int\n    b: int = 0\n", DATA + "@dataclass\nclass D:\n    a: int\n", "D() takes no `b` any more"),
    "fields in another order": (DATA + "@dataclass\nclass D:\n    a: int\n    b: int\n", DATA + "@dataclass\nclass D:\n    b: int\n    a: int\n", "D() takes `a` in another place"),
    "default of a field": (DATA + "@dataclass\nclass D:\n    a: int = 1\n", DATA + "@dataclass\nclass D:\n    a: int = 2\n", "D() has another default for `a`"),
    "field by name": (DATA + "@dataclass\nclass D:\n    a: int\n", DATA + "@dataclass(kw_only=True)\nclass D:\n    a: int\n", "D() takes `a` by its name only"),
    "frozen": (DATA + "@dataclass\nclass D:\n    a: int\n", DATA + "@dataclass(frozen=True)\nclass D:\n    a: int\n", "D is a dataclass with frozen=True"),
    "thawed": (DATA + "@dataclass(frozen=True)\nclass D:\n    a: int\n", DATA + "@dataclass\nclass D:\n    a: int\n", "D cannot be hashed any more"),
    "not equal": (DATA + "@dataclass\nclass D:\n    a: int\n", DATA + "@dataclass(eq=False)\nclass D:\n    a: int\n", "D is a dataclass with eq=False"),
    "no order": (DATA + "@dataclass(order=True)\nclass D:\n    a: int\n", DATA + "@dataclass\nclass D:\n    a: int\n", "D is a dataclass with order=False"),
    "with slots": (DATA + "@dataclass\nclass D:\n    a: int\n", DATA + "@dataclass(slots=True)\nclass D:\n    a: int\n", "D is a dataclass with slots=True"),
    "no dataclass": (DATA + "@dataclass\nclass D:\n    a: int\n", "class D:\n    def __init__(self, a): self.a = a\n", "D is no dataclass any more"),
    "enumeration": (ENUM, ENUM.replace("B = 2", "B = 3"), "E has another value for B"),
    "enumeration without": (ENUM, ENUM.replace("    B = 2\n", ""), "E.B is gone"),
    "enumeration in order": (ENUM, ENUM.replace("    A = 1\n", "") + "    A = 1\n", "E has its members in another order"),
    "enumeration by number": (
        "from enum import *\nclass E(Enum):\n    A = auto()\n    B = auto()\n", "from enum import *\nclass E(Enum):\n    N = auto()\n    A = auto()\n    B = auto()\n", "E has another value for A",
    ),
    "tuple": (
        "from typing import NamedTuple\nclass T(NamedTuple):\n    a: int\n", "from typing import NamedTuple\nclass T(NamedTuple):\n    a: int\n    b: int = 0\n", "T has other fields: a, b",
    ),
    "module gone": (FUNCTION, {}, "the module pkg.a is gone"),
    "module moved": (FUNCTION, {"pkg/b.py": FUNCTION}, "the module pkg.a is gone"),
    "import": (FUNCTION, "import requests\n" + FUNCTION, "imports requests, which the project does not declare"),
    "import instead": (FUNCTION, "try:\n    import orjson\nexcept ImportError:\n    import requests\n" + FUNCTION, "imports requests, which the project does not declare"),
    "import for newer versions": (FUNCTION, "import sys\nif sys.version_info >= (3, 11):\n    import requests\nelse:\n    import os\n" + FUNCTION, "imports requests, which the project does not declare"),
    "import for some": (FUNCTION, "import sys\nif sys.version_info < (3, 99):\n    import requests\n" + FUNCTION, "imports requests, which the project does not declare"),
    "import inside": (FUNCTION, "def f(a, b=1, *, c=2):\n    from requests import get\n    return a\n", "imports requests, which the project does not declare"),
}  # fmt: skip

PACKAGE = {
    "pkg/__init__.py": "from pkg.a import f, g as h\n",
    "pkg/a.py": FUNCTION + "def g(): ...",
}
OTHER_FILES = {
    "export gone": (PACKAGE, PACKAGE | {"pkg/__init__.py": "from pkg.a import f\n"}, "pkg/__init__.py: h is gone"),
    "export replaced": (
        PACKAGE, PACKAGE | {"pkg/__init__.py": "from pkg.a import g as h\ndef f(): ...\n"}, "pkg/__init__.py: f() takes no `a` any more",
    ),
    "behind a private module": (
        {"pkg/__init__.py": "from pkg._a import f", "pkg/_a.py": FUNCTION},
        {"pkg/__init__.py": "from pkg._a import f", "pkg/_a.py": FUNCTION.replace("b=1", "b=2")},
        "pkg/__init__.py: f() has another default for `b`",
    ),
    "command gone": ({"pkg/__main__.py": "x()", "pkg/a.py": ""}, {"pkg/a.py": ""}, "pkg/__main__.py: python -m pkg is gone"),
    "data gone": (
        {"pkg/__init__.py": "", "pkg/py.typed": "", "pkg/data/a.json": "1"}, {"pkg/__init__.py": "", "pkg/py.typed": ""},
        "pkg/data/a.json: this file of a package is gone",
    ),
    "version": ({"pyproject.toml": PROJECT}, {"pyproject.toml": PROJECT.replace("1.0", "1.1")}, "pyproject.toml: version is now 1.1"),
    "Python": ({"pyproject.toml": PROJECT}, {"pyproject.toml": PROJECT.replace("3.11", "3.12")}, "pyproject.toml: requires-python is now >=3.12"),
    "dependency": (
        {"pyproject.toml": PROJECT}, {"pyproject.toml": PROJECT + 'dependencies = ["attrs"]\n'}, "pyproject.toml: dependency attrs is new",
    ),
    "dependency gone": (
        {"pyproject.toml": PROJECT + 'dependencies = ["attrs"]\n'}, {"pyproject.toml": PROJECT}, "pyproject.toml: dependency attrs is gone",
    ),
    "dependency pinned": (
        {"pyproject.toml": PROJECT + 'dependencies = ["attrs"]\n'}, {"pyproject.toml": PROJECT + 'dependencies = ["attrs==23.1"]\n'},
        "pyproject.toml: dependency attrs is now ==23.1",
    ),
    "script": (
        {"pyproject.toml": PROJECT + '[project.scripts]\na = "pkg.a:f"\n'}, {"pyproject.toml": PROJECT}, "pyproject.toml: script a is gone",
    ),
    "entry point": (
        {"pyproject.toml": PROJECT + '[project.entry-points.x]\na = "pkg.a:f"\n'},
        {"pyproject.toml": PROJECT + '[project.entry-points.x]\na = "pkg.a:g"\n'}, "pyproject.toml: entry point x a is now pkg.a:g",
    ),
    "package data": (
        {"pyproject.toml": PROJECT + '[tool.setuptools.package-data]\npkg = ["*.txt"]\n'}, {"pyproject.toml": PROJECT},
        "pyproject.toml: package data pkg *.txt is gone",
    ),
    "requirements": ({"requirements.txt": "a==1\n# b\n"}, {"requirements.txt": "a==2  # for b\n"}, "requirements.txt: dependency a is now ==2"),
    "setup.cfg": (
        {"setup.cfg": "[options]\ninstall_requires =\n  a>=1\n  b\n"}, {"setup.cfg": "[options]\ninstall_requires =\n  a>=1\n"}, "setup.cfg: dependency b is gone",
    ),
    "extra": (
        {"pyproject.toml": PROJECT + '[project.optional-dependencies]\nx = ["a"]\n'}, {"pyproject.toml": PROJECT},
        "pyproject.toml: dependency a of x is gone",
    ),
    "broken": ({"pyproject.toml": PROJECT}, {"pyproject.toml": "["}, "pyproject.toml: cannot be read any more"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), ACCEPTED.values(), ids=ACCEPTED)
def test_what_everybody_can_still_use_is_no_change(before, after):
    assert changes(before, after) == []


@pytest.mark.parametrize(("before", "after", "says"), REFUSED.values(), ids=REFUSED)
def test_a_change_is_told(before, after, says):
    assert says in "\n".join(changes(before, after))
    path = changed_interface(files(before), files(after))[0].partition(": ")[0]
    assert path == "pkg/a.py"


@pytest.mark.parametrize(("before", "after", "says"), OTHER_FILES.values(), ids=OTHER_FILES)
def test_a_change_beside_the_module_is_told(before, after, says):
    found = changed_interface(files(before), files(after))
    assert says in found
    assert {each.partition(":")[0] for each in found} == {says.partition(":")[0]}


@pytest.mark.parametrize(
    ("patterns", "is_covered"),
    [
        (["pkg.a:C.m"], True),
        (["pkg.a:C.m()"], True),
        (["pkg.a:C"], True),
        (["pkg.a"], True),
        (["pkg"], True),
        (["pkg.*"], True),
        (["pkg.a:*.m"], True),
        (["*"], True),
        (["pkg.a:C.k"], False),
        (["pkg.b"], False),
        (["pkg.a:m"], False),
        ([], False),
    ],
)
def test_what_an_issue_redesigns_may_change(patterns, is_covered):
    after = CLASS.replace("x, y=0", "x")
    assert (changes(CLASS, after, redesigned=patterns) == []) == is_covered


def test_parameters_may_be_free_and_the_rest_not():
    gone, other = CLASS.replace("def m(", "def _m("), CLASS.replace("b=1", "b=2")
    assert changes(CLASS, gone, redesigned=["pkg.a:C.m()"]) == ["C.m is gone"]
    assert changes(CLASS, other, redesigned=["pkg.a:C.__init__()"]) == []


def test_what_a_package_takes_over_is_not_free_because_its_module_is():
    after = PACKAGE | {"pkg/a.py": "def f(): ...\ndef g(x): ...\ndef free(): ..."}
    assert changes(PACKAGE, after, redesigned=["pkg.a"]) == [
        "pkg/__init__.py: f() takes no `a` any more",
        "pkg/__init__.py: f() takes no `b` any more",
        "pkg/__init__.py: f() takes no `c` any more",
        "pkg/__init__.py: h() needs a new argument, `x`",
    ]
    assert changes(PACKAGE, after, redesigned=["pkg.a:f", "pkg.a:g"]) == []


def test_a_version_that_the_changelog_announces_may_change():
    before = {"pyproject.toml": PROJECT, "pkg/__init__.py": '__version__ = "1.0"\n'}
    after = {path: text.replace("1.0", "1.1") for path, text in before.items()}
    assert len(changes(before, after)) == 2
    assert changes(before, after, announced="## 1.1 (2026-03-02)") == []
    assert len(changes(before, after, announced="## 1.2 (2026-03-02)")) == 2


def test_modules_of_a_folder_have_their_names_from_there():
    before = {"src/pkg/__init__.py": "from pkg.a import f", "src/pkg/a.py": FUNCTION}
    after = before | {"src/pkg/a.py": ""}
    found = changes(before, after, roots=["src"], redesigned=["pkg.a"])
    assert found == ["src/pkg/__init__.py: f is gone"]


CHANGELOG = b"# Changelog\n\n## 1.0\n* First.\n"


def issue_changes(tmp_path, after, redesigned=()):
    """Return what `Issue` finds in a patch of a small repository."""
    (tmp_path / "issue.toml").write_text(
        'schema_version = "agentgym.issue/1"\nroot = "/srv/pkg"\ntests = ["tests"]\n'
        f"redesigned = {list(redesigned)!r}\n"
    )
    before = {
        "/srv/pkg/pkg/a.py": FUNCTION.encode(),
        "/srv/pkg/tests/helpers.py": FUNCTION.encode(),
        "/srv/pkg/pyproject.toml": PROJECT.encode(),
        "/srv/pkg/CHANGELOG.md": CHANGELOG,
    }
    after = {path: data for path, data in (before | after).items() if data is not None}
    changed = [
        Change(p, ChangeKind.MODIFIED) for p in before | after if before.get(p) != after.get(p)
    ]
    base, left = MemoryTree(before), MemoryTree(after)
    patch = compare_trees(base, left, "/srv/pkg", changed)
    return Issue(tmp_path, listed=False).changed_interface(base, patch)


def test_the_patch_of_an_episode_is_compared(tmp_path):
    path = "/srv/pkg/pkg/a.py"
    told = ["pkg/a.py: f() has another default for `b`"]
    other = FUNCTION.replace("b=1", "b=2").encode()
    assert issue_changes(tmp_path, {path: other}) == told
    assert issue_changes(tmp_path, {path: other}, ["pkg.a:f"]) == []
    assert issue_changes(tmp_path, {path: other}, ["*"]) == []
    assert issue_changes(tmp_path, {path: None}) == ["pkg/a.py: the module pkg.a is gone"]
    link = {path: Link("_a.py"), "/srv/pkg/pkg/_a.py": other}
    assert issue_changes(tmp_path, link) == [], "a link is left to the tests"
    assert issue_changes(tmp_path, {"/srv/pkg/tests/helpers.py": b""}) == []


def test_a_changelog_announces_a_version(tmp_path):
    project = {"/srv/pkg/pyproject.toml": PROJECT.replace('"1.0"', '"1.1"').encode()}
    assert issue_changes(tmp_path, project) == ["pyproject.toml: version is now 1.1"]
    noted = CHANGELOG.replace(b"## 1.0", b"## 1.1\n* Second.\n\n## 1.0")
    assert issue_changes(tmp_path, {**project, "/srv/pkg/CHANGELOG.md": noted}) == []


DEEP = "x = " + "(" * 90 + "1" + ")" * 90 + "\n"
SUM = "X = " + "+".join(["1"] * 900) + "\n"
LAUGHS = "A0 = ('ha', 'ha')\n" + "".join(f"A{n + 1} = (A{n}, A{n})\n" for n in range(60))
LAUGHS += "def f(a=A60): ...\n"
CIRCLE = "from pkg.a import f\ng = f\nf = g\nclass C(C): ...\nclass D(E): ...\nclass E(D): ...\n"
HOSTILE = {
    "deep": DEEP,
    "sum": SUM,
    "chain": "X = a" + ".b" * 5_000 + "\n",
    "calls": "X = a" + "()" * 500 + "\n",
    "laughs": LAUGHS,
    "circle": CIRCLE,
    "branches": "".join(f"if a: b{n} = b{n + 1}\nelse: b{n} = b{n + 2}\n" for n in range(200)),
    "elif": "if a: x = 1\n" + "elif a: x = 1\n" * 3_000,
    "classes": "class C0: ...\n" + "".join(f"class C{n + 1}(C{n}, B{n}): ...\n" for n in range(500)),
    "definitions": "def f(): ...\n" * 4_000,
    "parameters": f"def f({', '.join(f'a{n}=None' for n in range(4_000))}): ...\n",
    "asked": "def f(a=None):\n" + "    if a: a = 1\n" * 5_000,
    "large literal": f"X = {list(range(20_000))}\n",
    "digits": "X = 0x" + "f" * 100_000 + "\ndef f(a=0x" + "f" * 100_000 + "): ...\n",
    "surrogates": "X = '\\ud800'\nclass C: x = '\\udfff'\n",
    "NUL": "X = 1\0\n",
    "encoding": b"# coding: utf-7\nX = 1\n",
    "latin": b"# coding: latin-1\nX = '\xe9'\n",
    "not UTF-8": b"X = '\xe9'\n",
    "stars": "from pkg.a import *\nfrom pkg import *\nfrom . import *\nfrom ........ import *\n",
    "all": "__all__ = [1, f, *g]\n__all__ += h\n__all__.extend(i, j)\n__all__.append()\n",
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_source_of_any_kind_is_compared_in_seconds(text):
    plain = FUNCTION + CLASS + "X = 1\n"
    began_s = time.process_time()
    for before, after in ((plain, text), (text, plain), (text, text)):
        changes(before, after)
        changes({"pkg/a.py": before}, {"pkg/a.py": "from pkg._b import *", "pkg/_b.py": after})
    assert changes(text, text) == []
    assert time.process_time() - began_s < 20


@pytest.mark.parametrize(
    "text",
    [b"a = " + b"[" * 5_000, b"\xff\xfe[",
        b"a" + b".a" * 16_000 + b" = 1",
        b"a = " + b"9" * 5_000,
        b"version = 7\n[project]\nversion = 2026-01-01\n", b"[project]\ndependencies = [1, {}]\nscripts = 3\n", b"x" * 10**6],
)  # fmt: skip
def test_settings_of_any_kind_are_compared(text):
    for name in ("pyproject.toml", "setup.cfg", "requirements.txt"):
        for before, after in ((PROJECT, text), (text, PROJECT), (text, text)):
            changes({name: before}, {name: after})


def test_files_beyond_the_budget_are_left_to_the_tests():
    many = {f"pkg/m{n}.py": f"def f{n}(a): ...\n" + f"# {'x' * 99}\n" * 4_000 for n in range(12)}
    assert sum(map(len, many.values())) > 3_000_000
    assert 0 < len(changes(many, dict.fromkeys(many, ""))) < len(many)


NAMES = st.sampled_from([f"{letter}{n}" for letter in "abc" for n in range(3)])
DEFAULTS = st.sampled_from(["1", "None", "'x'", "()", "LIMIT", "-2.5"])


@st.composite
def functions(draw, indent="", receiver=""):
    """Return a function as its name, its parameters and its beginning."""
    names = draw(st.lists(NAMES, unique=True, max_size=4))
    required = draw(st.integers(0, len(names)))
    by_name = draw(st.integers(0, len(names)))
    places = [
        name if at < required else f"{name}={draw(DEFAULTS)}"
        for at, name in enumerate(names[:by_name])
    ]
    named = [f"{name}={draw(DEFAULTS)}" for name in names[by_name:]]
    start = draw(st.sampled_from(["", "async "])) if not receiver else ""
    name = draw(st.sampled_from([f"do_{letter}" for letter in string.ascii_lowercase[:6]]))
    return indent, start, name, [*([receiver] if receiver else []), *places], named


def written(function, more=()):
    indent, start, name, places, named = function
    given = [*places, *(["*"] if named or more else []), *named, *more]
    return f"{indent}{start}def {name}({', '.join(given)}): return 1\n"


@st.composite
def modules(draw):
    """Return a module before and after additions that no caller notices."""
    before, after = ["LIMIT = 5\n"], ["LIMIT = 5\n", "_private = 3\n"]
    for function in draw(st.lists(functions(), max_size=4, unique_by=lambda each: each[2])):
        more = draw(st.sampled_from([(), ("extra=None",), ("_extra=()", "extra='y'")]))
        before.append(written(function))
        if draw(st.booleans()):
            private = (*function[:2], f"_{function[2]}", *function[3:])
            after += [written(private, more), f"{function[2]} = _{function[2]}\n"]
        else:
            after.append(written(function, more))
    for number in range(draw(st.integers(0, 2))):
        methods = draw(
            st.lists(
                functions("    ", "self"), min_size=1, max_size=3, unique_by=lambda each: each[2]
            )
        )
        base = draw(st.sampled_from(["", "(ValueError)", "(dict)"]))
        before.append(f"class C{number}{base}:\n" + "".join(map(written, methods)))
        inner = [written(each, draw(st.sampled_from([(), ("extra=None",)]))) for each in methods]
        inner.append("    def _private(self, x): ...\n    def public(self): ...\n    _x = 1\n")
        draw(st.randoms()).shuffle(inner)
        after.append(f"class C{number}{base}:\n" + "".join(inner))
    return "".join(before), "".join(after)


@settings(deadline=None, max_examples=150)
@given(modules())
def test_additions_are_never_a_change(pair):
    before, after = pair
    ast.parse(after)
    assert changes(before, after) == []


@settings(deadline=None, max_examples=150)
@given(modules(), st.data())
def test_a_parameter_that_goes_is_always_a_change(pair, data):
    before, _ = pair
    tree = ast.parse(before)
    given_ = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef) and each.args.kwonlyargs
    ]
    if not given_:
        return
    one = data.draw(st.sampled_from(given_))
    name = one.args.kwonlyargs.pop().arg
    one.args.kw_defaults.pop()
    assert any(f"takes no `{name}` any more" in each for each in changes(before, ast.unparse(tree)))
