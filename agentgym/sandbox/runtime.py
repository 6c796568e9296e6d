"""The guest runtime: a small private Python that starts the supervisor over any root.

It consists of a dynamic loader (ld.so(8), started by name with its own library path), the
interpreter, the libraries that `ldd` names, and the few modules that the supervisor imports. A
guest needs no Python and no C library for it, and no file of the guest affects its start.
"""

from __future__ import annotations

import ast
import contextlib
import fcntl
import hashlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgym import catalogue
from agentgym.errors import SandboxError
from agentgym.records import Problem
from agentgym.sandbox import confine, forking, inside, supervisor, syscalls
from agentgym.sandbox.layers.size import size

RUNTIME = "/run/agentgym/runtime"
# With the C locale Python looks for no locale in the guest's files; it uses UTF-8 in any case.
ENVIRONMENT = {"LC_ALL": "C"}
_SYSTEM_PYTHON = "/usr/bin/python3"
_OPTIONS = ("-I", "-S", "-B")
_DEADLINE_S = 60.0
# The modules of agentgym that run there, by their files.
_OURS = {
    str(module.__file__): module.__name__ for module in (supervisor, syscalls, confine, forking)
}
_OURS |= {
    os.path.join(folder, f"{name}.py"): f"{inside.__name__}.{name}"
    for folder in inside.__path__
    for _, name, _ in pkgutil.iter_modules([folder])
}
# glibc loads the libraries that this file names into every program, and a guest may write it. The
# loader gets a name of the same length that never exists.
_PRELOAD = (b"/etc/ld.so.preload\0", b"/proc/self/nothing\0")

# The copied Python itself runs this, because only that Python knows its required modules.
_TAKE_APART = """
import sys
target, ours, *names = sys.argv[1:]
for name in names:
    __import__(name)
loaded = {name: getattr(sys.modules[name], "__spec__", None) for name in sys.modules}
del loaded["__main__"]
import _imp, importlib.util, json, marshal, os, py_compile
folder = "{}/python{}.{}".format(sys.platlibdir, *sys.version_info[:2])
library = os.path.join(target, folder)
os.makedirs(os.path.join(library, "lib-dynload"))
extensions, codes = [], {}
sources = {"os": os.__file__}
for name, spec in loaded.items():
    if spec is None or not spec.has_location:
        continue
    if spec.origin.endswith(".py"):
        # What the Python has compiled before is not compiled again; no path of this host goes in.
        code = spec.loader.get_code(name)
        _imp._fix_co_filename(code, name)
        codes[name + ".__init__" * (spec.submodule_search_locations is not None)] = code
    else:
        extensions.append(spec.origin)
def place(name):
    path = os.path.join(library, *name.split("."))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path + ".pyc"
for source, name in json.loads(ours).items():
    sources[name] = source
    above, _, last = name.rpartition(".")
    if above == "agentgym.sandbox":
        # By this name it can be started.
        link = os.path.relpath(place(name), target)
        os.symlink(link, os.path.join(target, last + ".pyc"))
for name, source in sources.items():
    py_compile.compile(source, place(name), name, doraise=True)
for name, code in codes.items():
    with open(place(name), "wb") as file:
        file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
print(json.dumps([os.path.join(folder, "lib-dynload"), extensions]))
"""
# Modules that agents' programs are likely to need in a guest without Python.
_LIBRARY = (
    *("ast", "base64", "bisect", "calendar", "collections", "contextlib", "copy", "csv"),
    *("dataclasses", "datetime", "decimal", "difflib", "enum", "fnmatch", "fractions"),
    *("functools", "glob", "heapq", "io", "itertools", "json", "linecache", "math", "operator"),
    *("pathlib", "pprint", "random", "re", "shlex", "socket", "statistics", "string"),
    *("subprocess", "textwrap", "threading", "time", "traceback", "typing"),
)
_TRY = """
import sys
for name in sys.argv[1:]:
    __import__(name)
for name, module in sys.modules.items():
    origin = getattr(getattr(module, "__spec__", None), "origin", None) or "built-in"
    assert origin in ("built-in", "frozen") or origin.startswith(sys.prefix), (name, origin)
"""


@dataclass(frozen=True, slots=True)
class Runtime:
    """An assembled runtime.

    Attributes:
        layer: An overlay layer that contains only the runtime, at `RUNTIME`.
        loader: Name of the dynamic loader in it.
    """

    layer: Path
    loader: str

    @property
    def folder(self) -> Path:
        """The folder of the runtime on the host."""
        return _inside(self.layer)

    def command(self) -> list[str]:
        """Return the command line of a supervisor that is not forked."""
        return [*_python(RUNTIME, self.loader), f"{RUNTIME}/supervisor.pyc"]

    def fork_server(self) -> list[str]:
        """Return the command line of the process that forks supervisors."""
        return [*_python(RUNTIME, self.loader), f"{RUNTIME}/forking.pyc"]


def program_python() -> list[str]:
    """Return the command with which a guest runs other programs in the runtime's Python.

    Unlike the supervisor's, this Python reads its environment variables.
    """
    isolated = _python(RUNTIME, "loader")
    return [part for part in isolated if part != "-I"]


def runtimes_dir() -> Path:
    """Return the folder of what every store of this user links to: runtimes and base layers.

    Default: below `agentgym.catalogue.cache_dir()`; ``AGENTGYM_RUNTIMES`` names another one, which
    several caches may share.

    Raises:
        ConfigError: Like `agentgym.catalogue.cache_dir`.
    """
    if chosen := os.environ.get("AGENTGYM_RUNTIMES"):
        return Path(chosen).expanduser().absolute()
    return catalogue.cache_dir() / "runtimes"


