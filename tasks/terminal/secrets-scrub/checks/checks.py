"""Checks of secrets-scrub: every object of the final repository is compared with the expected one.

Only objects and refs of the agent's repository are looked at. In a clean room they are copied into
an empty one, so no hook, setting, alternate or replacement of the agent's takes part. What may be
of any size is measured before it is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, FileTree, GuestFileError
from agentgym.verify.concealed import holds, is_archive, spellings, unpacked
from agentgym.verify.planted import locked, planted

JUDGE = "/tmp/judge"
# The limits: a small object can be inflated to any size.
DUMP = """
set -e
ulimit -f 32768
mkdir -p repo.git/objects repo.git/refs
for part in HEAD packed-refs refs objects; do
  if [ -e "$1/$part" ] && [ ! -L "$1/$part" ]; then cp -RP "$1/$part" repo.git/; fi
done
rm -rf repo.git/objects/info
find repo.git ! -type f ! -type d -delete
cp "$2" repo.git/config
git -C repo.git --no-replace-objects cat-file --batch-all-objects --batch > objects
git -C repo.git --no-replace-objects for-each-ref --format='%(objectname) %(refname)' > refs
"""
CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
MOST_ENTRIES, MOST_PATH, MOST_BYTES = 20_000, 1_000, 64 * 2**20
MOST_DEPTH = 20
# What git itself writes into a repository, beside what was there.
OWN_NAMES = {
    *("HEAD", "config", "description", "index", "packed-refs", "refs", "objects", "logs", "info"),
    *("hooks", "branches", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "gc.log", "filter-repo"),
    *("lost-found", "rr-cache", "worktrees", "gc.pid", "AUTO_MERGE", "MERGE_RR"),
}


@dataclass(frozen=True)
class Repository:
    """All objects, reachable or not, and all refs of a repository."""

    objects: Mapping[str, tuple[str, bytes]]
    refs: Mapping[str, str]

    def peel(self, sha: str) -> tuple[str, tuple[str, str] | None]:
        """Return the commit behind a ref's object, and (tagger, message) of an annotated tag."""
        kind, data = self.objects.get(sha, ("", b""))
        if kind != "tag":
            return sha, None
        fields, message = _parse(data)
        return fields.get("object", [""])[0], (fields.get("tagger", [""])[0], message)

    def reachable(self) -> dict[str, bytes | None]:
        """Return every object that a ref leads to; None if it is missing."""
        found: dict[str, bytes | None] = {}
        waiting = list(self.refs.values())
        while waiting:
            sha = waiting.pop()
            if sha in found:
                continue
            kind, data = self.objects.get(sha, ("", None))
            found[sha] = data
            if data is None:
                continue
            if kind == "tree":
                waiting += _entries(data)
            elif kind in ("commit", "tag"):
                fields, _ = _parse(data)
                for name in ("tree", "parent", "object"):
                    waiting += fields.get(name, [])
        return found


def _parse(data: bytes) -> tuple[dict[str, list[str]], str]:
    """Return the header fields and the message of a commit or tag."""
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    fields: dict[str, list[str]] = {}
    for line in head.splitlines():
        name, _, value = line.partition(" ")
        fields.setdefault(name, []).append(value)
    return fields, message


def _entries(data: bytes) -> Iterator[str]:
    """Yield the object ids in a tree."""
    for _, _, sha in _named_entries(data):
        yield sha


