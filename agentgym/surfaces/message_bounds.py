"""Limits the values of an MCP server's message that the SDK validates field by field.

pydantic notes a dozen errors for each part of a result that matches no model: 90,000 such parts
took seconds of the event loop and more than a gigabyte. JSON that the models pass on as it is
(structured content, schemas, metadata) has only the limits of a whole message.
"""

from __future__ import annotations

from typing import Final

from mcp import types
from mcp.shared.message import SessionMessage

MOST_ENTRIES: Final = 5_000
"""Largest number of entries of one list; some servers send a part for each row of a result."""

_MOST_KEYS: Final = 1_000
_MOST_VALUES: Final = 20_000
_FREE: Final = frozenset({"structuredContent", "inputSchema", "outputSchema", "_meta"})


def checked(one: SessionMessage | Exception) -> SessionMessage | Exception:
    """Return a message whose validation takes little time.

    Args:
        one: Message of a server. If it is too large, an answer becomes an error of the protocol
            with its id, and any other message a ValueError.
    """
    if isinstance(one, Exception):
        return one
    message = one.message
    match message:
        case types.JSONRPCResponse():
            flaw = _flaw_of(message.result)
        case types.JSONRPCRequest() | types.JSONRPCNotification():
            flaw = _flaw_of(message.params)
        case _:
            return one
    if not flaw:
        return one
    if not isinstance(message, types.JSONRPCResponse):
        return ValueError(flaw)
    data = types.ErrorData(code=types.PARSE_ERROR, message=f"the answer cannot be read: {flaw}")
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=message.id, error=data))


def _flaw_of(value: object) -> str:
    """Return what is too large in a message, or an empty text."""
    count, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            inner = [entry for key, entry in part.items() if key not in _FREE]
        elif isinstance(part, list):
            inner = part
        else:
            continue
        count += len(part)
        most = MOST_ENTRIES if isinstance(part, list) else _MOST_KEYS
        if len(part) > most:
            return f"a list or object has {len(part):,} entries, more than {most:,}"
        if count > _MOST_VALUES:
            return f"it has more than {_MOST_VALUES:,} values"
        waiting += inner
    return ""
