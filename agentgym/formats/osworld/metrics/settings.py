"""Metrics of settings: JSON, XML and text files of applications, and databases."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from agentgym.formats.osworld.metrics.matching import (
    Rule,
    fits,
    has_items,
    read_json,
    read_lines,
    read_text,
)
from agentgym.records.pattern import fits_glob

_REGISTRY = "{http://openoffice.org/2001/registry}"
_PREFERENCE = re.compile(r'user_pref\("((?:[^"\\]|\\.)+)", (.+)\);')
_CONDITION = re.compile(r'(?:AND|OR) \([^,()]+,[^,()]+,(?:"[^"]*"|[^)]*)\)|\bALL\b')
_MISSING = object()


# --- JSON ---


def check_json(result: Path | None, rules: Rule, is_yaml: bool = False) -> float:
    """The values at the expected paths meet their rules; those at the unexpected ones do not."""
    if result is None:
        return 0.0
    if is_yaml:
        import yaml

        data = yaml.safe_load(read_text(result))
    else:
        data = read_json(result)
    for rule in rules.get("expect", ()):
        value = _at(data, rule["key"])
        if value is _MISSING or not fits(value, rule):
            return 0.0
    unwanted = ((_at(data, rule["key"]), rule) for rule in rules.get("unexpect", ()))
    return float(not any(fits(None if one is _MISSING else one, rule) for one, rule in unwanted))


def _at(data: Any, keys: list[Any]) -> Any:
    for key in keys:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return _MISSING
    return data


def check_json_settings(result: Path | None, rules: Rule) -> float:
    """The settings have these values."""
    if result is None:
        return 0.0
    seen = read_json(result)
    return float(isinstance(seen, Mapping) and has_items(rules["expected"], seen))


def check_json_keybindings(result: Path | None, rules: Rule) -> float:
    """The list of key bindings has this one; a comment may precede it."""
    if result is None:
        return 0.0
    text = read_text(result)
    for part in (text, text.partition("\n")[2]):
        try:
            seen = json.loads(part)
        except ValueError:
            continue
        return float(isinstance(seen, list) and rules["expected"] in seen)
    return 0.0


def compare_config(result: Path | None, rules: Rule, containment_ok: bool = True) -> float:
    """The JSON has everything of the expected one, or is equal to it; other text contains it."""
    wanted = rules.get("expected")
    if result is None or not wanted:
        return 0.0
    seen = read_text(result)
    try:
        given, expected = json.loads(seen), json.loads(wanted)
    except ValueError:
        return float(wanted.strip() in seen if containment_ok else seen == wanted)
    return float(_includes(given, expected) if containment_ok else given == expected)


def _includes(seen: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        inside = isinstance(seen, Mapping)
        return inside and all(
            key in seen and _includes(seen[key], one) for key, one in wanted.items()
        )
    return bool(seen == wanted)


# --- LibreOffice: registrymodifications.xcu ---


def _registry(path: Path, item: str, prop: str) -> str | None:
    """Return the last value of a property below the items whose path ends so; None without one."""
    found = None
    for one in ElementTree.parse(path).getroot().iter("item"):
        if str(one.get(f"{_REGISTRY}path")).endswith(item):
            for each in one.iter("prop"):
                if each.get(f"{_REGISTRY}name") == prop:
                    found = each.findtext("value", "")
    return found


def find_default_font(result: Path | None, rules: Rule) -> float:
    """Writer's default font has this name."""
    if result is None:
        return 0.0
    seen = _registry(result, "org.openoffice.Office.Writer/DefaultFont", "Standard")
    return float(seen == rules["font_name"])


def check_auto_saving_time(result: Path | None, rules: Rule) -> float:
    """Documents are saved every so many minutes."""
    if result is None:
        return 0.0
    seen = _registry(result, "org.openoffice.Office.Common/Save/Document", "AutoSaveTimeIntervall")
    return float(seen is not None and seen.strip() == str(rules["minutes"]))


def check_presenter_console_disable(result: Path | None) -> float:
    """The console of the presenter is switched off."""
    if result is None:
        return 0.0
    seen = _registry(result, "org.openoffice.Office.Impress/Misc/Start", "EnablePresenterScreen")
    return float((seen or "").strip().lower() == "false")


def check_libre_locale(result: Path | None, rules: Rule) -> float:
    """The locale matches one of these patterns."""
    if result is None:
        return 0.0
    seen = _registry(result, "L10N", "ooSetupSystemLocale") or _registry(result, "L10N", "ooLocale")
    return float(any(fits_glob(seen or "", pattern) for pattern in rules["locale_set"]))


# --- VLC: vlcrc ---


def _vlc(path: Path, key: str) -> str | None:
    """Return the value of a key of a vlcrc; a comment is a default."""
    found = None
    for line in read_lines(path):
        name, sign, value = line.partition("=")
        if sign and name.strip() == key:
            found = value.strip()
    return found


def is_vlc_recordings_folder(result: Path | None, rules: Rule) -> float:
    """Recordings go to this folder."""
    if result is None:
        return 0.0
    return float(_vlc(result, "input-record-path") == rules["recording_file_path"])


