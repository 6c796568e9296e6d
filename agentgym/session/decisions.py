"""Reads the action of a remote caller into the form in which a record holds it."""

from __future__ import annotations

import json

from agentgym.errors import ActionError
from agentgym.record import codec
from agentgym.records import Action, Decision
from agentgym.records.bounds import bounded_decision, flaw_of_decision, malformed


def read_decision(value: object) -> Decision:
    """Return an action, or a decision, of a remote caller as the record will hold it.

    A value that is no action, or an action beyond the bounds, becomes a malformed action: it costs
    a step, and the observation explains it.

    Args:
        value: A `Decision`, an `Action`, or an action as JSON.

    Raises:
        ActionError: JSON cannot hold the value; nothing can be recorded.
    """
    decision = value if isinstance(value, Decision) else Decision(_read_action(value))
    if flaw := flaw_of_decision(decision):
        raise ActionError(f"expected a Decision; {flaw}")
    bounded = bounded_decision(decision)
    try:
        text = codec.decision_to_text(bounded)
        # The written form escapes lone surrogates and accepts NaN; other readers of JSON do not.
        plain = json.loads(text)
        json.dumps(plain, allow_nan=False, ensure_ascii=False).encode()
        return codec.decision_from_json(plain, bounded.usage, bounded.generations)
    except (TypeError, ValueError, RecursionError) as error:
        raise ActionError(f"arguments: expected JSON: {error}") from error


def _read_action(value: object) -> Action:
    try:
        return Action.from_json(value)
    except ActionError as error:
        return malformed(error)
