"""What happened around a step as JSON values and back, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from agentgym.record.codec import expect, fields
from agentgym.records import Happening, HappeningKind, Json, UserCall, UserTurn


def happenings_to_json(happenings: Sequence[Happening]) -> list[Json]:
    """Return the happenings of a step as a JSON array; only a user's has a ``turn``."""
    return [_to_json(happening) for happening in happenings]


def happenings_from_json(value: object) -> tuple[Happening, ...]:
    """Read what `happenings_to_json` returned.

    Raises:
        ValueError: It is something else; names the field.
    """
    return tuple(_from_json(item) for item in expect(value, "happenings", list))


_HAPPENING: Final[dict[str, Any]] = {"kind": HappeningKind, "id": str, "detail": str}
_TURN: Final[dict[str, Any]] = {"text": str, "left": bool, "calls": list, "state": str}
_CALL: Final[dict[str, Any]] = {"tool": str, "arguments": dict}


def _to_json(happening: Happening) -> dict[str, Json]:
    plain: dict[str, Json] = {
        "kind": happening.kind,
        "id": happening.id,
        "detail": happening.detail,
    }
    if (turn := happening.turn) is not None:
        calls: list[Json] = [{"tool": c.tool, "arguments": c.arguments} for c in turn.calls]
        plain["turn"] = {
            "text": turn.text,
            "left": turn.left,
            "calls": calls,
            "state": turn.state,
            **({} if turn.understood else {"understood": False}),
        }
    return plain


def _from_json(item: object) -> Happening:
    found = fields(item, "happenings", _HAPPENING)
    assert isinstance(item, dict)
    if found["kind"] is not HappeningKind.USER:
        return Happening(**found)
    turn = fields(item.get("turn"), "happenings.turn", _TURN)
    calls = [fields(call, "happenings.turn.calls", _CALL) for call in turn["calls"]]
    turn["calls"] = tuple(UserCall(**call) for call in calls)
    understood = item["turn"].get("understood", True) is not False
    return Happening(**found, turn=UserTurn(**turn, understood=understood))