def _vlc_flag(result: Path | None, key: str, wanted: object, default: str) -> float:
    if result is None:
        return 0.0
    seen = _vlc(result, key)
    return float(str(default if seen is None else seen) == str(wanted))


def check_qt_minimal_view(result: Path | None, rules: Rule) -> float:
    """The interface is minimal, or not."""
    return _vlc_flag(result, "qt-minimal-view", rules["expected_qt_minimal_view"], "0")


def check_qt_bgcone(result: Path | None, rules: Rule) -> float:
    """The cone in the background is shown, or not."""
    return _vlc_flag(result, "qt-bgcone", rules["expected_qt_bgcone"], "1")


def check_qt_max_volume(result: Path | None, rules: Rule) -> float:
    """The volume goes up to this value."""
    return _vlc_flag(result, "qt-max-volume", rules["expected_qt_max_volume"], "125")


def check_play_and_exit(result: Path | None, rules: Rule) -> float:
    """The player ends after the list, or not."""
    return _vlc_flag(result, "play-and-exit", rules["expected_play_and_exit"], "0")


def check_one_instance_when_started_from_file(result: Path | None, rules: Rule) -> float:
    """A file opens in the running player, or not."""
    wanted = rules["expected_one_instance_when_started_from_file"]
    return _vlc_flag(result, "one-instance-when-started-from-file", wanted, "1")


def check_global_key_play_pause(result: Path | None, rules: Rule) -> float:
    """A global key for play and pause is set, or not."""
    if result is None:
        return 0.0
    is_set = bool(_vlc(result, "global-key-play-pause"))
    return float(is_set == (int(rules["expected_global_key_play_pause"]) == 1))


def check_qt_slider_colours(result: Path | None, rules: Rule) -> float:
    """The colours of the volume slider are these, or make it blackish.

    Raises:
        ValueError: The type of the rule is unknown.
    """
    if rules["type"] not in ("match", "blackish"):
        raise ValueError(f"check_qt_slider_colours knows no type {rules['type']!r}")
    seen = _vlc(result, "qt-slider-colours") if result is not None else None
    if seen is None:
        return 0.0
    if rules["type"] == "match":
        return float(seen == str(rules["expected_qt_slider_colours"]))
    try:
        parts = [int(part) for part in seen.split(";")]
    except ValueError:
        return 0.0
    colours = [parts[at : at + 3] for at in range(0, len(parts) - 2, 3)]
    return float(bool(colours) and all(max(one) < _BLACKISH for one in colours))


_BLACKISH = 100


# --- GIMP: gimprc and sessionrc ---


def check_config_status(result: Path | None, rules: Rule) -> float:
    """Some line begins with the key, one word or two, and ends with the value."""
    if result is None:
        return 0.0
    key = rules["key"]
    keys = [key] if isinstance(key, str) else list(key)
    for line in read_lines(result):
        words = line.strip().lstrip("(").rstrip(")").split()
        if words[: len(keys)] == keys and not line.startswith("#") and words[-1] == rules["value"]:
            return 1.0
    return 0.0


# --- Thunderbird ---


def check_thunderbird_prefs(result: Path | None, rules: Rule) -> float:
    """The preferences meet the expected rules, and none of the unexpected ones."""
    if result is None:
        return 0.0
    seen: dict[str, Any] = {}
    for line in read_lines(result):
        if found := _PREFERENCE.fullmatch(line.strip()):
            seen[found[1]] = json.loads(found[2])
    expected, unexpected = rules.get("expect", {}), rules.get("unexpect", {})
    there = all(key in seen and fits(seen[key], rule) for key, rule in expected.items())
    return float(
        there and not any(key in seen and fits(seen[key], one) for key, one in unexpected.items())
    )


def check_thunderbird_filter(result: Path | None, rules: Rule) -> float:
    """Each expected filter is there, and no unexpected one."""
    if result is None:
        return 0.0
    filters: list[dict[str, Any]] = []
    for line in read_lines(result):
        key, _, text = line.partition("=")
        value = text.strip().strip('"').replace('\\"', '"').replace("\\\\", "\\")
        if key == "name":
            filters.append({})
        if filters and key == "condition":
            filters[-1][key] = _CONDITION.findall(value)
        elif filters:
            filters[-1][key] = value
    there = all(any(has_items(one, each) for each in filters) for one in rules.get("expect", ()))
    unwanted = rules.get("unexpect", ())
    return float(there and not any(has_items(one, each) for one in unwanted for each in filters))


# --- databases ---


def run_sqlite3(result: Path | None, rules: Rule) -> float:
    """The query gives a number, which is the score."""
    if result is None:
        return 0.0
    link = sqlite3.connect(f"{result.absolute().as_uri()}?mode=ro", uri=True)
    try:
        row = link.execute(rules["sql"]).fetchone()
    finally:
        link.close()
    return max(0.0, min(1.0, float(row[0] or 0))) if row else 0.0
