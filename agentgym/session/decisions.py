"""Reads the action of a remote caller into the form in which a record holds it."""

from __future__ import annotations

import json

from agentgym.errors import ActionError
from agentgym.record import codec
from agentgym.records import Decision, Json, bounds
from agentgym.records.json_text import encoder

_strict = encoder(allow_nan=False, ascii_only=False)


def read_received(value: Json) -> tuple[Decision, str]:
    """Return the action of a JSON message as a decision, and as text that tells it from others.

    It has the meaning of `read_decision` and costs a tenth, because the value was read from JSON:
    it holds nothing but dicts with text as keys, lists and scalars.

    Raises:
        ActionError: JSON cannot hold the value: it has a NaN or a lone surrogate.
    """
    try:
        text = _strict(value)
        text.encode()
    except (ValueError, RecursionError) as error:
        raise ActionError(f"arguments: expected JSON: {error}") from error
    return bounds.read_decision(value), text


def read_decision(value: object) -> Decision:
    """Return an action, or a decision, of a remote caller as the record will hold it.

    A value that is no action, or an action beyond the bounds, becomes a malformed action: it costs
    a step, and the observation explains it.

    Args:
        value: A `Decision`, an `Action`, or an action as JSON.

    Raises:
        ActionError: JSON cannot hold the value; nothing can be recorded.
    """
    if isinstance(value, Decision) and (flaw := bounds.flaw_of_decision(value)):
        raise ActionError(f"expected a Decision; {flaw}")
    bounded = bounds.read_decision(value)
    try:
        text = codec.decision_to_text(bounded)
        # The written form escapes lone surrogates and accepts NaN; other readers of JSON do not.
        plain = json.loads(text)
        json.dumps(plain, allow_nan=False, ensure_ascii=False).encode()
        return codec.decision_from_json(plain, bounded.usage, bounded.generations)
    except (TypeError, ValueError, RecursionError) as error:
        raise ActionError(f"arguments: expected JSON: {error}") from error
