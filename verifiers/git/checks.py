"""Check pack `git`: contents of Git repositories, read by Git itself in a clean room.

Channel: state (the repository as an artifact of a clean room). The Git of the task's own image
reads it, so packs, reflogs and formats mean the same as for the agent. An object that unpacks
without end meets the room's limits and does not fill the grader's memory. No code of the agent's is
executed: its configuration is replaced, and hooks, filters, grafts and replacement refs are
removed. A repository that is shallow, or borrows objects from another, is a fail, because its
history is incomplete.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify import path_matches
from agentgym.verify.repository import Repository, tree_names
from agentgym.verify.values import brief, result

_HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_FILE_BYTES = 32 * 2**20
_HOW = {"heads": "branches", "tags": "tags", "remotes": "remote branches"}


def ref_at(evidence: Evidence, repository: str, ref: str, commit: str) -> CheckResult:
    """A ref points to a commit; for an annotated tag, the tagged commit counts.

    Channel: state.

    Example:
        use = "git.ref_at"
        with = { repository = "/srv/app", ref = "refs/tags/v1.0", commit = "{{commit}}" }

    Args:
        evidence: Evidence of the episode.
        repository: The work tree, or a bare repository.
        ref: Full name of the ref, or "HEAD".
        commit: The commit's full id in hexadecimal.
    """
    _check_ref(ref)
    _check_hash("commit", commit)
    seen = Repository(evidence, repository).commit(ref)
    return result(seen == commit, f"{ref} is at {seen or 'no commit'}, expected {commit}")


def on_branch(evidence: Evidence, repository: str, branch: str) -> CheckResult:
    """A branch is checked out and has a commit.

    Channel: state.

    Example:
        use = "git.on_branch"
        with = { repository = "/srv/app", branch = "main" }
    """
    _check_ref(f"refs/heads/{branch}")
    git = Repository(evidence, repository)
    seen = git.run("symbolic-ref", "--quiet", "HEAD").removeprefix("refs/heads/")
    there = bool(git.commit("HEAD"))
    message = f"HEAD is {'on ' + brief(seen) if seen else 'detached'}, expected {branch!r}"
    return result(seen == branch and there, message if there else f"{message}; it has no commit")


def refs(
    evidence: Evidence, repository: str, names: Sequence[str], kind: str = "heads"
) -> CheckResult:
    """The branches, tags or remote branches are these and no others.

    Channel: state.

    Example:
        use = "git.refs"
        with = { repository = "/srv/app", names = ["main", "release/1.x"] }

    Args:
        evidence: Evidence of the episode.
        repository: The work tree, or a bare repository.
        names: The short names, in any order.
        kind: "heads", "tags" or "remotes".
    """
    if kind not in _HOW or isinstance(names, str):
        raise VerifierError(f"refs: expected a list of names, a kind of {', '.join(_HOW)}")
    listed = Repository(evidence, repository).run(
        "for-each-ref", "--format=%(refname:lstrip=2)", f"refs/{kind}"
    )
    seen = listed.splitlines()
    odd = sorted(set(seen) ^ set(names))
    fault = (
        f"; {brief(odd[0])} {'should not be' if odd[0] in seen else 'is not'} there" if odd else ""
    )
    return result(not odd, f"{len(seen)} {_HOW[kind]}{fault}")


def merged(evidence: Evidence, repository: str, ref: str, into: str) -> CheckResult:
    """A commit is part of the history of a ref.

    Channel: state.

    Example:
        use = "git.merged"
        with = { repository = "/srv/app", ref = "{{commit}}", into = "refs/heads/main" }

    Args:
        evidence: Evidence of the episode.
        repository: The work tree, or a bare repository.
        ref: A commit's full id, or a ref; a ref that the agent may have moved proves little.
        into: The ref whose history has to contain it.
    """
    if not _HASH.fullmatch(ref):
        _check_ref(ref)
    _check_ref(into)
    git = Repository(evidence, repository)
    inner, outer = git.commit(ref), git.commit(into)
    if not inner or not outer:
        return result(False, f"{ref if not inner else into} is not a commit")
    missing = git.run("rev-list", "--count", inner, f"^{outer}")
    return result(missing == "0", f"{missing} commits of {ref} are not in {into}")


def linear(evidence: Evidence, repository: str, ref: str, since: str = "") -> CheckResult:
    """The history of a ref has no merge commit.

    Channel: state.

    Example:
        use = "git.linear"
        with = { repository = "/srv/app", ref = "refs/heads/main", since = "{{commit}}" }

    Args:
        evidence: Evidence of the episode.
        repository: The work tree, or a bare repository.
        ref: Full name of the ref.
        since: A commit that has to be part of the history; its own history is not looked at.
    """
    _check_ref(ref)
    if since:
        _check_hash("since", since)
    log = Repository(evidence, repository).log(ref, since)
    merges = [commit.name for commit in log if len(commit.parents) > 1]
    return result(not merges, f"{ref}: {len(merges)} merges in {len(log)} commits")


def commits(
    evidence: Evidence,
    repository: str,
    ref: str,
    messages: Sequence[str],
    since: str = "",
    author: str = "",
) -> CheckResult:
    """The commits of a ref, newest first, match these patterns one by one.

    Channel: state. A pattern is searched in the whole message.

    Example:
        use = "git.commits"
        with = { repository = "/srv/app", ref = "HEAD", messages = ["^Fix", "^Begin"] }

    Args:
        evidence: Evidence of the episode.
        repository: The work tree, or a bare repository.
        ref: Full name of the ref.
        messages: A regular expression for each commit; ^ and $ match at line ends.
        since: A commit that has to be part of the history; it and its own history are not counted.
        author: Regular expression over "Name <address>" of the author of every commit.
    """
    _check_ref(ref)
    if since:
        _check_hash("since", since)
    if isinstance(messages, str):
        raise VerifierError(f"messages: expected a list of patterns, got {messages!r}")
    patterns, by = [_pattern("messages", one) for one in messages], _pattern("author", author)
    log = Repository(evidence, repository).log(ref, since)
    if len(log) != len(patterns):
        return result(False, f"{ref}: {len(log)} commits, expected {len(patterns)}")
    for commit, pattern in zip(log, patterns, strict=True):
        if not pattern.search(commit.message):
            said = f"says {brief(commit.message)}, expected {pattern.pattern!r}"
            return result(False, f"commit {commit.name[:10]} {said}")
        if not by.search(commit.author):
            said = f"is by {brief(commit.author)}, expected {author!r}"
            return result(False, f"commit {commit.name[:10]} {said}")
    return result(True, f"{ref}: {len(log)} commits as expected")


def tree(evidence: Evidence, repository: str, ref: str, tree: str) -> CheckResult:
    """The files of a ref are exactly those of a tree that the author knows.

    Channel: state. ``git rev-parse HEAD^{tree}`` in a setup prints a tree's id, which depends on
    names, modes and contents only.

    Example:
        use = "git.tree"
        with = { repository = "/srv/app", ref = "HEAD", tree = "{{tree}}" }
    """
    _check_ref(ref)
    _check_hash("tree", tree)
    git = Repository(evidence, repository)
    seen = git.run("rev-parse", "--verify", "--quiet", f"{ref}^{{tree}}")
    return result(seen == tree, f"the tree of {ref} is {seen or 'nothing'}, expected {tree}")


def file(
    evidence: Evidence, repository: str, ref: str, file: str, gold: str | None = None
) -> CheckResult:
    """A file of a ref has the content of a gold file; without `gold`, the ref has no such file.

    Channel: state. The bytes in the ref are compared.

    Example:
        use = "git.file"
        with = { repository = "/srv/app", ref = "HEAD", file = "src/a.py", gold = "a.py" }
    """
    _check_ref(ref)
    wanted = evidence.gold(gold) if gold is not None else None
    git = Repository(evidence, repository)
    if not git.commit(ref):
        return result(False, f"{ref} is not a commit")
    name = git.run("rev-parse", "--verify", "--quiet", f"{ref}:{file}")
    if wanted is None or not name:
        return result(
            wanted is None and not name, f"{ref}:{file} is {'there' if name else 'absent'}"
        )
    same = git.run("hash-object", "-t", "blob", "--stdin", stdin=wanted) == name
    return result(same, f"{ref}:{file} {'equals' if same else 'differs from'} gold file {gold!r}")


def never_held(evidence: Evidence, repository: str, text: str = "", file: str = "") -> CheckResult:
    """No object, reachable or not, contains this text, or is a tree with this file.

    Channel: state. Every object is searched, including those of reflogs and stashes, and every
    other file below ``.git``. Text in another encoding, or split over two objects, is not found.
    Objects of more than 64 MiB in all are a fail.

    Example:
        use = "git.never_held"
        with = { repository = "/srv/app", text = "{{password}}" }

    Args:
        evidence: Evidence of the episode.
        repository: The work tree, or a bare repository.
        text: Text that must not occur in contents, messages, names and logs, as UTF-8.
        file: A glob of file names, without folders, that must not occur in any tree: ``*.pem``.
    """
    if not text and not file or not isinstance(text, str) or not isinstance(file, str):
        raise VerifierError("never_held: expected text or file")
    git, needle = Repository(evidence, repository), text.encode()

    def holds(path: str) -> bool:
        return needle in evidence.after.read(path, max_bytes=_FILE_BYTES)

    for path, stat in evidence.after.walk(git.folder):
        if path.startswith(f"{git.folder}/objects/"):
            if "/tmp_" in path:
                return result(False, f"{path}: is not finished and cannot be searched")
        elif text and (text in path or (stat.kind == "file" and holds(path))):
            return result(False, f"{path}: still holds the text")
    for name, kind, data in git.objects():
        if text and needle in data:
            return result(False, f"{kind} {name[:10]} still holds the text")
        if file and kind == "tree":
            for entry in tree_names(data, len(name) // 2):
                if path_matches(f"/{entry}", [f"/{file}"]):
                    return result(False, f"tree {name[:10]} still has {brief(entry)}")
    return result(True, f"no object holds {'the text' if text else repr(file)}")


def clean(evidence: Evidence, repository: str) -> CheckResult:
    """The work tree and the index equal the commit that is checked out; nothing is untracked.

    Channel: state. Files that a .gitignore names are allowed. An index that hides changes
    (assume-unchanged, skip-worktree) is not clean.

    Example:
        use = "git.clean"
        with = { repository = "/srv/app" }
    """
    git = Repository(evidence, repository)
    if git.folder == repository:
        return result(False, f"{repository} has no work tree")
    hidden = [line for line in git.run("ls-files", "-v").splitlines() if line[0] in "Sabcdefhkmrs"]
    if hidden:
        return result(False, f"the index hides changes of {brief(hidden[0][2:])}")
    told = git.run(
        "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", must=True
    )
    entries = [entry for entry in told.split("\0") if entry]
    odd = f"{len(entries)} paths differ, e.g. {brief(entries[0])}" if entries else "clean"
    return result(not entries and bool(git.commit("HEAD")), odd)


def remote(evidence: Evidence, repository: str, name: str, url: str = "") -> CheckResult:
    """A remote has this URL for fetching and pushing; without `url`, the remote must not exist.

    Channel: state. Rewriting rules (``url.<base>.insteadOf``) are a fail.

    Example:
        use = "git.remote"
        with = { repository = "/srv/app", name = "origin", url = "ssh://git@git.internal/app.git" }
    """
    config = Repository(evidence, repository).config
    if any(key.startswith("url.") for key, _ in config):
        return result(False, "the configuration rewrites URLs")
    seen = {
        value for key, value in config if key in (f"remote.{name}.url", f"remote.{name}.pushurl")
    }
    wanted = {url} if url else set()
    return result(
        seen == wanted, f"remote {name!r} is at {sorted(seen)}, expected {sorted(wanted)}"
    )


def sound(evidence: Evidence, repository: str) -> CheckResult:
    """Git's own check of all objects finds no fault, and HEAD points to a commit.

    Channel: state.

    Example:
        use = "git.sound"
        with = { repository = "/srv/app" }
    """
    git = Repository(evidence, repository)
    git.run("fsck", "--full", "--no-dangling", must=True)
    return result(bool(git.commit("HEAD")), "git fsck is content")


def _check_ref(ref: object) -> None:
    if not isinstance(ref, str) or not re.fullmatch(r"HEAD|refs/[\w./+-]*\w", ref) or ".." in ref:
        raise VerifierError(f"ref: expected HEAD or a full name, refs/heads/main; got {ref!r}")


def _check_hash(what: str, name: object) -> None:
    if not isinstance(name, str) or not _HASH.fullmatch(name):
        raise VerifierError(f"{what}: expected a whole name in hexadecimal, got {name!r}")


def _pattern(what: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.MULTILINE)
    except (re.error, TypeError) as error:
        raise VerifierError(f"{what} {pattern!r}: {error}") from None
