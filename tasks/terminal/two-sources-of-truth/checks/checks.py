"""Both sides of the configuration against the values that the generator knows to be right."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, FileTree, GuestFileError
from agentgym.verify.documents import parse
from agentgym.verify.in_place import read_in_place

HOME = "/srv/fleet"
MOST_BYTES = 2**18
MOST_FILES = 50
Values = Mapping[tuple[str, str], object]


def inventory(evidence: Evidence) -> CheckResult:
    """The inventory has the right value wherever the two disagreed."""
    disputed = [row for row in _gold(evidence)["rows"] if _odd(row[2], row[3])]
    true = {(host, key): right for host, key, _, _, right in disputed}
    return _put_right(_inventory(evidence.before), _inventory(evidence.after), true)


def deployed(evidence: Evidence) -> CheckResult:
    """The hosts have the right value wherever the two disagreed."""
    disputed = [row for row in _gold(evidence)["rows"] if _odd(row[2], row[3])]
    true = {(host, key): _spell(right) for host, key, _, _, right in disputed}
    return _put_right(_deployed(evidence.before), _deployed(evidence.after), true)


def texts(evidence: Evidence) -> CheckResult:
    """The files are as they were but for the values: comments, order and all."""
    for name, text in _gold(evidence)["texts"].items():
        data = evidence.after.read(f"{HOME}/{name}", max_bytes=MOST_BYTES)
        seen = [line.rstrip(" \t") for line in data.decode("utf-8", "replace").strip().split("\n")]
        true = [line.rstrip(" \t") for line in text.strip().split("\n")]
        if seen != true:
            pairs = enumerate(zip(seen, true, strict=False), 1)
            at = next((n for n, (a, b) in pairs if a != b), min(len(seen), len(true)) + 1)
            message = f"{name}:{at}: {seen[at - 1 : at]!r:.80}, expected {true[at - 1 : at]!r:.80}"
            return CheckResult(CheckStatus.FAIL, message)
    return CheckResult(CheckStatus.PASS, "comments and order are kept")


def rest_kept(evidence: Evidence) -> CheckResult:
    """Values that agreed, or are on one side only, are unchanged; no host and no key was added."""
    before = {**_inventory(evidence.before), **_side(_deployed(evidence.before))}
    after = {**_inventory(evidence.after), **_side(_deployed(evidence.after))}
    rows = _gold(evidence)["rows"]
    free = {(host, key) for host, key, old, other, _ in rows if _odd(old, other)}
    free |= {(f"deployed {host}", key) for host, key in free}
    touched = sorted(
        at
        for at in before.keys() | after.keys()
        if at not in free and _odd(before.get(at), after.get(at))
    )
    touched += sorted(at for at in free if at not in after)
    if touched:
        message = f"{len(touched)} values changed or lost that were not in dispute"
        return CheckResult(CheckStatus.FAIL, f"{message}, for example {' '.join(touched[0])}")
    return CheckResult(CheckStatus.PASS, f"{len(before) - len(free)} other values are as they were")


def _put_right(before: Values, seen: Values, true: Values) -> CheckResult:
    """Credit how many fewer values are wrong than there were."""
    start = sum(_odd(before.get(at), right) for at, right in true.items())
    left = sorted(at for at, right in true.items() if _odd(seen.get(at), right))
    if not left:
        return CheckResult(CheckStatus.PASS, f"all {len(true)} values are right")
    host, key = left[0]
    message = f"{len(left)} of {len(true)} wrong, e.g. {key} of {host}: {seen.get(left[0])!r:.40}"
    return CheckResult(CheckStatus.FAIL, message, score=max(0.0, 1 - len(left) / start))


def _odd(one: object, other: object) -> bool:
    """Whether two values differ; true is not 1."""
    return type(one) is not type(other) or one != other


def _inventory(tree: FileTree) -> dict[tuple[str, str], object]:
    path = f"{HOME}/inventory.toml"
    document = parse(read_in_place(tree, path, max_bytes=MOST_BYTES), "toml", path)
    hosts = document.get("host") if isinstance(document, dict) else None
    found = {}
    for host, table in hosts.items() if isinstance(hosts, dict) else ():
        for key, value in table.items() if isinstance(table, dict) else ():
            found[host, key] = value
    return found


def _deployed(tree: FileTree) -> dict[tuple[str, str], object]:
    found: dict[tuple[str, str], object] = {}
    names = tree.list(f"{HOME}/deployed")
    if len(names) > MOST_FILES:
        raise GuestFileError(f"{HOME}/deployed: {len(names)} files")
    for name in names:
        if not name.endswith(".conf"):
            continue
        data = read_in_place(tree, f"{HOME}/deployed/{name}", max_bytes=MOST_BYTES)
        for line in data.decode("utf-8", "replace").split("\n"):
            key, equals, value = line.partition("#")[0].partition("=")
            if equals:
                at = (name.removesuffix(".conf"), key.strip())
                found[at] = f"{found[at]} / {value.strip()}" if at in found else value.strip()
    return found


def _side(values: Values) -> dict[tuple[str, str], object]:
    return {(f"deployed {host}", key): value for (host, key), value in values.items()}


def _spell(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("truth.json"))
