"""Records as JSON values and back, exactly; pictures as PNG; the hash replay compares.

Text is ASCII-escaped, so that lone surrogates and any Unicode survive in files of any kind.
Two lone surrogates that form a pair come back as the character they spell: JSON (RFC 8259)
writes both alike.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np
from PIL import Image as Pillow

from agentgym.records import (
    Action,
    Audit,
    CheckpointResult,
    CheckResult,
    CheckStatus,
    Connection,
    Decision,
    Effect,
    Image,
    Json,
    Nudge,
    Observation,
    Phase,
    Process,
    TokenUsage,
    Verdict,
)


def _container(value: object) -> object:
    """Turn a mapping or sequence that is neither dict nor list into one."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return list(value)
    raise TypeError(f"a {type(value).__name__} is no JSON value")


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_container)
_CANONICAL = json.JSONEncoder(separators=(",", ":"), default=_container, sort_keys=True)


def dumps(value: Json) -> str:
    """Write a JSON value as one line of ASCII.

    Raises:
        TypeError, ValueError, RecursionError: It holds something that is no JSON value.
    """
    return _ENCODER.encode(value)


def canonical(value: Json) -> str:
    """Write a JSON value with sorted keys: equal values give equal texts."""
    return _CANONICAL.encode(value)


def loads(text: str) -> Any:
    """Read what `dumps` wrote."""
    return json.loads(text)


# --- reading what may be damaged -----------------------------------------------------------

NUMBER: Final = int | float
_LARGEST: Final = 2**63
"""Larger numbers are no measurement, and sums of them would overflow."""
_DEEPEST: Final = 100
_PIXELS: Final = 1 << 26

_WORDS: Final[dict[Any, str]] = {
    bool: "true or false",
    dict: "an object",
    int: "an integer",
    int | None: "an integer or null",
    list: "an array",
    str: "text",
    str | None: "text or null",
    NUMBER: "a number",
    NUMBER | None: "a number or null",
}


def expect(value: object, field: str, kind: Any) -> Any:
    """Return a value that was read if it is of the kind its field has; a bool is no number.

    Args:
        value: What was read.
        field: What the message calls it.
        kind: A type as `isinstance` takes it, or the StrEnum of which the value is a member.

    Raises:
        ValueError: It is of another kind.
    """
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        members = [member.value for member in kind]
        if value in members:
            return kind(value)
        wanted = "one of " + ", ".join(members)
    elif isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        if not isinstance(value, int | float) or (math.isfinite(value) and abs(value) < _LARGEST):
            return value
        wanted = f"{_WORDS[kind]} smaller than {_LARGEST:.0e}"
    else:
        wanted = _WORDS[kind]
    seen = json.dumps(value, default=ascii)
    raise ValueError(f"{field}: expected {wanted}, got {seen[:60]}{'…' * (len(seen) > 60)}")


