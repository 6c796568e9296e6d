"""Moves that policies of all sites share: signing in, reading tables, going through pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agentgym.records import Action
from agentgym.task.reference_policy import View

Moves = Iterator[Action]


def told(view: View) -> str:
    """Return the instruction on one line."""
    return " ".join(view.instruction.split())


def sign_in(view: View, host: str, email: str, password: str) -> Moves:
    """Sign in at a site."""
    yield view.goto(f"http://{host}/login")
    yield view.enter("E-mail address", email)
    yield view.enter("Password", password)
    yield view.click("button", "Sign in")


def with_secret(view: View, name: str) -> tuple[str, str]:
    """Return the address that begins with a name, and its password, from the instruction."""
    found = re.search(
        rf"({re.escape(name)}\S*@\S+?),? with the password (\S+?)[.,)]*\s", told(view) + " "
    )
    assert found is not None, f"the instruction has no password of {name}"
    return found[1], found[2]


def open_whole(view: View, url: str) -> Moves:
    """Open a page; a busy machine may cut the tree, so try again a few times."""
    for _ in range(5):
        yield view.goto(url)
        if not view.observation.data.get("truncated"):
            return


def number_in(url: str) -> int:
    """Return the last number of a path."""
    return int(re.findall(r"/(\d+)", url)[-1])


def links(view: View, pattern: str) -> list[dict[str, Any]]:
    """Return the links whose address contains a pattern, each address once."""
    found = {
        node["url"]: node
        for node in reversed(view.find_all("link"))
        if re.search(pattern, str(node.get("url", "")))
    }
    return list(reversed(found.values()))


def cells(row: list[dict[str, Any]]) -> list[str]:
    """Return the texts of the cells of a row, those of nested nodes joined."""
    found: list[str] = []
    depth = 0
    for node in row:
        if node["role"] in ("cell", "columnheader", "rowheader", "gridcell"):
            found.append(str(node.get("name", "")).strip())
            depth = node["depth"]
        elif found and node["depth"] > depth and node.get("name"):
            name = str(node["name"]).strip()
            if name not in found[-1]:
                found[-1] = f"{found[-1]} {name}".strip()
    return found


def fact_of(view: View, name: str) -> str:
    """Return the description that follows a term of a list of facts."""
    texts = view.texts
    return texts[texts.index(name) + 1].strip()


def within(view: View, node: dict[str, Any]) -> list[str]:
    """Return the names and texts of what a node contains."""
    nodes = view.nodes
    place = nodes.index(node)
    found: list[str] = []
    for other in nodes[place + 1 :]:
        if other["depth"] <= node["depth"]:
            break
        found.append(str(other.get("name", "")))
    return found
