"""Compare permissions with the policy: on the share, and on a replica that the script repairs.

In a clean room the agent's script repairs a replica it has never seen; `probe.py` says what rights
the files have after that and what new files get. What they should be stays here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, FileTree, GuestFileError
from agentgym.records import FileStat
from agentgym.verify.probing import probe

SCRIPT = "/usr/local/sbin/fix-share"
PROBE = Path(__file__).with_name("probe.py")

# Far more than an honest share holds.
MOST_ENTRIES, MOST_PATH = 5_000, 1_000
HANDED_DOWN = ("teams", "public")


def modes(evidence: Evidence, area: str) -> CheckResult:
    """Check the modes of one area of the share; credit is the part of the paths that is right."""
    seen = {}
    for path, want in _gold(evidence, "share.json").items():
        if want["area"] == area:
            stat = evidence.after.stat(path, follow=False)
            right = stat is not None and (stat.kind, stat.mode) == (want["kind"], want["mode"])
            found = "nothing" if stat is None else f"{stat.kind} {stat.mode:04o}"
            seen[path] = "" if right else f"{found} instead of {want['kind']} {want['mode']:04o}"
            if right and stat is not None:
                seen[path] = _acl_complaint(stat, want)
    return _share_of(seen)


def _acl_complaint(stat: FileStat, want: Mapping[str, Any]) -> str:
    """Say what is wrong with the access control lists of a path whose mode is right."""
    for acl in (stat.acl, stat.default_acl):
        if any(not name.endswith(":") for name in _entries(acl)):
            return "an access control list gives rights to a user or a group of its own"
    if stat.acl and _mode_of(stat.acl) != want["mode"] & 0o777:
        return f"an access control list leaves {_mode_of(stat.acl):03o}"
    hands_down = want["kind"] == "dir" and want["area"] in HANDED_DOWN
    expected = want["mode"] & 0o777 if hands_down else None
    found = _mode_of(stat.default_acl) if stat.default_acl else None
    if found == expected:
        return ""
    said = ["nothing" if mode is None else f"{mode:03o}" for mode in (found, expected)]
    return f"hands {said[0]} down instead of {said[1]}"


def _entries(acl: str) -> dict[str, str]:
    """Return the rights in an access control list by entry, such as ``g:``, or ``g:1000``."""
    return dict(one.rsplit(":", 1) for one in acl.split(",")) if acl else {}


def _mode_of(acl: str) -> int:
    """Return the rights that an access control list gives to owner, group and others."""
    bits = {
        name: sum(bit for sign, bit in zip("rwx", (4, 2, 1), strict=True) if sign in may)
        for name, may in _entries(acl).items()
    }
    group = bits["g:"] & bits.get("m:", 7)
    return bits["u:"] << 6 | group << 3 | bits["o:"]


def replica_modes(evidence: Evidence) -> CheckResult:
    """Check every mode of the replica after the script ran on it twice."""
    replica = _gold(evidence, "replica.json")
    seen, problem = _repair(evidence, times=2, listed=[*replica])
    complaints = {}
    for path, want in replica.items():
        kind, mode = seen["listed"][path]
        right = (kind, mode) == (want["kind"], want["mode"])
        complaints[path] = "" if right else f"{kind} {mode:04o} instead of {want['mode']:04o}"
        if path in seen["handing"] and want["area"] not in HANDED_DOWN:
            complaints[path] = "hands rights down"
        if path in seen["strangers"]:
            complaints[path] = "gives rights to a user or a group of its own"
    complaints |= dict.fromkeys(seen["touched"], "is outside of the share, and was touched")
    return _share_of(complaints, problem)


def replica_inherits(evidence: Evidence) -> CheckResult:
    """Check what new files and folders get in the replica's team and public folders."""
    folders = {
        path: want["mode"]
        for path, want in _gold(evidence, "replica.json").items()
        if want["kind"] == "dir" and want["area"] in HANDED_DOWN
    }
    create = [(path, umask) for path in folders for umask in (0o077, 0o000)]
    seen, problem = _repair(evidence, times=1, create=create)
    complaints = {}
    for path, umask, (file_kind, file), (sub_kind, sub) in seen["made"]:
        mode = folders[path]
        right = (file_kind, file, sub_kind, sub) == ("file", mode & 0o666, "dir", mode)
        what = f"a new {file_kind} gets {file:04o}, a new {sub_kind} {sub:04o}"
        complaints[f"{path} umask {umask:03o}"] = "" if right else what
    return _share_of(complaints, problem)


