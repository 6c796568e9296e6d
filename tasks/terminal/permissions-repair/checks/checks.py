"""Compare permissions with the policy: on the share, and on a replica that the script repairs.

A file tree shows modes but no ACLs, so what a folder hands down is observed: in the clean room the
agent's script repairs a replica it has never seen, then files are created there under two umasks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError, Room

SCRIPT = "/usr/local/sbin/fix-share"

# With an ACL mask, the group bits of a mode are the mask; this gives what the group really may.
RIGHTS = """
import json, os, stat, struct, sys

def rights(path):
    mode = os.lstat(path).st_mode
    if not stat.S_ISLNK(mode) and "system.posix_acl_access" in os.listxattr(path):
        acl = os.getxattr(path, "system.posix_acl_access")[4:]
        entries = {tag: may for tag, may, _ in struct.iter_unpack("<HHI", acl)}
        mode = mode & ~0o070 | (entries[0x04] & entries.get(0x10, 7)) << 3
    return stat.S_IMODE(mode)
"""

# Prints {path: [kind, mode]} of everything below a folder, itself included.
LIST = f"""{RIGHTS}
found = {{}}
for folder, dirs, files in os.walk(sys.argv[1]):
    for path in [folder] + [os.path.join(folder, name) for name in files]:
        mode = os.lstat(path).st_mode
        kind = "dir" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "link"
        found[path] = [kind, rights(path)]
print(json.dumps(found))
"""

# Creates a file and a folder in each of the folders given as JSON on stdin, prints their modes.
CREATE = f"""{RIGHTS}
made = {{}}
for folder in json.load(sys.stdin):
    for umask in (0o077, 0o000):
        os.umask(umask)
        file, sub = f"{{folder}}/.probe-{{umask}}", f"{{folder}}/.probe-{{umask}}.d"
        os.close(os.open(file, os.O_CREAT | os.O_WRONLY, 0o666))
        os.mkdir(sub, 0o777)
        made[f"{{folder}} umask {{umask:03o}}"] = [rights(file), rights(sub)]
        os.unlink(file)
        os.rmdir(sub)
print(json.dumps(made))
"""


def modes(evidence: Evidence, area: str) -> CheckResult:
    """Check the modes of one area of the share; credit is the part of the paths that is right."""
    seen = {}
    for path, want in _gold(evidence, "share.json").items():
        if want["area"] == area:
            stat = evidence.after.stat(path, follow=False)
            right = stat is not None and (stat.kind, stat.mode) == (want["kind"], want["mode"])
            found = "nothing" if stat is None else f"{stat.kind} {stat.mode:04o}"
            seen[path] = "" if right else f"{found} instead of {want['kind']} {want['mode']:04o}"
    return _share_of(seen)


def replica_modes(evidence: Evidence) -> CheckResult:
    """Check every mode of the replica after the script ran on it twice."""
    room, problem = _repaired(evidence, times=2)
    listed = _ask(room, LIST, _root(evidence))
    seen = {}
    for path, want in _gold(evidence, "replica.json").items():
        kind, mode = listed.get(path, ("nothing", 0))
        right = (kind, mode) == (want["kind"], want["mode"])
        seen[path] = "" if right else f"{kind} {mode:04o} instead of {want['mode']:04o}"
    return _share_of(seen, problem)


def replica_inherits(evidence: Evidence) -> CheckResult:
    """Check what new files and folders get in the replica's team and public folders."""
    room, problem = _repaired(evidence, times=1)
    folders = {
        path: want["mode"]
        for path, want in _gold(evidence, "replica.json").items()
        if want["kind"] == "dir" and want["area"] in ("teams", "public")
    }
    seen = {}
    for where, (file, sub) in _ask(room, CREATE, stdin=json.dumps([*folders])).items():
        mode = folders[where.rpartition(" umask ")[0]]
        right = (file, sub) == (mode & 0o666, mode)
        seen[where] = "" if right else f"a new file gets {file:04o}, a new folder {sub:04o}"
    return _share_of(seen, problem)


def contents_intact(evidence: Evidence) -> CheckResult:
    """Check that the share holds the same files, folders and links with the same contents."""
    root = _root(evidence)
    before, after = (
        {path: (stat.kind, stat.target) for path, stat in tree.walk(root)}
        for tree in (evidence.before, evidence.after)
    )
    if before != after:
        different = sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))
        return CheckResult(CheckStatus.FAIL, f"added, removed or of another kind: {different[0]!r}")
    for path, (kind, _) in before.items():
        if kind == "file" and evidence.before.read(path) != evidence.after.read(path):
            return CheckResult(CheckStatus.FAIL, f"{path!r} has other contents")
    return CheckResult(CheckStatus.PASS, f"{len(before)} paths, contents unchanged")


def _repaired(evidence: Evidence, times: int) -> tuple[Room, str]:
    """Run the script on a fresh replica in a clean room; return the room and its complaint."""
    room = evidence.room([SCRIPT])
    room.write("/tmp/replica.tar", evidence.gold("replica.tar"))
    room.run(["/usr/bin/rm", "-rf", _root(evidence)])
    room.run(["/usr/bin/tar", "-xpf", "/tmp/replica.tar", "-C", "/"])
    problem = ""
    for _ in range(times):
        done = room.run([SCRIPT], timeout_s=10)
        if done.exit_code != 0:
            lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
            problem = f"; {SCRIPT} exits with {done.exit_code}: {' '.join(lines[-1:])[:200]}"
    return room, problem


def _ask(room: Room, program: str, *arguments: str, stdin: str = "") -> Any:
    """Return what a program of ours prints as JSON; none at all is the fault of the script."""
    argv = ["/usr/bin/python3", "-IS", "-c", program, *arguments]
    done = room.run(argv, stdin=stdin.encode())
    try:
        return json.loads(done.stdout)
    except ValueError:
        last = done.stderr.decode(errors="replace").strip()[-200:]
        raise GuestFileError(f"the replica cannot be examined after {SCRIPT}: {last}") from None


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
