"""Messages between host and supervisor: types of requests, refusals, and replies as JSON.

It writes JSON by hand, because an import of `json` costs more than the start of the supervisor.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Request = dict[str, Any]
    Header = dict[str, Any]
    # Called with a header, a body, and a descriptor to pass on and close.
    Reply = Callable[..., None]
    Result = tuple[Header, bytes]
    Operation = Callable[[Request, bytes], Result]


class OpError(Exception):
    """A refused operation; `kind` is file, limit or op."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def to_json(value: object) -> str:
    """Return strict ASCII JSON of the value types in replies."""
    if isinstance(value, str):
        return '"' + "".join(map(escape, value)) + '"'
    if isinstance(value, dict):
        return "{" + ",".join(to_json(k) + ":" + to_json(v) for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(to_json, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def escape(char: str) -> str:
    code = ord(char)
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    if code < 0x20 or code > 0x7E or char in '"\\':
        return f"\\u{code:04x}"
    return char
