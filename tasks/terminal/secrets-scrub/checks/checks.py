"""Checks of secrets-scrub: every object of the final repository is compared with the expected one.

Only objects and refs are taken from the agent's repository. They are unpacked into an empty one
in a clean room, so no hook, setting, alternate or replacement of the agent's takes part.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence

JUDGE = "/tmp/judge"
DUMP = """
set -e
rm -rf repo.git && mkdir -p repo.git/objects repo.git/refs && tar -xf repo.tar -C repo.git
git -C repo.git --no-replace-objects cat-file --batch-all-objects --batch > objects
git -C repo.git --no-replace-objects for-each-ref --format='%(objectname) %(refname)' > refs
"""
CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
CARRIED = ("HEAD", "packed-refs", "refs/", "objects/")


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
        """Return every object that a ref leads to; None where it is missing."""
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
    at = 0
    while (end := data.find(b"\0", at)) >= 0:
        yield data[end + 1 : end + 21].hex()
        at = end + 21


def _gold(evidence: Evidence) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads(evidence.gold("expected.json"))
    return expected


def _archive(evidence: Evidence, git: str) -> bytes:
    """Return objects and refs of a repository as a tar, with a configuration of our own."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:

        def put(name: str, data: bytes) -> None:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))

        put("config", CONFIG)
        for path, stat in evidence.after.walk(git):
            name = path.removeprefix(git + "/")
            side = name.startswith("objects/info/")  # alternates, commit graphs
            if stat.kind == "file" and name.startswith(CARRIED) and not side:
                put(name, evidence.after.read(path))
    return buffer.getvalue()


def _read(evidence: Evidence, repo: str) -> Repository | str:
    """Return the agent's repository, or why it cannot be read."""
    stat = evidence.after.stat(f"{repo}/.git", follow=False)
    if stat is None or stat.kind != "dir":
        return f"{repo}/.git is not a directory any more"
    room = evidence.room()
    room.write(f"{JUDGE}/repo.tar", _archive(evidence, f"{repo}/.git"))
    done = room.run(["/bin/sh", "-c", DUMP], cwd=JUDGE)
    if done.exit_code:
        said = (done.stderr + done.stdout)[-300:].decode("utf-8", "replace").strip()
        return f"git cannot read it: {said}"
    objects, refs = room.read(f"{JUDGE}/objects"), room.read(f"{JUDGE}/refs")
    return Repository(_objects(objects), _refs(refs))


def _objects(dump: bytes) -> dict[str, tuple[str, bytes]]:
    objects, at = {}, 0
    while at < len(dump):
        end = dump.index(b"\n", at)
        sha, kind, *size = dump[at:end].decode().split()
        at = end + 1
        if size:  # none where git calls a damaged object "missing"
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
    secrets = [secret.encode() for secret in gold["secrets"]]
    for sha, (kind, data) in final.objects.items():
        if any(secret in data for secret in secrets):
            return _fail(f"{kind} {sha[:10]}, reachable or not, holds a secret")
    paths = {path for path, stat in evidence.after.walk(repo) if stat.kind == "file"}
    for path in sorted(paths - {f"{repo}/.env"}):
        data = evidence.after.read(path)
        if any(secret in data for secret in secrets):
            return _fail(f"{path} holds a secret")
        if path.endswith(".pack") and path.removesuffix("pack") + "idx" not in paths:
            return _fail(f"{path} has no index: nobody can tell what is in it")
        if (
            data[:4] == b"PACK"
            and not path.endswith(".pack")
            or data.startswith(b"# v2 git bundle")
        ):
            return _fail(f"{path} is a copy of objects outside the object database")
    return CheckResult(CheckStatus.PASS, f"none of {len(final.objects)} objects holds a secret")


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
    head = evidence.after.read(f"{repo}/.git/HEAD").decode("utf-8", "replace").strip()
    if head != "ref: refs/heads/main":
        return _fail(f"HEAD is {head!r}, expected main")
    for path, digest in _gold(evidence)["files"].items():
        if evidence.after.stat(f"{repo}/{path}") is None:
            return _fail(f"{path} is missing in the working tree")
        if hashlib.sha256(evidence.after.read(f"{repo}/{path}")).hexdigest() != digest:
            return _fail(f"{path} in the working tree is not the redacted one")
    return CheckResult(CheckStatus.PASS, "the working tree fits main")


def no_copies(evidence: Evidence, repo: str) -> CheckResult:
    """No file that was written outside the repository holds a secret or git objects."""
    secrets = [secret.encode() for secret in _gold(evidence)["secrets"]]
    for change in evidence.changes:
        stat = evidence.after.stat(change.path, follow=False)
        if change.path.startswith(repo + "/") or stat is None or stat.kind != "file":
            continue
        data = evidence.after.read(change.path)
        packed = data[:4] == b"PACK" or data.startswith(b"# v2 git bundle")
        if packed or any(secret in data for secret in secrets):
            return _fail(f"{change.path} is a left-over copy of what was to disappear")
    return CheckResult(CheckStatus.PASS, "no copies left elsewhere")