def find_runtime(root: Path) -> Runtime:
    """Return the runtime of a store, which is linked from `runtimes_dir` on first use.

    Args:
        root: Folder of the store. Sandboxes reach the runtime by a path relative to it.

    Raises:
        SandboxError: No Python of this machine can be used.
    """
    refused = []
    for python in candidates():
        layer = root / f"runtime-{_digest(python)}"
        if not layer.is_dir():
            try:
                _make_layer(python, layer)
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                refused.append(f"{python}: {_reason(error)}")
                continue
        return Runtime(layer, os.readlink(_inside(layer) / "loader"))
    raise SandboxError(
        f"no Python here can be taken into sandboxes ({'; '.join(refused) or 'there is none'}); "
        "run: apt-get install -y python3"
    )


def remove_old_runtimes() -> int:
    """Remove other versions from `runtimes_dir` and return the bytes that freed.

    No live sandbox needs them, because every store has its own links.
    """
    current = {f"runtime-{_digest(python)}" for python in candidates()}
    old = [path for path in runtimes_dir().glob("runtime-*") if path.name not in current]
    freed = 0
    for layer in filter(Path.is_dir, old):
        with _sole_builder(runtimes_dir()):
            freed += size(str(layer))
            shutil.rmtree(layer, ignore_errors=True)
    return freed


def candidates() -> list[Path]:
    """Return the Pythons to try, best first: this one, then the system's."""
    found = (Path(path).resolve() for path in (sys.executable, _SYSTEM_PYTHON) if path)
    return [path for path in dict.fromkeys(found) if os.access(path, os.X_OK)]


def problems() -> list[Problem]:
    """Return what this machine lacks to make a runtime."""
    found = []
    if not candidates():
        found.append(Problem("no Python can be read", "apt-get install -y python3"))
    if shutil.which("ldd") is None:
        found.append(Problem("ldd is not installed", "apt-get install -y libc-bin"))
    return found


def _digest(python: Path) -> str:
    """Return a name that changes with every part of the runtime."""
    info = python.stat()
    content = f"{python} {info.st_size} {info.st_mtime_ns} {sys.version}".encode()
    for source in (*_OURS, __file__):
        content += Path(source).read_bytes()
    return hashlib.sha256(content).hexdigest()[:12]


@contextlib.contextmanager
def _sole_builder(root: Path) -> Iterator[None]:
    with open(root / "runtime.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # No other process builds now, so an existing draft is the leftover of a dead builder.
        for draft in root.glob(".runtime-*"):
            shutil.rmtree(draft)
        yield


def _make_layer(python: Path, layer: Path) -> None:
    """Link a runtime into a store; assemble it in the shared folder if it is missing."""
    source = runtimes_dir() / layer.name
    source.parent.mkdir(parents=True, exist_ok=True)
    with _sole_builder(source.parent), _sole_builder(layer.parent):
        if layer.is_dir():
            return
        if not source.is_dir():
            _assemble(python, source)
        draft = layer.with_name(f".{layer.name}")
        shutil.copytree(source, draft, symlinks=True, copy_function=_link_or_copy)
        os.rename(draft, layer)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _assemble(python: Path, layer: Path) -> None:
    fresh = layer.with_name(f".{layer.name}")
    draft, names = _inside(fresh), _imports()
    ours = json.dumps(_OURS)
    said = _run([str(python), *_OPTIONS, "-c", _TAKE_APART, draft, ours, *names])
    extension_folder, extensions = json.loads(said)
    for folder in ("bin", "shared"):
        (draft / folder).mkdir()
    shutil.copyfile(python, draft / "bin/python3")
    (draft / "bin/python3").chmod(0o755)
    for extension in extensions:
        shutil.copy(extension, draft / extension_folder)
    loader, libraries = _needs([str(python), *extensions])
    for name, library in libraries.items():
        shutil.copyfile(library, draft / "shared" / name)
    program = draft / Path(loader).name
    program.write_bytes(Path(loader).read_bytes().replace(*_PRELOAD))
    program.chmod(0o755)
    (draft / "loader").symlink_to(program.name)
    _run([*_python(str(draft), program.name), "-c", _TRY, *names])
    os.rename(fresh, layer)


def _inside(layer: Path) -> Path:
    return layer / RUNTIME.lstrip("/")


def _imports() -> list[str]:
    """Return the library folder and every module that our modules import, also in functions."""
    todo: list[ast.AST] = [ast.parse(Path(source).read_bytes()) for source in _OURS]
    names: set[str] = set()
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            todo += node.orelse
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        else:
            todo += ast.iter_child_nodes(node)
    own = {name for name in names if name.startswith("agentgym")}
    return sorted({*names, *_LIBRARY} - own)


def _needs(programs: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the dynamic loader of programs, and the path of each library by its name."""
    loader, libraries = "", {}
    for line in _run(["ldd", *programs]).splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        path = (rest if arrow else name).split(" (")[0]
        if line.endswith(":"):
            continue
        if not arrow and path.startswith("/"):
            loader = loader or path
        elif arrow and not path.startswith("/"):
            raise ValueError(f"a program needs {name}, which is not there")
        elif arrow:
            libraries[os.path.basename(name)] = path
    if not loader:
        raise ValueError("it is not dynamically linked")
    return loader, libraries


def _python(folder: str, loader: str) -> list[str]:
    # Python finds its modules relative to its own path, as in a normal start.
    program = [f"{folder}/{loader}", "--library-path", f"{folder}/shared", f"{folder}/bin/python3"]
    return [*program, *_OPTIONS]


def _run(command: Sequence[str | Path]) -> str:
    done = subprocess.run(
        command,
        env={"PATH": os.defpath, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=True,
    )
    return str(done.stdout)


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        said: str = error.stderr.strip() or error.stdout.strip() or str(error)
        return said.rpartition("\n")[2]
    return str(error)