def contents_intact(evidence: Evidence) -> CheckResult:
    """Check that share and replica hold the same files, folders and links, times included."""
    before, after = (_below(tree, _root(evidence)) for tree in (evidence.before, evidence.after))
    if before != after:
        different = sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))
        return CheckResult(CheckStatus.FAIL, f"added, removed or altered: {different[0]!r}")
    for path, (kind, _, size) in before.items():
        if kind != "file":
            continue
        if evidence.before.read(path) != evidence.after.read(path, max_bytes=size):
            return CheckResult(CheckStatus.FAIL, f"{path!r} has other contents")
        had, has = (tree.stat(path, follow=False) for tree in (evidence.before, evidence.after))
        if had is None or has is None or int(had.mtime_s) != int(has.mtime_s):
            return CheckResult(CheckStatus.FAIL, f"{path!r} has another time of modification")
    if altered := _repair(evidence, times=1)[0]["altered"]:
        return CheckResult(
            CheckStatus.FAIL, f"the script alters {altered[0]!r:.200} of the replica"
        )
    return CheckResult(CheckStatus.PASS, f"{len(before)} paths, contents unchanged")


def _below(tree: FileTree, root: str) -> dict[str, tuple[str, str, int]]:
    """Return (kind, link target, size of a file) of everything in a share, itself included.

    Raises:
        GuestFileError: There is far more than the share ever held.
    """
    found: dict[str, tuple[str, str, int]] = {}
    waiting = [root]
    while waiting:
        path = waiting.pop()
        stat = tree.stat(path, follow=False)
        if stat is None:
            continue
        if len(found) == MOST_ENTRIES or len(path) > MOST_PATH:
            raise GuestFileError(f"{root}: more or deeper than a share that nothing was added to")
        found[path] = (stat.kind, stat.target, stat.size if stat.kind == "file" else 0)
        if stat.kind == "dir":
            waiting += [f"{path}/{name}" for name in tree.list(path)]
    return found


def _repair(
    evidence: Evidence,
    *,
    times: int,
    listed: Sequence[str] = (),
    create: Sequence[tuple[str, int]] = (),
) -> tuple[Any, str]:
    """Run the script on a fresh replica; return what the probe saw, and what went wrong."""
    room = evidence.room([SCRIPT])
    room.write("/tmp/replica.tar", evidence.gold("replica.tar"))
    room.run(["/usr/bin/rm", "-rf", _root(evidence)])
    room.run(["/usr/bin/tar", "-xpf", "/tmp/replica.tar", "-C", "/"])
    order = {"script": SCRIPT, "times": times, "list": [*listed], "create": [*map(list, create)]}
    order["share"] = _root(evidence)
    seen = probe(room, PROBE, order, what=f"the replica after {SCRIPT}")
    return seen, f"; {SCRIPT}: {seen['problem']}" if seen["problem"] else ""


def _share_of(seen: Mapping[str, str], problem: str = "") -> CheckResult:
    """Credit the part of the paths without complaint; all of them pass."""
    wrong = {path: complaint for path, complaint in seen.items() if complaint}
    if not wrong:
        return CheckResult(CheckStatus.PASS, f"all {len(seen)} are right{problem}")
    path, complaint = next(iter(wrong.items()))
    message = f"{len(wrong)} of {len(seen)} are wrong, for example {path!r}: {complaint}{problem}"
    return CheckResult(CheckStatus.FAIL, message, score=1 - len(wrong) / len(seen))


def _gold(evidence: Evidence, name: str) -> Any:
    return json.loads(evidence.gold(name))


def _root(evidence: Evidence) -> str:
    return f"/srv/{evidence.params['share']}"
