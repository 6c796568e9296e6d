"""Predictions in SWE-bench's format: patches by instance, of one model or agent per file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from agentgym.errors import ConfigError
from agentgym.regular_file import read_regular
from agentgym.swe import instance_fields as read
from agentgym.swe.instance import Instance
from agentgym.swe.instance_fields import FieldError

MAX_BYTES: Final = 2 << 30


@dataclass(frozen=True, slots=True)
class Prediction:
    """One patch. The names of the fields are those of the format.

    Attributes:
        instance_id: Id of the instance.
        model_name_or_path: Name of the model or agent.
        model_patch: A unified diff of Git; empty if none was made.
    """

    instance_id: str
    model_name_or_path: str
    model_patch: str


def read_predictions(path: Path) -> tuple[Prediction, ...]:
    """Return the predictions of a file: JSON lines, a JSON array, or an object by instance id.

    Raises:
        ConfigError: The file cannot be read, or an entry is wrong; the message names it.
    """
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    found: dict[str, Prediction] = {}
    for where, entry in _entries(path, text):
        try:
            prediction = _prediction(entry)
        except FieldError as error:
            raise ConfigError(f"{where}: {error}") from None
        if prediction.instance_id in found:
            raise ConfigError(
                f"{where}: a second prediction for {prediction.instance_id}; a file holds one per "
                "instance"
            )
        found[prediction.instance_id] = prediction
    if not found:
        raise ConfigError(f"{path}: holds no prediction")
    return tuple(found.values())


def _prediction(entry: Any) -> Prediction:
    if not isinstance(entry, dict):
        raise FieldError("prediction", "expected a JSON object", entry)
    patch = "model_patch" if "model_patch" in entry else "patch"
    return Prediction(
        read.identifier(entry, "instance_id"),
        read.text(entry, "model_name_or_path", default="unknown"),
        # A patch that is too large is no broken file: it does not apply.
        read.text(entry, patch, default="", most=MAX_BYTES),
    )


def _entries(path: Path, text: str) -> Iterable[tuple[str, Any]]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if path.suffix == ".jsonl" or (len(lines) > 1 and _is_json(lines[0][1])):
        return [(f"{path}:{number}", _json(f"{path}:{number}", line)) for number, line in lines]
    whole = _json(str(path), text)
    if isinstance(whole, dict) and "instance_id" not in whole:
        # SWE-agent writes an object by instance id; an entry need not repeat the id.
        return [
            (f"{path}: {key}", {"instance_id": key, **value} if isinstance(value, dict) else value)
            for key, value in whole.items()
        ]
    entries = whole if isinstance(whole, list) else [whole]
    return [(f"{path}: entry {number}", entry) for number, entry in enumerate(entries, 1)]


def _is_json(line: str) -> bool:
    try:
        read.parse_json(line)
    except (ValueError, RecursionError):
        return False
    return True


def _json(where: str, text: str) -> Any:
    try:
        return read.parse_json(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: is not JSON: {str(error)[:200]}") from None


def gold_predictions(instances: Iterable[Instance]) -> tuple[Prediction, ...]:
    """Return the gold patches as predictions."""
    return tuple(Prediction(each.id, "gold", each.patch) for each in instances)


def write_predictions(path: Path, predictions: Iterable[Prediction]) -> int:
    """Write predictions as JSON lines and return their number."""
    lines = [json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in predictions]
    path.write_text("".join(lines), "utf-8")
    return len(lines)
