"""Metrics of values: texts, lists and objects that a getter has read."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym.formats.osworld.metrics.matching import Rule, similarity

_FAILED = "__EVALUATION_FAILED__"


def exact_match(result: Any, rules: Rule) -> float:
    """The value is the expected one."""
    return float(result == rules["expected"])


def compare_answer(result: Any, rules: Rule) -> float:
    """The text is the expected one; no text is wrong."""
    return float(bool(result) and result == rules["expected"])


def match_in_list(result: Any, rules: Rule) -> float:
    """The value is one of the expected ones."""
    return float(result in rules["expected"])


def is_in_list(result: Sequence[Any] | None, rules: Rule) -> float:
    """The expected value is in the list."""
    return float(result is not None and rules["expected"] in result)


def literal_match(
    result: Any, expected: Any, type: str = "str", ignore_case: bool = False
) -> float:
    """Both are equal as texts, or item by item as lists of texts.

    Raises:
        ValueError: The type is neither ``str`` nor ``list``.
    """

    def plain(value: Any) -> str:
        return str(value).lower() if ignore_case else str(value)

    if type == "str":
        return float(plain(result) == plain(expected))
    if type != "list":
        raise ValueError(f"literal_match knows no type {type!r}")
    if not isinstance(result, list) or not isinstance(expected, list):
        return 0.0
    return float([plain(one) for one in result] == [plain(one) for one in expected])


def check_include_exclude(result: str | None, rules: Rule) -> float:
    """The text contains every piece of `include` and none of `exclude`."""
    if result is None:
        return 0.0
    there = all(piece in result for piece in rules.get("include", ()))
    return float(there and not any(piece in result for piece in rules.get("exclude", ())))


def fuzzy_match(result: str | None, rules: Rule) -> float:
    """The likeness of the text and the expected one."""
    return 0.0 if result is None else similarity(result, rules["expected"])


def check_direct_json_object(result: Any, rules: Rule) -> float:
    """The object has the expected values by key.

    With `expect_in_result` a text has to contain the expected one, and of a list of expected
    values one has to be there.
    """
    if isinstance(result, str):
        try:
            result = json.loads(result.strip().replace("'", '"'))
        except ValueError:
            return 0.0
    expected = rules["expected"]
    if not isinstance(result, Mapping) or _FAILED in map(str, expected.values()):
        return 0.0
    if rules.get("expect_in_result"):
        return float(all(_among(result.get(key), value) for key, value in expected.items()))
    ordered = not expected.get("ignore_list_order", False)
    wanted = {key: value for key, value in expected.items() if key != "ignore_list_order"}
    return float(all(_equal(result.get(key), value, ordered) for key, value in wanted.items()))


def _among(seen: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return any(one in seen if isinstance(seen, list) else one == seen for one in wanted)
    return isinstance(wanted, str) and isinstance(seen, str | list) and wanted in seen


def _equal(seen: Any, wanted: Any, ordered: bool) -> bool:
    if ordered or not isinstance(seen, list) or not isinstance(wanted, list):
        return bool(seen == wanted)
    return sorted(map(repr, seen)) == sorted(map(repr, wanted))


def check_gnome_favorite_apps(result: str, rules: Rule) -> float:
    """The list of favourite applications, as gsettings prints it, has exactly these names."""
    try:
        names = ast.literal_eval(result.strip())
    except (ValueError, SyntaxError, AttributeError):
        return 0.0
    wanted = rules["expected"]
    return float(isinstance(names, list) and sorted(map(str, names)) == sorted(wanted))


def is_utc_0(result: str) -> float:
    """The report of timedatectl names a time zone at UTC."""
    lines = (line.strip() for line in (result or "").splitlines())
    return float(any(line.startswith("Time zone:") and line.endswith("+0000)") for line in lines))


def check_text_enlarged(result: str) -> float:
    """The factor by which text is scaled is above 1."""
    try:
        return float(float(result) > 1)
    except (TypeError, ValueError):
        return 0.0


def check_moved_jpgs(result: Mapping[str, Any] | None, rules: Rule) -> float:
    """The folder holds exactly these names."""
    if result is None:
        return 0.0
    names = [one["name"] for one in result["children"]]
    return float(sorted(names) == sorted(rules["expected"]))


def is_in_vm_clickboard(config: Rule, terminal_output: str | None) -> float:
    """The output contains the expected text, or all of the expected texts."""
    wanted = config["expected"]
    pieces = wanted if isinstance(wanted, list) else [wanted]
    return float(terminal_output is not None and all(one in terminal_output for one in pieces))


def is_vlc_fullscreen(window: Rule | None, screen: Rule | None) -> float:
    """The window is as large as the screen."""
    if not window or not screen:
        return 0.0
    return float(all(window[side] == screen[side] for side in ("width", "height")))
