"""Check pack `settings`: what applications keep as their settings.

Channel: state (the final files, read from outside). A store is read as values by name:

- ``ini``: files of keys below groups, such as GLib's key files and the lists of default
  applications. A name is ``[Group]key``; values are text, as written.
- ``xfconf``: a channel of Xfce. A name is ``/Property/Sub``; values have their type.
- ``prefs``: the preferences of Firefox, by their names; values are those of JSON.

What cannot mean one thing is a fail: a group or name that is there twice, text that is not UTF-8,
more than 1 MiB. A store that did not exist has no values.
"""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agentgym import CheckResult, Evidence, GuestFileError, VerifierError
from agentgym.verify.documents import DEFAULT_BYTES, parse
from agentgym.verify.values import Comparison, brief, result

_PREFERENCE = re.compile(r'user_pref\("([^"\\]{1,200})", (.{1,60000})\);')
_MOST_NAMES = 20_000


class _Settings(configparser.RawConfigParser):
    # Names may hold colons, and this pattern takes linear time, unlike the one of the library.
    OPTCRE = re.compile(r"(?P<option>[^=]*)(?P<vi>=)(?P<value>.*)$")


def holds(evidence: Evidence, path: str, format: str, values: Mapping[str, Any]) -> CheckResult:
    """A store holds these values.

    Channel: state.

    Example:
        use = "settings.holds"
        with = { path = "/root/.config/app.ini", format = "ini", values = { "[View]zoom" = "2" } }

    Args:
        evidence: Evidence of the episode.
        path: The file of the store.
        format: ini, xfconf or prefs.
        values: The expected values by name.
    """
    reader = _reader(format)
    if not values:
        raise VerifierError("values: expected at least one value by name")
    seen = reader(evidence.after.read(path, max_bytes=DEFAULT_BYTES), path)
    for name, value in values.items():
        if name not in seen:
            return result(False, f"{path}: there is no {name}")
        fault = Comparison().difference(seen[name], value)
        if fault:
            return result(False, f"{path}: {name}: {fault}")
    return result(True, f"{path}: {len(values)} values as expected")


def only_changed(evidence: Evidence, path: str, format: str, names: Sequence[str]) -> CheckResult:
    """Every value of a store that was added, changed or removed has one of these names.

    Channel: state (the files before and after).

    Example:
        use = "settings.only_changed"
        with = { path = "/root/.config/keyfile", format = "ini", names = ["[app/view]*"] }

    Args:
        evidence: Evidence of the episode.
        path: The file of the store.
        format: ini, xfconf or prefs.
        names: The names; a * at the end stands for any end.
    """
    reader = _reader(format)
    if isinstance(names, str):
        raise VerifierError(f"names: expected a list of names, got {names!r}")
    before, after = (
        reader(tree.read(path, max_bytes=DEFAULT_BYTES), path)
        if tree.stat(path) is not None
        else {}
        for tree in (evidence.before, evidence.after)
    )
    for name in sorted({*before, *after}):
        if name in before and name in after:
            fault = Comparison().difference(after[name], before[name])
        else:
            fault = "it is new" if name in after else "it was removed"
        if fault and not any(_fits(name, one) for one in names):
            return result(False, f"{path}: {brief(name)}: {fault}")
    return result(True, f"{path}: no other value was changed")


def _fits(name: str, wanted: str) -> bool:
    return name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted


def _reader(format_name: object) -> Callable[[bytes, str], dict[str, Any]]:
    readers = {"ini": _ini, "xfconf": _xfconf, "prefs": _preferences}
    if format_name not in readers:
        raise VerifierError(f"format: expected one of {', '.join(readers)}, got {format_name!r}")
    return readers[str(format_name)]


def _text(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise GuestFileError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def _ini(data: bytes, path: str) -> dict[str, Any]:
    reader = _Settings(
        comment_prefixes=("#",),
        default_section="\0",
        empty_lines_in_values=False,
        interpolation=None,
    )
    reader.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        reader.read_string(_text(data, path))
    except configparser.Error as error:
        raise GuestFileError(f"{path}: {str(error)[:200]}") from None
    groups = reader.sections()
    return {f"[{group}]{key}": value for group in groups for key, value in reader.items(group)}


def _xfconf(data: bytes, path: str) -> dict[str, Any]:
    document = parse(data, "xml", path)
    channel = document.get("channel") if isinstance(document, dict) else None
    if not isinstance(channel, dict):
        raise GuestFileError(f"{path}: is not a channel of Xfce")
    found: dict[str, Any] = {}
    for name, value in _properties(channel, "", path):
        if name in found or len(found) >= _MOST_NAMES:
            raise GuestFileError(f"{path}: {brief(name)} is there twice, or is one of too many")
        found[name] = value
    return found


def _properties(element: Mapping[str, Any], above: str, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the properties below an element that have a value, with their names."""
    for one in _listed(element.get("property")):
        if not isinstance(one, dict) or not isinstance(one.get("@name"), str):
            raise GuestFileError(f"{path}: a property has no name")
        name = f"{above}/{one['@name']}"
        if one.get("@type", "empty") != "empty":
            yield name, _typed(one, name, path)
        yield from _properties(one, name, path)


def _typed(element: Mapping[str, Any], name: str, path: str) -> Any:
    kind, text = element.get("@type"), element.get("@value")
    if kind == "array":
        values = _listed(element.get("value"))
        return [_typed(one, name, path) if isinstance(one, dict) else one for one in values]
    try:
        if kind == "bool":
            return {"true": True, "false": False}[str(text)]
        if kind in ("int", "uint", "int64", "uint64", "int16", "uint16"):
            return int(str(text)[:30])
        if kind in ("double", "float"):
            return float(str(text)[:60])
    except (ValueError, KeyError):
        raise GuestFileError(f"{path}: {brief(name)}: {brief(text)} is no {kind}") from None
    return text


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _preferences(data: bytes, path: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in _text(data, path).splitlines():
        match = _PREFERENCE.fullmatch(line.strip())
        if match is None:
            continue
        if match[1] in found or len(found) >= _MOST_NAMES:
            raise GuestFileError(f"{path}: {match[1]} is there twice, or is one of too many")
        try:
            found[match[1]] = json.loads(match[2])
        except (ValueError, RecursionError):
            raise GuestFileError(f"{path}: the value of {match[1]} cannot be read") from None
    return found