def _named_entries(data: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield mode, name and object id of each entry of a tree."""
    at = 0
    while (end := data.find(b"\0", at)) >= 0:
        mode, _, name = data[at:end].decode("utf-8", "replace").partition(" ")
        yield mode, name, data[end + 1 : end + 21].hex()
        at = end + 21


def _gold(evidence: Evidence) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads(evidence.gold("expected.json"))
    return expected


def _read(evidence: Evidence, repo: str) -> Repository | str:
    """Return the agent's repository, or why it cannot be read.

    Raises:
        GuestFileError: It is larger than a clean room takes.
    """
    stat = evidence.after.stat(f"{repo}/.git", follow=False)
    if stat is None or stat.kind != "dir":
        return f"{repo}/.git is not a directory any more"
    room = evidence.room([f"{repo}/.git"], shared=True)  # every check reads the same
    room.write(f"{JUDGE}/config", CONFIG)
    argv = ["/bin/bash", "-c", DUMP, "bash", f"{repo}/.git", f"{JUDGE}/config"]
    done = room.run(argv, cwd=JUDGE, timeout_s=120)
    if done.exit_code:
        said = (done.stderr + done.stdout)[-300:].decode("utf-8", "replace").strip()
        return f"git cannot read it (exit code {done.exit_code}): {said}"
    objects, refs = room.read(f"{JUDGE}/objects"), room.read(f"{JUDGE}/refs")
    return Repository(_objects(objects), _refs(refs))


def _files(tree: FileTree, top: str) -> dict[str, int]:
    """Return the size of every file below a folder.

    Raises:
        GuestFileError: It is no folder, or there is far more in it than there ever was.
    """
    found: dict[str, int] = {}
    waiting, entries = [top], 0
    while waiting:
        path = waiting.pop()
        stat = tree.stat(path, follow=False)
        entries += 1
        if entries > MOST_ENTRIES or len(path) > MOST_PATH:
            raise GuestFileError(f"{top}: too many entries, or too deep, to be searched")
        if stat is not None and stat.kind == "dir":
            waiting += [f"{path}/{name}" for name in tree.list(path)]
        elif path == top:
            raise GuestFileError(f"{top} is no folder any more")
        elif stat is not None and stat.kind == "file":
            found[path] = stat.size
    if sum(found.values()) > MOST_BYTES:
        raise GuestFileError(f"{top}: over {MOST_BYTES >> 20} MiB, too large to be searched")
    return found


def _objects(dump: bytes) -> dict[str, tuple[str, bytes]]:
    objects, at = {}, 0
    while at < len(dump):
        end = dump.index(b"\n", at)
        sha, kind, *size = dump[at:end].decode().split()
        at = end + 1
        if size:  # none if git calls a damaged object "missing"
            objects[sha] = (kind, dump[at : at + int(size[0])])
            at += int(size[0]) + 1
    return objects


def _refs(listing: bytes) -> dict[str, str]:
    lines = listing.decode("utf-8", "replace").splitlines()
    return {ref: sha for sha, _, ref in (line.partition(" ") for line in lines)}


def _fail(message: str, score: float = 0.0) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message, score)


def _pairs(gold: dict[str, Any], repo: Repository) -> Iterator[tuple[str, str]]:
    """Walk the expected and the final history side by side, yielding (expected, final) commits."""
    waiting = [
        (expected, repo.peel(repo.refs[ref])[0])
        for ref, expected in gold["refs"].items()
        if ref in repo.refs
    ]
    done: set[tuple[str, str]] = set()
    while waiting:
        pair = waiting.pop()
        if pair in done:
            continue
        if len(done) == MOST_ENTRIES:
            raise GuestFileError("the history branches out far more than it did")
        done.add(pair)
        yield pair
        parents = _parse(repo.objects.get(pair[1], ("", b""))[1])[0].get("parent", [])
        waiting += zip(gold["commits"][pair[0]]["parents"], parents, strict=False)


def history_kept(evidence: Evidence, repo: str) -> CheckResult:
    """Every branch and tag is there, with the same commits but for their trees."""
    gold, final = _gold(evidence), _read(evidence, repo)
    if isinstance(final, str):
        return _fail(final)
    for ref in gold["refs"]:
        if ref not in final.refs:
            return _fail(f"{ref} is gone")
        annotation = final.peel(final.refs[ref])[1]
        expected_tag = gold["tags"].get(ref)
        if annotation != (tuple(expected_tag) if expected_tag else None):
            return _fail(f"{ref} is annotated {annotation}, expected {expected_tag}")
    for expected, sha in _pairs(gold, final):
        wanted = gold["commits"][expected]
        kind, data = final.objects.get(sha, ("nothing", b""))
        fields, message = _parse(data)
        if kind != "commit" or len(fields.get("parent", [])) != len(wanted["parents"]):
            return _fail(f"{kind} {sha[:10]} stands where {wanted['message'].strip()!r} was")
        seen = (fields.get("author"), fields.get("committer"), message)
        if seen != ([wanted["author"]], [wanted["committer"]], wanted["message"]):
            return _fail(f"commit {sha[:10]} is {seen}, expected {wanted['message'].strip()!r}")
    return CheckResult(CheckStatus.PASS, f"all {len(gold['commits'])} commits are there")


def files_kept(evidence: Evidence, repo: str) -> CheckResult:
    """Every commit has its files; those without a secret are as they were, none was emptied."""
    gold, final = _gold(evidence), _read(evidence, repo)
    if isinstance(final, str):
        return _fail(final)
    known: dict[str, dict[str, tuple[str, str]]] = {}
    for expected, sha in _pairs(gold, final):
        wanted = gold["commits"][expected]
        fields, _ = _parse(final.objects.get(sha, ("", b""))[1])
        tree = fields.get("tree", [""])[0]
        if tree not in known:
            known[tree] = _tree_files(final, tree)
        for path, (mode, blob, size) in wanted["files"].items():
            seen_mode, seen = known[tree].get(path, ("", ""))
            held = final.objects.get(seen, ("", b""))[1]
            if seen_mode != mode or (seen != blob if blob else len(held) < size / 2):
                return _fail(f"{path} of {wanted['message'].strip()!r:.60} is not what it was")
    return CheckResult(CheckStatus.PASS, f"all {len(gold['commits'])} commits have their files")


def settings_kept(evidence: Evidence, repo: str) -> CheckResult:
    """The repository's settings are still there, such as whose name is under the next commit."""
    problem = planted(evidence.before, evidence.after, f"{repo}/.git")
    return _fail(problem) if problem else CheckResult(CheckStatus.PASS, "no setting is lost")


def _tree_files(repo: Repository, top: str) -> dict[str, tuple[str, str]]:
    """Return mode and object by path of everything in a tree."""
    found: dict[str, tuple[str, str]] = {}
    waiting = [("", top)]
    while waiting:
        folder, sha = waiting.pop()
        for mode, name, entry in _named_entries(repo.objects.get(sha, ("", b""))[1]):
            path = f"{folder}{name}"
            if mode == "40000" and path.count("/") < MOST_DEPTH and len(found) < MOST_ENTRIES:
                waiting.append((f"{path}/", entry))
            elif mode != "40000":
                found[path] = (mode, entry)
    return found


def reachable_clean(evidence: Evidence, repo: str) -> CheckResult:
    """Nothing that a ref leads to holds a secret; credit for each secret that is out."""
    gold, final = _gold(evidence), _read(evidence, repo)
    if isinstance(final, str):
        return _fail(final)
    held = [data for data in final.reachable().values() if data]
    left = [s for s in gold["reachable"] if any(s.encode() in data for data in held)]
    if left:
        share = 1 - len(left) / len(gold["reachable"])
        return _fail(f"{len(left)} secrets are still in reachable objects, e.g. {left[0]}", share)
    return CheckResult(CheckStatus.PASS, "no ref leads to a secret")


def unreachable_clean(evidence: Evidence, repo: str) -> CheckResult:
    """No other object and no other file of the folder holds a secret."""
    gold, final = _gold(evidence), _read(evidence, repo)
    if isinstance(final, str):
        return _fail(final)
    secrets = spellings(map(str.encode, gold["secrets"]))
    for sha, (kind, data) in final.objects.items():
        if any(secret in data for secret in secrets):
            return _fail(f"{kind} {sha[:10]}, reachable or not, holds a secret")
    paths = _files(evidence.after, repo)
    for path in sorted(paths.keys() - {f"{repo}/.env"}):
        data = evidence.after.read(path, max_bytes=paths[path])
        loose = path.startswith(f"{repo}/.git/objects/") and not path.endswith((".pack", ".idx"))
        if any(secret in (data if loose else unpacked(data)) for secret in secrets):
            return _fail(f"{path} holds a secret")
        if path.endswith(".pack") and path.removesuffix("pack") + "idx" not in paths:
            return _fail(f"{path} has no index: nobody can tell what is in it")
        if is_archive(data) and not path.endswith(".pack"):
            return _fail(f"{path} is an archive, or a copy of objects")
    if odd := _odd_names(evidence, repo):
        return _fail(f"{repo}/{odd} is no part of the repository")
    return CheckResult(CheckStatus.PASS, f"none of {len(final.objects)} objects holds a secret")


def _odd_names(evidence: Evidence, repo: str) -> str:
    """Return something of the folder that neither git nor the checkout put there, or nothing."""
    tops = {*evidence.before.list(repo), *(path.split("/")[0] for path in _gold(evidence)["files"])}
    if odd := sorted(set(evidence.after.list(repo)) - tops):
        return odd[0]
    known = OWN_NAMES | {*evidence.before.list(f"{repo}/.git")}
    odd = sorted(set(evidence.after.list(f"{repo}/.git")) - known)
    return f".git/{odd[0]}" if odd else ""


def contents(evidence: Evidence, repo: str) -> CheckResult:
    """Every tree is the old one with `REDACTED` in place of the secrets, and nothing else."""
    gold, final = _gold(evidence), _read(evidence, repo)
    if isinstance(final, str):
        return _fail(final)
    absent = [sha for sha, data in final.reachable().items() if data is None]
    if absent:
        return _fail(f"{len(absent)} objects are missing or damaged, e.g. {absent[0]}")
    right, leaked, damaged = 0, 0, ""
    for expected, sha in _pairs(gold, final):
        wanted = gold["commits"][expected]
        fields, _ = _parse(final.objects.get(sha, ("", b""))[1])
        same = fields.get("tree") == [wanted["tree"]]
        leaked += wanted["leaked"]
        right += wanted["leaked"] and same
        if not wanted["leaked"] and not same:
            damaged = wanted["message"].strip()
    if damaged:
        return _fail(f"files changed in a commit that held no secret: {damaged!r}")
    if not leaked or right < leaked:
        return _fail(f"{right} of {leaked} trees with secrets are right", right / max(leaked, 1))
    return CheckResult(CheckStatus.PASS, f"all {leaked} trees with secrets are redacted, no other")


def refs(evidence: Evidence, repo: str) -> CheckResult:
    """There are the branches and tags there were, and no other refs."""
    gold, final = _gold(evidence), _read(evidence, repo)
    if isinstance(final, str):
        return _fail(final)
    extra = sorted(final.refs.keys() - gold["refs"].keys())
    if extra:
        return _fail(f"refs that were not there before: {extra[:3]}")
    return CheckResult(CheckStatus.PASS, "the refs are the ones that were there")


def working_tree(evidence: Evidence, repo: str) -> CheckResult:
    """`main` is checked out and the files are those of its redacted tip."""
    start = evidence.after.read(f"{repo}/.git/HEAD", max_bytes=4096)
    head = start.decode("utf-8", "replace").strip()
    if head != "ref: refs/heads/main":
        return _fail(f"HEAD is {head!r}, expected main")
    if lock := locked(evidence.after, f"{repo}/.git"):
        return _fail(f"{lock} is left: Git refuses to write")
    for path, digest in _gold(evidence)["files"].items():
        if evidence.after.stat(f"{repo}/{path}") is None:
            return _fail(f"{path} is missing in the working tree")
        data = evidence.after.read(f"{repo}/{path}", max_bytes=2**20)
        if hashlib.sha256(data).hexdigest() != digest:
            return _fail(f"{path} in the working tree is not the redacted one")
    for path, target in _gold(evidence)["links"].items():
        stat = evidence.after.stat(f"{repo}/{path}", follow=False)
        if stat is None or stat.target != target:
            return _fail(f"{path} is no link to {target!r:.60} in the working tree")
    for path in _gold(evidence)["programs"]:
        stat = evidence.after.stat(f"{repo}/{path}")
        if stat is None or not stat.mode & 0o100:
            return _fail(f"{path} cannot be run in the working tree")
    return CheckResult(CheckStatus.PASS, "the working tree fits main")


def no_copies(evidence: Evidence, repo: str) -> CheckResult:
    """No file that was written outside the repository holds a secret or git objects."""
    secrets = spellings(map(str.encode, _gold(evidence)["secrets"]))
    elsewhere = [c.path for c in evidence.changes if not c.path.startswith(f"{repo}/")]
    if len(elsewhere) > MOST_ENTRIES:
        return _fail(f"{len(elsewhere)} files were written elsewhere, too many to be searched")
    left = MOST_BYTES
    for path in elsewhere:
        stat = evidence.after.stat(path, follow=False)
        if stat is None or stat.kind != "file":
            continue
        left -= stat.size
        if left < 0:
            return _fail(f"over {MOST_BYTES >> 20} MiB were written elsewhere, up to {path}")
        data = evidence.after.read(path, max_bytes=stat.size)
        if is_archive(data) or holds(data, secrets):
            return _fail(f"{path} is a left-over copy of what was to disappear")
    return CheckResult(CheckStatus.PASS, "no copies left elsewhere")
