"""The program of a clean room as one file: the modules of `agentgym.swe.inside`.

Compiling them takes time of every grading, so they come compiled. Where another Python than the
host's runs in the room, it compiles their source.
"""

from __future__ import annotations

import base64
import functools
import importlib.util
import marshal
from collections.abc import Sequence
from pathlib import Path

_PACKAGE = "agentgym.swe.inside"
_MODULES = ("telling", "places", "sources", "parts", "watching", "run_tests")
"""Each imports only modules before it."""
_TRIAL = (*_MODULES, "try_files")

_START = f"""
import marshal
import sys
from binascii import a2b_base64
from types import ModuleType

from _frozen_importlib_external import MAGIC_NUMBER

for name, source, packed in MODULES:
    module = sys.modules[f"{_PACKAGE}.{{name}}"] = ModuleType(name)
    if MAGIC_NUMBER == MAGIC:
        code = marshal.loads(a2b_base64(packed))
    else:
        code = compile(source, f"{{name}}.py", "exec", dont_inherit=True)
    exec(code, vars(module))
# Tested code finds none of them by its name.
for name, *_ in MODULES:
    del sys.modules[f"{_PACKAGE}.{{name}}"]
del MODULES, source, packed
# A process that multiprocessing starts anew runs this file under another name.
if __name__ == "__main__":
    module.main()
"""


@functools.cache
def test_program() -> bytes:
    """Return the program that runs tests; `agentgym.swe.inside.run_tests` says what it reads."""
    return _program(_MODULES)


@functools.cache
def trial_program() -> bytes:
    """Return the program that tries files; `agentgym.swe.inside.try_files` says what it reads."""
    return _program(_TRIAL)


def _program(names: Sequence[str]) -> bytes:
    modules = []
    for name in names:
        source = Path(__file__).with_name("inside").joinpath(f"{name}.py").read_text()
        code = compile(source, f"{name}.py", "exec", dont_inherit=True, optimize=0)
        modules.append((name, source, base64.b64encode(marshal.dumps(code))))
    return f"MAGIC, MODULES = {importlib.util.MAGIC_NUMBER!r}, {modules!r}\n{_START}".encode()
