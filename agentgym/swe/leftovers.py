"""Finds what a patch leaves behind: debugging output, files of tools, secrets.

The module reads only the text of the patch.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator

from agentgym.python_source import LargeSourceError, parse_python
from agentgym.swe.detection import is_code
from agentgym.swe.patch import Entry, FileChange, Patch

_FILES = re.compile(
    r"\.(orig|rej|bak|swp|log|prof)$|~$|^(\.env|nohup\.out|profile\.out|\.DS_Store|id_(rsa|ed25519))$"
)
_SECRETS = re.compile(
    rb"\bgh[pousr]_[A-Za-z0-9]{36}\b|\bAKIA[A-Z0-9]{16}\b|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    rb"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_STREAMS = ("stdout", "stderr", "__stdout__", "__stderr__")
_PRINTS = ("pprint", "print_exc", "print_exception", "print_stack")
_STOPS = ("breakpoint", "set_trace")
_OUTPUT = "output"


def left_behind(patch: Patch, *, prints: bool = False) -> str:
    """Return the path and reason of what does not belong into a fix; empty without such things.

    A module may print if the base's module did, or if it is new. A debugger is called by none.

    Args:
        patch: The fix.
        prints: Whether every module may print.
    """
    moved = {
        name for change in patch.changes if change.after is None for name in _calls(change, None)
    }
    for change in patch.changes:
        if change.after is None:
            continue
        if change.before is None and _FILES.search(posixpath.basename(change.path)):
            return f"{change.path}: a tool left this file"
        if _secrets(change.after) - _secrets(change.before):
            return f"{change.path}: a secret is in this file"
        allowed = {_OUTPUT} if prints or change.before is None else _calls(change, None)
        if new := _calls(change, change.after) - allowed - moved:
            return f"{change.path}: debugging is left in this file ({min(new)})"
    return ""


def _secrets(entry: Entry | None) -> set[bytes]:
    return set(_SECRETS.findall(entry.data)) if entry else set()


def _calls(change: FileChange, entry: Entry | None) -> set[str]:
    """Return what the code of an entry does for a person who debugs; that of the base for None."""
    entry = entry or change.before
    if entry is None or entry.kind != "file" or not is_code(change.path):
        return set()
    try:
        tree = parse_python(entry.data)
    except (LargeSourceError, RecursionError, MemoryError, SyntaxError, ValueError):
        return set()
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {name for call in calls for name in _debugs(call)}


def _debugs(call: ast.Call) -> Iterator[str]:
    called = call.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    file = next((each.value for each in call.keywords if each.arg == "file"), None)
    prints = (name == "print" or name in _PRINTS) and (file is None or _is_stream(file))
    writes = name in ("write", "writelines") and _is_stream(getattr(called, "value", call))
    if name in _STOPS:
        yield name
    elif prints or writes:
        yield _OUTPUT


def _is_stream(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _STREAMS
