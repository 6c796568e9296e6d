"""Ask git about the repaired repository, in a clean room and with nothing of its own configuration.

The room holds the repository alone: the backup is removed, the config is replaced and hooks,
replacement refs and filters are off, so that git's answers are about objects and refs only.
"""

from __future__ import annotations

import json
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, ExecResult, Room

REPOSITORY = "/srv/inventory"
CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"
ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C.UTF-8",
}
UNCOMMITTED = {"inventory/report.py", "tests/test_rounding.py"}


def objects(evidence: Evidence) -> CheckResult:
    """Check that both lines of history are complete, with the original objects, and fsck agrees."""
    gold, room = _gold(evidence), _room(evidence)
    found = _git(room, "rev-list", "--objects", gold["main"], gold["feature"])
    names = sorted(line.split()[0] for line in _text(found.stdout).splitlines() if line)
    if found.exit_code != 0 or names != gold["objects"]:
        seen = len(set(names) & set(gold["objects"]))
        last = _text(found.stderr).strip().splitlines()[-1:]
        return _fail(f"{seen} of {len(gold['objects'])} objects can be reached: {last}")
    fsck = _git(room, "fsck", "--full", "--no-dangling")
    complaints = [line for line in _text(fsck.stdout + fsck.stderr).splitlines() if line]
    if fsck.exit_code != 0 or complaints:
        return _fail(f"git fsck exits with {fsck.exit_code}: {complaints[:3]}")
    return CheckResult(CheckStatus.PASS, f"all {len(names)} objects, fsck has no complaint")


def main(evidence: Evidence) -> CheckResult:
    """Check that HEAD is main, main is at its last commit, and the tags are where they were."""
    gold, room = _gold(evidence), _room(evidence)
    head = _text(_git(room, "symbolic-ref", "HEAD").stdout).strip()
    wanted = {"refs/heads/main": gold["main"]}
    wanted |= {f"refs/tags/{tag}": commit for tag, commit in gold["tags"].items()}
    if head != "refs/heads/main":
        return _fail(f"HEAD is {head or 'unreadable'!r}, expected refs/heads/main")
    return _refs(room, wanted)


def feature(evidence: Evidence) -> CheckResult:
    """Check that the feature branch is at the amended commit."""
    return _refs(_room(evidence), {"refs/heads/feature/batch-import": _gold(evidence)["feature"]})


def status(evidence: Evidence) -> CheckResult:
    """Check that the index can be read and exactly the uncommitted files differ from main."""
    shown = _git(
        _room(evidence), "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"
    )
    if shown.exit_code != 0:
        return _fail(
            f"git status exits with {shown.exit_code}: {_text(shown.stderr).strip()[:300]}"
        )
    paths = {entry[3:] for entry in _text(shown.stdout).split("\0") if entry}
    if paths != UNCOMMITTED:
        return _fail(f"git status shows {sorted(paths)[:6]}, expected {sorted(UNCOMMITTED)}")
    return CheckResult(CheckStatus.PASS, "git status shows the two files")


def work_kept(evidence: Evidence) -> CheckResult:
    """Check that the files of the working tree have their contents, the emptied one aside."""
    for path, stat in evidence.before.walk(REPOSITORY):
        if stat.kind != "file" or path.startswith(f"{REPOSITORY}/.git/") or stat.size == 0:
            continue
        if evidence.after.read(path) != evidence.before.read(path):
            return _fail(f"{path} has other contents than before")
    return CheckResult(CheckStatus.PASS, "the working tree has its contents")


def _refs(room: Room, wanted: dict[str, str]) -> CheckResult:
    for ref, commit in wanted.items():
        seen = _text(
            _git(room, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").stdout
        ).strip()
        if seen != commit:
            return _fail(f"{ref} is at {seen or 'nothing'}, expected {commit}")
    return CheckResult(CheckStatus.PASS, ", ".join(wanted))


def _room(evidence: Evidence) -> Room:
    room = evidence.room([REPOSITORY])
    strange = [f"{REPOSITORY}/.git/{name}" for name in ("info", "hooks", "commondir")]
    room.run(["/usr/bin/rm", "-rf", "/srv/backup", *strange])
    room.write(f"{REPOSITORY}/.git/config", CONFIG)
    return room


def _git(room: Room, *arguments: str) -> ExecResult:
    argv = ["/usr/bin/git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", *arguments]
    return room.run(argv, cwd=REPOSITORY, env=ENVIRONMENT)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("repository.json"))


def _fail(message: str) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message)
