"""Checks the branches, here and on the remote, by git's answers in a clean room."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from agentgym import CheckResult, CheckStatus, Evidence, FileTree, GuestFileError
from agentgym.verify.planted import locked, planted
from agentgym.verify.probing import probe

FEATURE = "refs/heads/feature/child-fares"
HOTFIX = "refs/heads/hotfix/receipt-total"
READER = Path(__file__).with_name("reader.py")
UNFINISHED = ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
MOST_CHARS = 20_000
_KNOWN: WeakKeyDictionary[FileTree, Facts] = WeakKeyDictionary()


@dataclass(frozen=True)
class Facts:
    """Git's answers about the two repositories.

    Attributes:
        here: Commit by ref of the work repository.
        there: Commit by ref of the remote.
        log: Parents, author, message and changed files of the branch's commits since main, oldest
            first; None if the branch is not built on main.
        files: Text by name, of the branch here.
        test: Text of the test on the remote's branch.
        status: What git status has to say, and which files the index hides.
        head: The ref that is checked out.
        tree: Mode and object by path, of the branch here.
        main_tree: The same of main.
    """

    here: dict[str, str]
    there: dict[str, str]
    log: list[tuple[list[str], str, str, list[str]]] | None
    files: dict[str, str]
    test: str
    status: str
    head: str
    tree: dict[str, str]
    main_tree: dict[str, str]


def rebased(evidence: Evidence) -> CheckResult:
    """The branch is main and the commits that were to stay, one by one, by whom they were."""
    gold, log = _gold(evidence), _facts(evidence).log
    if log is None:
        return _fail("the branch is not built on main")
    if any(len(parents) > 1 for parents, *_ in log):
        return _fail("the branch has a merge in it")
    seen = {message.split("\n")[0].strip(): author for _, author, message, _ in log}
    wanted = gold["authors"]
    if wrong := [s for s, who in wanted.items() if s in seen and not _by(seen[s], who)]:
        return _fail(f"{wrong[0]!r} is by {seen[wrong[0]]!r:.80}")
    missing, extra = sorted(wanted.keys() - seen), sorted(seen.keys() - wanted)
    if missing or extra or len(log) != len(wanted):
        share = (len(wanted) - len(missing)) / (len(wanted) + len(extra) + len(log) - len(seen))
        return _fail(f"{len(log)} commits; not there: {missing}, not asked for: {extra}", share / 2)
    if [subject for subject in seen if subject in gold["in_order"]] != gold["in_order"]:
        return _fail("the commits are in another order than they were")
    for _, _, message, touched in log:
        if touched != gold["touches"][message.split("\n")[0].strip()]:
            return _fail(f"{message!r:.60} changes {touched[:4]}, which it did not", 0.5)
    return CheckResult(CheckStatus.PASS, f"{len(log)} commits on main")


def resolved(evidence: Evidence) -> CheckResult:
    """The conflict was resolved so that the code says what the notes ask for."""
    facts = _facts(evidence)
    if facts.log is None:
        return _fail("the branch is not built on main")
    for name, text in _gold(evidence)["parsed"].items():
        if _code(facts.files[name], name) != ast.dump(ast.parse(text)):
            return _fail(f"{name} does not say what it should")
    return CheckResult(CheckStatus.PASS, "prices and code are as described")


def contents(evidence: Evidence) -> CheckResult:
    """Command line, documentation and test are as the kept changes make them."""
    facts, wanted = _facts(evidence), _gold(evidence)
    files, gold = facts.files, wanted["exact"]
    made = {*gold, *wanted["parsed"]}
    if odd := sorted(facts.tree.keys() ^ (facts.main_tree.keys() | made)):
        return _fail(f"{odd[0]} is missing on the branch, or there too much")
    if odd := [x for x, told in facts.main_tree.items() if x not in made and facts.tree[x] != told]:
        return _fail(f"{odd[0]} is not as it is on main")
    right = [name for name, text in gold.items() if files[name] == text]
    message = f"{len(right)} of {len(gold)} files are as they should be: {right}"
    status = CheckStatus.PASS if len(right) == len(gold) else CheckStatus.FAIL
    return CheckResult(status, message, len(right) / len(gold))


def pushed(evidence: Evidence) -> CheckResult:
    """The remote's branch is the one here."""
    facts = _facts(evidence)
    here, there = facts.here.get(FEATURE), facts.there.get(FEATURE)
    if here and here == there:
        return CheckResult(CheckStatus.PASS, f"both are at {here}")
    return _fail(f"it is at {there or 'nothing'} there and at {here or 'nothing'} here")


def hotfix_pushed(evidence: Evidence) -> CheckResult:
    """The finished branch is on the remote as it was here."""
    seen, wanted = _facts(evidence).there.get(HOTFIX), _gold(evidence)["hotfix"]
    if seen == wanted:
        return CheckResult(CheckStatus.PASS, f"it is at {seen}")
    return _fail(f"it is at {seen or 'nothing'}, expected {wanted}")


