"""Getters of what a Chromium browser keeps in its profile, as JSON and databases."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from agentgym.formats.osworld.getters.value import Read, Value
from agentgym.formats.osworld.guest import HOME
from agentgym.formats.osworld.steps import Stage
from agentgym.records.bounds import is_too_rich
from agentgym.threads import to_thread

_PROFILE: Final = f"{HOME}/.config/google-chrome/Default"
_MOST_BYTES: Final = 8 * 2**20


async def _stored(stage: Stage, path: str) -> Any:
    data = await stage.guest.read(path)
    return None if data is None else await to_thread(_parsed, data)


def _parsed(data: bytes) -> Any:
    """Return the value of a JSON text; None if it has none, or more than a browser writes."""
    if len(data) > _MOST_BYTES or is_too_rich(data):
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _at(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def _preference(read: Callable[[Any], Any]) -> Callable[[Stage, Mapping[str, Any]], Any]:
    async def getter(stage: Stage, given: Mapping[str, Any]) -> Read:
        return Value(read(await _stored(stage, f"{_PROFILE}/Preferences")))

    return getter


def _switch(*keys: str) -> Callable[[Stage, Mapping[str, Any]], Any]:
    """Return a getter of a switch, whose value is the text ``true`` or ``false``."""
    return _preference(lambda data: "true" if _at(data, *keys) else "false")


async def bookmarks(stage: Stage, given: Mapping[str, Any]) -> Read:
    """Return the roots of the bookmarks."""
    return Value(_at(await _stored(stage, f"{_PROFILE}/Bookmarks"), "roots"))


def _search_engine(data: Any) -> str:
    name = _at(data, "default_search_provider_data", "template_url_data", "short_name")
    return str(name or "Google")


def _font_sizes(data: Any) -> Any:
    sizes = _at(data, "webkit", "webprefs") or {}
    return {
        "default_fixed_font_size": sizes.get("default_fixed_font_size", 13),
        "default_font_size": sizes.get("default_font_size", 16),
        "minimum_font_size": sizes.get("minimum_font_size", 13),
    }


def _startup(data: Any) -> str:
    return "true" if _at(data, "session", "restore_on_startup") == 5 else "false"


BROWSER: Final = {
    "bookmarks": bookmarks,
    "chrome_font_size": _preference(_font_sizes),
    "default_search_engine": _preference(_search_engine),
    "enable_do_not_track": _switch("enable_do_not_track"),
    "enable_safe_browsing": _preference(
        lambda data: (
            "true"
            if _at(data, "safebrowsing", "enabled") or _at(data, "safebrowsing", "enhanced")
            else "false"
        )
    ),
    "new_startup_page": _preference(_startup),
    "profile_name": _preference(lambda data: _at(data, "profile", "name")),
}
"""The getters of this module, by their type."""