def fields(value: object, where: str, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a JSON object, each of its kind.

    Raises:
        ValueError: It is no object, or a field is absent or of another kind.
    """
    found = expect(value, where, dict)
    for name in kinds:
        if name not in found:
            raise ValueError(f"{where}.{name}: absent")
    return {name: expect(found[name], f"{where}.{name}", kind) for name, kind in kinds.items()}


# --- decisions and observations ------------------------------------------------------------


def decision_to_json(decision: Decision) -> dict[str, Json]:
    """Return a decision as a JSON object."""
    nudges = [[nudge.said, nudge.told] for nudge in decision.nudges]
    return {
        "action": decision.action.to_json(),
        "thought": decision.thought,
        "usage": {
            "prompt": decision.usage.prompt,
            "completion": decision.usage.completion,
            "cached": decision.usage.cached,
        },
        "reply": decision.reply,
        **({"nudges": nudges} if nudges else {}),
    }


def decision_from_json(value: object) -> Decision:
    """Read what `decision_to_json` returned.

    Raises:
        ValueError: It is something else; names the field.
    """
    found = fields(value, "decision", {"action": dict, "thought": str, "usage": dict})
    action = fields(found["action"], "decision.action", {"tool": str, "arguments": dict})
    usage = dict.fromkeys(("prompt", "completion", "cached"), int)
    return Decision(
        action=Action(**action),
        thought=found["thought"],
        usage=TokenUsage(**fields(found["usage"], "decision.usage", usage)),
        reply=expect(value, "decision", dict).get("reply"),
        nudges=_nudges(expect(value, "decision", dict).get("nudges", [])),
    )


def _nudges(value: object) -> tuple[Nudge, ...]:
    where = "decision.nudges"
    pairs = [_texts(expect(pair, where, list), where) for pair in expect(value, where, list)]
    for pair in pairs:
        if len(pair) != 2:
            raise ValueError(f"{where}: expected a reply and what it was told, got {len(pair)}")
    return tuple(Nudge(said, told) for said, told in pairs)


def observation_to_json(observation: Observation, image: Json = None) -> dict[str, Json]:
    """Return an observation as a JSON object.

    Args:
        observation: What to write.
        image: What stands for the picture: the name of a blob, a base64 text, None.
    """
    return {
        "text": observation.text,
        "data": observation.data,
        "effect": observation.effect.value,
        "image": image,
    }


def observation_from_json(value: object, image: Image | None = None) -> Observation:
    """Read what `observation_to_json` returned; the picture comes from wherever it was put.

    Raises:
        ValueError: It is something else; names the field.
    """
    kinds = {"text": str, "data": dict, "effect": Effect}
    return Observation(image=image, **fields(value, "observation", kinds))


def image_name(value: object) -> str | None:
    """Return what stands for the picture in what `observation_to_json` returned.

    Raises:
        ValueError: It is no observation.
    """
    name: str | None = fields(value, "observation", {"image": str | None})["image"]
    return name


def png_from_image(image: Image) -> bytes:
    """Compress ``uint8[H, W, 3]`` RGB without loss."""
    buffer = io.BytesIO()
    # The lowest level: half the time of the default for a tenth more bytes on screenshots.
    Pillow.fromarray(image).save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def image_from_png(data: bytes) -> Image:
    """Return the picture of a PNG as ``uint8[H, W, 3]`` RGB.

    Raises:
        OSError, ValueError, SyntaxError: It is no PNG, or a damaged one.
    """
    # Other formats are not asked: one of them (EPS) runs a program over what it is given.
    try:
        opened = Pillow.open(io.BytesIO(data), formats=("PNG",))
    except Pillow.DecompressionBombError as error:
        raise ValueError(str(error)) from error
    with opened as picture:
        if picture.width * picture.height > _PIXELS:
            raise ValueError(f"a picture of {picture.width} × {picture.height} pixels is too large")
        return np.array(picture.convert("RGB"))


# --- what replay compares ------------------------------------------------------------------


def masked(observation: Observation, volatile_text: Sequence[str]) -> Observation:
    """Blank out whatever matches one of the regular expressions, in the text and the data."""
    if not volatile_text:
        return observation
    pattern = re.compile("|".join(f"(?:{part})" for part in volatile_text))

    def mask(value: Any) -> Any:
        if isinstance(value, str):
            return pattern.sub("*", value)
        if isinstance(value, Mapping):
            return {key: mask(item) for key, item in value.items()}
        if isinstance(value, Sequence):
            return [mask(item) for item in value]
        return value

    return replace(observation, text=mask(observation.text), data=mask(observation.data))


def observation_hash(observation: Observation, volatile_text: Sequence[str] = ()) -> str:
    """Return a SHA-256 over text, data, effect and the pixels, as 64 hex digits.

    Args:
        observation: What to hash.
        volatile_text: Regular expressions; what they match does not count.
    """
    seen = masked(observation, volatile_text)
    shape = None if seen.image is None else list(seen.image.shape)
    digest = hashlib.sha256(
        canonical([seen.text, seen.data, seen.effect.value, shape]).encode("ascii")
    )
    if seen.image is not None:
        digest.update(seen.image.tobytes())
    return digest.hexdigest()


# --- verdicts ------------------------------------------------------------------------------


def checkpoint_to_json(checkpoint: CheckpointResult) -> dict[str, Json]:
    """Return a checkpoint's result as a JSON object."""
    return asdict(checkpoint)


_RESULT: Final = {
    **{"status": CheckStatus, "message": str, "score": NUMBER | None, "controllable": bool},
    **{"step": int | None, "channels": list},
}


def result_from_json(value: object) -> CheckResult:
    """Read the result of a check as `dataclasses.asdict` gives it.

    Raises:
        ValueError: It is something else; names the field.
    """
    found = fields(value, "result", _RESULT)
    found["channels"] = _texts(found["channels"], "result.channels")
    return CheckResult(**found)


_CHECKPOINT: Final = {
    **{"id": str, "phase": Phase, "status": CheckStatus, "score": NUMBER, "weight": NUMBER},
    **{"message": str, "gate": bool, "depth": int, "bonus": bool, "controllable": bool},
    **{"step": int | None, "channels": list},
}


def checkpoint_from_json(value: object) -> CheckpointResult:
    """Read what `checkpoint_to_json` returned.

    Raises:
        ValueError: It is something else; names the field.
    """
    found = fields(value, "checkpoint", _CHECKPOINT)
    if not 0 <= found["depth"] <= _DEEPEST:
        raise ValueError(f"checkpoint.depth: expected 0 to {_DEEPEST}, got {found['depth']}")
    found["channels"] = _texts(found["channels"], "checkpoint.channels")
    return CheckpointResult(**found)


def verdict_to_json(verdict: Verdict) -> dict[str, Json]:
    """Return a verdict as a JSON object, its checkpoints as a list."""
    return {
        "status": verdict.status,
        "outcome": verdict.outcome,
        "score": verdict.score,
        "process": verdict.process,
        "safety_violations": list(verdict.safety_violations),
        "checkpoints": [checkpoint_to_json(checkpoint) for checkpoint in verdict.checkpoints],
        "state_hash": verdict.state_hash,
        "bonus": verdict.bonus,
        "uncontrollable": list(verdict.uncontrollable),
        "verifier": verdict.verifier,
        **({"words": verdict.words} if verdict.words else {}),
    }


_VERDICT: Final = {
    **{"status": str, "outcome": bool, "score": NUMBER, "process": NUMBER | None},
    **{"safety_violations": list, "checkpoints": list, "state_hash": str},
    **{"bonus": NUMBER | None, "uncontrollable": list, "verifier": str},
}


def verdict_from_json(value: object) -> Verdict:
    """Read what `verdict_to_json` returned.

    Raises:
        ValueError: It is something else; names the field.
    """
    found = fields(value, "verdict", _VERDICT)
    for name in ("safety_violations", "uncontrollable"):
        found[name] = _texts(found[name], f"verdict.{name}")
    found["checkpoints"] = tuple(checkpoint_from_json(item) for item in found["checkpoints"])
    words = expect(expect(value, "verdict", dict).get("words", ""), "verdict.words", str)
    if words not in ("", "judged", "not judged"):
        raise ValueError(f"verdict.words: expected 'judged' or 'not judged', got {words[:40]!r}")
    return Verdict(**found, words=words)


def _texts(values: Sequence[object], where: str) -> tuple[str, ...]:
    return tuple(expect(value, where, str) for value in values)


# --- audits --------------------------------------------------------------------------------


def audit_to_json(audit: Audit) -> dict[str, Json]:
    """Return what a sandbox's audit holds as a JSON object."""
    return asdict(audit)


_AUDIT: Final = {"processes": list, "connections": list, "killed_for_memory": int | None}
_PROCESS: Final = {"pid": int, "argv": list, "tcp_ports": list}
_CONNECTION: Final = {
    **{"host": str, "port": int, "via": str, "outcome": str},
    **{"sent_bytes": int, "received_bytes": int},
}


def audit_from_json(value: object) -> Audit:
    """Read what `audit_to_json` returned.

    Raises:
        ValueError: It is something else; names the field.
    """
    found = fields(value, "audit", _AUDIT)
    connections = [fields(item, "audit.connections", _CONNECTION) for item in found["connections"]]
    return Audit(
        processes=tuple(_process_from_json(item) for item in found["processes"]),
        connections=tuple(Connection(**item) for item in connections),
        killed_for_memory=found["killed_for_memory"],
    )


def _process_from_json(value: object) -> Process:
    found = fields(value, "audit.processes", _PROCESS)
    return Process(
        pid=found["pid"],
        argv=tuple(expect(word, "audit.processes.argv", str) for word in found["argv"]),
        tcp_ports=tuple(expect(p, "audit.processes.tcp_ports", int) for p in found["tcp_ports"]),
    )
