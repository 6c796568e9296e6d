"""Reads files of instances: JSON lines, or one JSON array. Hostile input is refused by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from agentgym.errors import TaskError
from agentgym.swe.instance import Instance
from agentgym.swe.instance_fields import FieldError, parse_json
from agentgym.swe.instance_layouts import parse_instance

MAX_FILE_BYTES: Final = 4 << 30
MAX_LINE_BYTES: Final = 256 << 20
"""Lines of Multi-SWE-bench hold the results of whole test suites."""
MAX_INSTANCES: Final = 200_000
_SHOWN: Final = 20
"""Refused lines that one error names."""


def read_instances(
    path: Path, *, refused: Callable[[str], None] | None = None
) -> tuple[Instance, ...]:
    """Return the instances of a file in its order.

    Args:
        path: JSON lines (``.jsonl``), or one JSON array of objects (``.json``).
        refused: Called with one line ``file:line: field: problem`` for each bad instance, which is
            left out. Without it any bad instance is an error.

    Raises:
        TaskError: The file cannot be read, holds no instance, or has bad ones.
    """
    found: dict[str, tuple[int, Instance]] = {}
    problems: list[str] = []
    for line, entry in _entries(path):
        problem = ""
        try:
            if isinstance(entry, _Broken):
                raise FieldError(*entry.args)
            if not isinstance(entry, dict):
                raise FieldError("instance", "expected a JSON object", entry)
            instance = parse_instance(entry)
            if instance.id in found:
                problem = f"instance_id: {instance.id!r} is also in line {found[instance.id][0]}"
            else:
                found[instance.id] = line, instance
        except FieldError as error:
            problem = str(error)
        if problem:
            problems.append(f"{path}:{line}: {problem}")
            if refused is not None:
                refused(problems[-1])
        if len(found) + len(problems) > MAX_INSTANCES:
            raise TaskError(f"{path}: more than {MAX_INSTANCES} instances; split the file")
    if problems and refused is None:
        more = f"\n… and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise TaskError("\n".join(problems[:_SHOWN]) + more)
    if not found:
        raise TaskError(f"{path}: holds no usable instance; expected one JSON object per line")
    return tuple(instance for _, instance in found.values())


class _Broken(ValueError):
    """A line that is no JSON: the arguments of a FieldError."""


def _entries(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the number of each line and its JSON value, or a `_Broken`."""
    try:
        if not path.is_file():
            raise TaskError(f"{path}: no such file; expected JSON lines of instances")
        if (size := path.stat().st_size) > MAX_FILE_BYTES:
            raise TaskError(f"{path}: {size} bytes; the limit is {MAX_FILE_BYTES}")
        with path.open("rb") as file:
            if (
                path.suffix == ".json"
                and file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
            ):
                yield from _array(path)
                return
            file.seek(0)
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise TaskError(f"{path}:{number}: longer than {MAX_LINE_BYTES} bytes")
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip():
                    yield number, _json(line)
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror or error}") from error


def _array(path: Path) -> Iterator[tuple[int, Any]]:
    if path.stat().st_size > MAX_LINE_BYTES:
        raise TaskError(
            f"{path}: a JSON array of more than {MAX_LINE_BYTES} bytes; write it as JSON lines"
        )
    entries = _json(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    if isinstance(entries, _Broken):
        raise TaskError(f"{path}: {FieldError(*entries.args)}")
    yield from enumerate(entries, 1)


def _json(data: bytes) -> Any:
    try:
        return parse_json(data.decode(), constant=_no_constant)
    except UnicodeDecodeError as error:
        return _Broken("instance", f"is not UTF-8 at byte {error.start}")
    except RecursionError:
        return _Broken("instance", "is nested too deeply")
    except ValueError as error:
        return _Broken("instance", f"is not JSON: {str(error)[:200]}")


def _no_constant(name: str) -> float:
    if name == "NaN":  # an empty cell of a table that pandas wrote
        return None  # type: ignore[return-value]
    raise ValueError(f"{name} is not a JSON number")
