"""What happened around a step as JSON values and back, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from agentgym.record.codec import expect, fields
from agentgym.records import Json, StepEvent, StepEventKind, UserCall, UserTurn


def events_to_json(happenings: Sequence[StepEvent]) -> list[Json]:
    """Return the happenings of a step as a JSON array; only a user's has a ``turn``."""
    return [_to_json(event) for event in happenings]


def events_from_json(value: object) -> tuple[StepEvent, ...]:
    """Read what `events_to_json` returned.

    Raises:
        ValueError: It is something else; names the field.
    """
    return tuple(_from_json(item) for item in expect(value, "happenings", list))


_HAPPENING: Final[dict[str, Any]] = {"kind": StepEventKind, "id": str, "detail": str}
_TURN: Final[dict[str, Any]] = {"text": str, "left": bool, "calls": list, "state": str}
_CALL: Final[dict[str, Any]] = {"tool": str, "arguments": dict}


def _to_json(event: StepEvent) -> dict[str, Json]:
    plain: dict[str, Json] = {
        "kind": event.kind,
        "id": event.id,
        "detail": event.detail,
    }
    if (turn := event.turn) is not None:
        calls: list[Json] = [{"tool": c.tool, "arguments": c.arguments} for c in turn.calls]
        plain["turn"] = {
            "text": turn.text,
            "left": turn.left,
            "calls": calls,
            "state": turn.state,
            **({} if turn.understood else {"understood": False}),
        }
    return plain


def _from_json(item: object) -> StepEvent:
    found = fields(item, "happenings", _HAPPENING)
    assert isinstance(item, dict)
    if found["kind"] is not StepEventKind.USER:
        return StepEvent(**found)
    turn = fields(item.get("turn"), "happenings.turn", _TURN)
    calls = [fields(call, "happenings.turn.calls", _CALL) for call in turn["calls"]]
    turn["calls"] = tuple(UserCall(**call) for call in calls)
    understood = item["turn"].get("understood", True) is not False
    return StepEvent(**found, turn=UserTurn(**turn, understood=understood))