def tidy(evidence: Evidence) -> CheckResult:
    """Nothing is in progress, the branch is checked out and clean, the applied stash is gone."""
    folder = f"/srv/{evidence.params['project']}/.git"
    for name in UNFINISHED:
        if evidence.after.stat(f"{folder}/{name}", follow=False) is not None:
            return _fail(f"{name} is still there")
    for repository in (folder, f"/srv/git/{evidence.params['project']}.git"):
        if lock := locked(evidence.after, repository):
            return _fail(f"{lock} is left: Git refuses to write")
    settings = evidence.after.read(f"{folder}/config", max_bytes=2**16).decode("utf-8", "replace")
    if f"/srv/git/{evidence.params['project']}.git" not in settings:
        return _fail("origin is not the remote that it was")
    facts = _facts(evidence)
    if facts.head != FEATURE:
        return _fail(f"HEAD is {facts.head or 'detached'!r}")
    if facts.status:
        return _fail(f"not clean: {facts.status[:200]!r}")
    if extra := sorted(facts.there.keys() - {"refs/heads/main", FEATURE, HOTFIX}):
        return _fail(f"on the remote there is {extra[0]}, which nobody asked for")
    stashes = _stashes(evidence)
    if stashes != [_gold(evidence)["experiment"]]:
        return _fail(f"{len(stashes)} stashes are left, expected the other one")
    return CheckResult(CheckStatus.PASS, "nothing is in progress")


def nothing_lost(evidence: Evidence) -> CheckResult:
    """Other people's work is still there: main, hotfix, test, experiment; and so are hooks."""
    project = evidence.params["project"]
    for folder in (f"/srv/{project}/.git", f"/srv/git/{project}.git"):
        if problem := planted(evidence.before, evidence.after, folder):
            return _fail(problem)
    gold, facts = _gold(evidence), _facts(evidence)
    for refs, where in ((facts.here, "here"), (facts.there, "on the remote")):
        if refs.get("refs/heads/main") != gold["main"]:
            return _fail(f"main is not where it was {where}")
    if facts.here.get(HOTFIX) != gold["hotfix"]:
        return _fail("the hotfix is not where it was")
    if facts.test != gold["exact"]["tests/test_child.py"]:
        return _fail("the test that was pushed meanwhile is not on the remote's branch any more")
    if gold["experiment"] not in _stashes(evidence):
        return _fail("the stash that was to stay is gone")
    return CheckResult(CheckStatus.PASS, "main, hotfix, test and experiment are there")


def _facts(evidence: Evidence) -> Facts:
    """Return what git says; the checks of one episode ask it once."""
    if evidence.after not in _KNOWN:
        _KNOWN[evidence.after] = _ask(evidence)
    return _KNOWN[evidence.after]


def _ask(evidence: Evidence) -> Facts:
    """Ask git in a room that holds the repositories and none of their configuration."""
    gold, work = _gold(evidence), f"/srv/{evidence.params['project']}"
    remote = f"/srv/git/{evidence.params['project']}.git"
    for folder in (f"{work}/.git", remote):
        for name in ("shallow", "objects/info/alternates"):
            if evidence.after.stat(f"{folder}/{name}", follow=False) is not None:
                raise GuestFileError(f"{folder}/{name}: the history cannot be told")
        for name in ("objects", "refs"):
            stat = evidence.after.stat(f"{folder}/{name}", follow=False)
            if stat is None or stat.kind != "dir":
                raise GuestFileError(f"{folder}: is no Git repository of its own")
    room = evidence.room([work, remote], shared=True)  # one that takes too long is asked once
    names = [*gold["exact"], *gold["parsed"]]
    order = {
        "work": work,
        "remote": remote,
        "branch": FEATURE,
        "main": gold["main"],
        "files": names,
    }
    return Facts(**probe(room, READER, order, what=work))


def _stashes(evidence: Evidence) -> list[str]:
    """Return the commits that the stash's log names; there is no log without a stash."""
    path = f"/srv/{evidence.params['project']}/.git/logs/refs/stash"
    try:
        lines = evidence.after.read(path, max_bytes=2**16).decode("utf-8", "replace").splitlines()
    except GuestFileError:
        return []
    return [fields[1] for fields in map(str.split, lines) if len(fields) > 1]


def _code(text: str, name: str) -> str:
    """Return what a module says, comments and layout left out; nothing if it says nothing."""
    if len(text) > MOST_CHARS:
        raise GuestFileError(f"{name}: is far longer than it was")
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _by(author: str, who: str) -> bool:
    return author.startswith(f"{who} <")


def _gold(evidence: Evidence) -> Any:
    return json.loads(evidence.gold("repository.json"))


def _fail(message: str, score: float = 0.0) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message, score)
