"""Ask git about the repaired repository, in a clean room and with nothing of its own configuration.

The room holds the repository alone: the backup is removed, the config is replaced and hooks,
replacement refs and filters are off, so that git's answers are about objects and refs only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, ExecResult, Room
from agentgym.verify.planted import locked, planted

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
FEATURE = "refs/heads/feature/batch-import"


@dataclass(frozen=True)
class Git:
    """Git's answers about the repository; `commits` has a commit, or a complaint, by ref."""

    objects: ExecResult
    fsck: ExecResult
    head: str
    commits: Mapping[str, str]
    status: ExecResult
    history: ExecResult


def objects(evidence: Evidence) -> CheckResult:
    """Check that both lines of history are complete, with the original objects, and fsck agrees."""
    gold, git = _gold(evidence), _look(evidence)
    found, fsck = git.objects, git.fsck
    names = sorted(line.split()[0] for line in _text(found.stdout).splitlines() if line)
    if found.exit_code != 0 or names != gold["objects"]:
        seen = len(set(names) & set(gold["objects"]))
        last = _text(found.stderr).strip().splitlines()[-1:]
        return _fail(f"{seen} of {len(gold['objects'])} objects can be reached: {last}")
    complaints = [line for line in _text(fsck.stdout + fsck.stderr).splitlines() if line]
    if fsck.exit_code != 0 or complaints:
        return _fail(f"git fsck exits with {fsck.exit_code}: {complaints[:3]}")
    return CheckResult(CheckStatus.PASS, f"all {len(names)} objects, fsck has no complaint")


def main(evidence: Evidence) -> CheckResult:
    """Check that HEAD is main, main is at its last commit, and the tags are where they were."""
    gold, git = _gold(evidence), _look(evidence)
    wanted = {"refs/heads/main": gold["main"]}
    wanted |= {f"refs/tags/{tag}": commit for tag, commit in gold["tags"].items()}
    if git.head != "refs/heads/main":
        return _fail(f"HEAD is {git.head or 'unreadable'!r}, expected refs/heads/main")
    return _refs(git, wanted)


def feature(evidence: Evidence) -> CheckResult:
    """Check that the feature branch is at the amended commit."""
    return _refs(_look(evidence), {FEATURE: _gold(evidence)["feature"]})


def status(evidence: Evidence) -> CheckResult:
    """Check that the index can be read and exactly the uncommitted files differ from main."""
    shown = _look(evidence).status
    if shown.exit_code != 0:
        return _fail(
            f"git status exits with {shown.exit_code}: {_text(shown.stderr).strip()[:300]}"
        )
    if lock := locked(evidence.after, f"{REPOSITORY}/.git"):
        return _fail(f"{lock} is left: Git refuses to add, commit or check out anything")
    paths = {entry[3:] for entry in _text(shown.stdout).split("\0") if entry}
    if paths != UNCOMMITTED:
        return _fail(f"git status shows {sorted(paths)[:6]}, expected {sorted(UNCOMMITTED)}")
    return CheckResult(CheckStatus.PASS, "git status shows the two files")


def no_commits(evidence: Evidence) -> CheckResult:
    """Check that no ref leads to a commit that was not there before."""
    gold, told = _gold(evidence), _look(evidence).history
    made = set(_text(told.stdout).split()) - set(gold["commits"])
    if told.exit_code != 0 or made:
        return _fail(f"{len(made)} commits are new: {sorted(made)[:3]}")
    return CheckResult(CheckStatus.PASS, "nothing was committed")


def work_kept(evidence: Evidence) -> CheckResult:
    """Check that the working tree has its contents, and the repository its settings and hooks."""
    if problem := planted(evidence.before, evidence.after, f"{REPOSITORY}/.git"):
        return _fail(problem)
    for path, stat in evidence.before.walk(REPOSITORY):
        if stat.kind != "file" or path.startswith(f"{REPOSITORY}/.git/") or stat.size == 0:
            continue
        if evidence.after.read(path, max_bytes=stat.size) != evidence.before.read(path):
            return _fail(f"{path} has other contents than before")
    return CheckResult(CheckStatus.PASS, "the working tree has its contents")


def _refs(git: Git, wanted: dict[str, str]) -> CheckResult:
    for ref, commit in wanted.items():
        seen = git.commits.get(ref, "")
        if seen != commit:
            return _fail(f"{ref} is at {seen or 'nothing'}, expected {commit}")
    return CheckResult(CheckStatus.PASS, ", ".join(wanted))


def _look(evidence: Evidence) -> Git:
    """Ask git everything that any check wants to know, so that one room does for all of them."""
    gold = _gold(evidence)
    room = evidence.room([REPOSITORY], shared=True)
    strange = [f"{REPOSITORY}/.git/{name}" for name in ("info", "hooks", "commondir")]
    room.run(["/usr/bin/rm", "-rf", "/srv/backup", *strange])
    room.write(f"{REPOSITORY}/.git/config", CONFIG)
    refs = ["refs/heads/main", FEATURE, *(f"refs/tags/{tag}" for tag in gold["tags"])]
    asked = "".join(f"{ref}^{{commit}}\n" for ref in refs).encode()
    told = _text(_git(room, "cat-file", "--batch-check=%(objectname)", stdin=asked).stdout)
    answers = told.splitlines() if told.count("\n") == len(refs) else []
    return Git(
        objects=_git(room, "rev-list", "--objects", gold["main"], gold["feature"]),
        fsck=_git(room, "fsck", "--full", "--no-dangling"),
        head=_text(_git(room, "symbolic-ref", "HEAD").stdout).strip(),
        commits=dict(zip(refs, answers, strict=False)),
        history=_git(room, "rev-list", "--all"),
        status=_git(room, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all"),
    )


def _git(room: Room, *arguments: str, stdin: bytes = b"") -> ExecResult:
    argv = ["/usr/bin/git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", *arguments]
    return room.run(argv, cwd=REPOSITORY, stdin=stdin, env=ENVIRONMENT)


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("repository.json"))


def _fail(message: str) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message)
