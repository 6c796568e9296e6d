"""Metrics of what a browser has open and has stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from agentgym.formats.osworld.metrics.matching import Rule

Tab = Mapping[str, Any] | str


def _url(tab: Tab | None) -> str:
    return str(tab.get("url") or "") if isinstance(tab, Mapping) else tab or ""


def _plain(url: str) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Return host, path and query; scheme, ``www.`` and a slash at the end do not count."""
    parts = urlsplit(url if re.match(r"[a-zA-Z][\w+.-]*://", url) else f"http://{url}")
    host = (parts.hostname or "").removeprefix("www.")
    return host, parts.path.rstrip("/"), tuple(sorted(parse_qsl(parts.query)))


def is_expected_active_tab(tab: Tab | None, rule: Rule) -> float:
    """The tab in front shows this page."""
    return float(bool(_url(tab)) and _plain(_url(tab)) == _plain(rule["url"]))


def is_expected_active_tab_approximate(tab: Tab | None, rule: Rule) -> float:
    """The tab in front shows this page, whatever its query."""
    return float(bool(_url(tab)) and _plain(_url(tab))[:2] == _plain(rule["url"])[:2])


def is_expected_url_pattern_match(tab: Tab | None, rules: Rule) -> float:
    """Each pattern is found in the address of the tab."""
    url = _url(tab)
    return float(bool(url) and all(re.search(pattern, url) for pattern in rules["expected"]))


def is_expected_search_query(tab: Tab | None, rules: Rule) -> float:
    """The pattern is found in the address of the tab."""
    return float(re.search(rules["expect"]["pattern"], _url(tab)) is not None)


def is_expected_tabs(tabs: Sequence[Tab] | None, rule: Rule) -> float:
    """The open tabs show exactly these pages, in any order."""
    seen = sorted(_plain(_url(tab)) for tab in tabs or ())
    return float(seen == sorted(_plain(url) for url in rule["urls"]))


def is_expected_bookmarks(bookmarks: Mapping[str, Any] | None, rule: Rule) -> float:
    """The bar of bookmarks has exactly these folders or pages, or a folder has these pages.

    Raises:
        ValueError: The type of the rule is unknown.
    """
    if not bookmarks:
        return 0.0
    bar = bookmarks["bookmark_bar"]["children"]
    if rule["type"] == "bookmark_bar_folders_names":
        names = {one["name"] for one in bar if one["type"] == "folder"}
        return float(names == set(rule["names"]))
    if rule["type"] == "bookmark_bar_websites_urls":
        return float({one["url"] for one in bar if one["type"] == "url"} == set(rule["urls"]))
    if rule["type"] != "liked_authors_websites_urls":
        raise ValueError(f"is_expected_bookmarks knows no type {rule['type']!r}")
    folders = (one for one in bar if one["type"] == "folder" and one["name"] == "Liked Authors")
    folder = next(folders, None)
    if folder is None:
        return 0.0
    seen = {one["url"] for one in folder["children"] if one["type"] == "url"}
    choices = [{one} if isinstance(one, str) else set(one) for one in rule["urls"]]
    one_each = all(len(seen & choice) == 1 for choice in choices)
    return float(one_each and seen <= set().union(*choices))


def is_expected_installed_extensions(names: Sequence[str] | None, rule: Rule) -> float:
    """All of these extensions are installed."""
    return float(bool(names) and set(rule["expected"]) <= set(names or ()))


def is_extension_installed(listed: str | None, rules: Rule) -> float:
    """The list of extensions contains a name, or does not.

    Raises:
        ValueError: The type of the rule is unknown.
    """
    if rules["type"] not in ("contain", "not_contain"):
        raise ValueError(f"is_extension_installed knows no type {rules['type']!r}")
    if listed is None:
        return 0.0
    return float((rules["expected"] in listed) == (rules["type"] == "contain"))


def is_cookie_deleted(cookies: Sequence[Sequence[Any]] | None, rule: Rule) -> float:
    """No cookie belongs to one of these domains."""
    if cookies is None:
        return 0.0
    hosts = {str(cookie[1]).lstrip(".").removeprefix("www.") for cookie in cookies}
    return float(not hosts & {_plain(domain.lstrip("."))[0] for domain in rule["domains"]})


def check_history_deleted(history: Sequence[Sequence[Any]] | None, rule: Rule) -> float:
    """No visited address contains one of these words."""
    if history is None:
        return 0.0
    words = rule["keywords"]
    return float(not any(word in str(visit[0]) for visit in history for word in words))


def check_font_size(sizes: Mapping[str, Any] | None, rule: Rule) -> float:
    """The default font has this size, or one between two others."""
    if not sizes:
        return 0.0
    size = sizes["default_font_size"]
    if rule["type"] == "value":
        return float(size == rule["value"])
    return float(rule["min"] < size < rule["max"])


def is_shortcut_on_desktop(shortcuts: Mapping[str, str] | None, rule: Rule) -> float:
    """A desktop file has this name, or this command.

    Raises:
        ValueError: The type of the rule is unknown.
    """
    if rule["type"] not in ("name", "exec"):
        raise ValueError(f"is_shortcut_on_desktop knows no type {rule['type']!r}")
    key = "Name=" if rule["type"] == "name" else "Exec="
    wanted = rule[rule["type"]].lower()
    lines = (line for text in (shortcuts or {}).values() for line in text.splitlines())
    values = (line.removeprefix(key).lower() for line in lines if line.startswith(key))
    return float(any(value and (wanted in value or value in wanted) for value in values))


def is_added_to_steam_cart(page: Mapping[str, Any] | None, rule: Rule) -> float:
    """The page names every item."""
    return float(bool(page) and all(item in (page or {})["content"] for item in rule["items"]))
