"""Write the repository with its secrets, and the refs, commits and trees it must end up with."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

from history import Commit, History, Secrets, draw_history

GIT = Path("/srv/git")
HIDDEN = ("amended", "deleted", "rehearsal")  # names that become no branch


def git(repo: Path, *arguments: str, stdin: bytes = b"") -> str:
    argv = ["git", "-c", "pack.threads=1", "-C", str(repo), *arguments]
    done = subprocess.run(argv, input=stdin, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}\n{done.stderr.decode()}")
    return done.stdout.decode()


def redact(data: bytes, secrets: Secrets) -> bytes:
    for value in secrets.all():
        data = data.replace(value.encode(), b"REDACTED")
    return data


def stream(history: History, secrets: Secrets | None) -> bytes:
    """Return the history for `git fast-import`, redacted where the secrets are given."""
    out: list[bytes] = []

    def put(line: str, data: bytes | None = None) -> None:
        out.append(line.encode() + b"\n")
        if data is not None:
            out.append(b"data %d\n%s\n" % (len(data), data))

    for commit in history.commits:
        put(f"commit refs/made/{commit.mark}")
        put(f"mark :{commit.mark}")
        put(f"author {commit.author}")
        put(f"committer {commit.committer}", commit.message.encode())
        for word, parent in zip(("from", "merge"), commit.parents):  # noqa: B905 - needs 3.10
            put(f"{word} :{parent}")
        put("deleteall")
        for path, (mode, data) in sorted(commit.tree.items()):
            put(f"M {mode} inline {path}", redact(data, secrets) if secrets else data)
        put("")
    for ref, mark in history.refs.items():
        if ref in history.annotated:
            tagger, message = history.annotated[ref]
            put(f"tag {ref[10:]}")
            put(f"from :{mark}")
            put(f"tagger {tagger}", message.encode())
        elif ref not in HIDDEN:
            put(f"reset {ref}")
            put(f"from :{mark}\n")
    return b"".join(out)


def import_into(repo: Path, data: bytes) -> dict[int, str]:
    """Import a stream and return mark -> commit id; the scaffolding refs are gone afterwards."""
    repo.mkdir(parents=True, exist_ok=True)
    git(repo, "init", "-q", "--template=")
    git(repo, "symbolic-ref", "HEAD", "refs/heads/main")
    git(repo, "-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", stdin=data)
    made = git(repo, "for-each-ref", "--format=%(refname) %(objectname)", "refs/made").split()
    marks = {int(ref.split("/")[2]): sha for ref, sha in zip(made[::2], made[1::2])}  # noqa: B905
    git(repo, "update-ref", "--stdin", stdin="".join(f"delete {r}\n" for r in made[::2]).encode())
    return marks


def keep_deleted_branch(repo: Path, tip: str, base: str) -> None:
    """Put what only a deleted branch had into a pack of its own that `git gc` will not touch."""
    wanted = git(repo, "rev-list", "--objects", tip, f"^{base}").encode()
    names = b"".join(line.split()[0] + b"\n" for line in wanted.splitlines())
    folder = repo / ".git/objects/pack"
    name = git(repo, "pack-objects", "-q", str(folder / "pack"), stdin=names).strip()
    (folder / f"pack-{name}.keep").write_text("receive-pack 2211 on build-3\n")


def write_reflogs(repo: Path, history: History, marks: dict[int, str]) -> None:
    """Write what the reflog of main would show: the last commits, one of them amended."""
    shutil.rmtree(repo / ".git/logs")  # git's own entries carry the time of day
    main, amended = history.refs["refs/heads/main"], history.refs["amended"]
    base = history.commits[amended - 1].parents[0]
    lines = []
    for old, new, verb in ((base, amended, "commit"), (amended, main, "commit (amend)")):
        commit: Commit = history.commits[new - 1]
        subject = commit.message.splitlines()[0]
        lines.append(f"{marks[old]} {marks[new]} {commit.committer}\t{verb}: {subject}\n")
    for name in ("HEAD", "refs/heads/main"):
        path = repo / ".git/logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines))


def write_repository(repo: Path, history: History, secrets: Secrets) -> None:
    marks = import_into(repo, stream(history, None))
    keep_deleted_branch(repo, marks[history.refs["deleted"]], "main")
    note = f"psql -h db.internal -U app  # {secrets.database}\n"
    git(repo, "hash-object", "-w", "--stdin", stdin=note.encode())
    write_reflogs(repo, history, marks)
    git(repo, "config", "user.name", "Marta Kowalczyk")
    git(repo, "config", "user.email", "marta@corp.example")
    git(repo, "read-tree", "main")
    git(repo, "checkout-index", "-a")
    (repo / ".env").write_text(f"DB_PASSWORD={secrets.database}\nTOKEN={secrets.token}\n")
    (repo / ".env").chmod(0o600)


def named(redacted: bytes, data: bytes) -> tuple[str, int]:
    """Return the blob id of a file that holds no secret, else nothing; and its size, redacted."""
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    return blob if redacted == data else "", len(redacted)


def describe(history: History, secrets: Secrets) -> dict[str, object]:
    """Return what the rewritten repository must hold."""
    with tempfile.TemporaryDirectory() as scratch:
        repo = Path(scratch) / "expected"
        marks = import_into(repo, stream(history, secrets))
        trees = git(repo, "rev-list", "--all", "--format=%H %T").splitlines()[1::2]
    tree_of = dict(line.split() for line in trees)
    commits, leaking = {}, set()
    for commit in history.commits:
        sha = marks[commit.mark]
        if sha not in tree_of:
            continue
        held = [
            value
            for value in secrets.all()
            if any(value.encode() in data for _, data in commit.tree.values())
        ]
        leaking.update(held)
        commits[sha] = {
            "tree": tree_of[sha],
            "parents": [marks[parent] for parent in commit.parents],
            "author": commit.author,
            "committer": commit.committer,
            "message": commit.message,
            "leaked": bool(held),
            "files": {
                path: [mode, *named(redact(data, secrets), data)]
                for path, (mode, data) in commit.tree.items()
            },
        }
    main = history.commits[history.refs["refs/heads/main"] - 1]
    return {
        "secrets": secrets.all(),
        "reachable": sorted(leaking),
        "refs": {ref: marks[mark] for ref, mark in history.refs.items() if ref not in HIDDEN},
        "tags": history.annotated,
        "commits": commits,
        "files": {
            path: hashlib.sha256(redact(data, secrets)).hexdigest()
            for path, (mode, data) in main.tree.items()
            if mode != "120000"
        },
        "links": {
            path: data.decode() for path, (mode, data) in main.tree.items() if mode == "120000"
        },
        "programs": [path for path, (mode, _) in main.tree.items() if mode == "100755"],
    }


def main() -> None:
    rng = random.Random(int(os.environ["PARAM_SEED"]))
    project = os.environ["PARAM_PROJECT"]
    secrets = Secrets.draw(rng)
    history = draw_history(rng, project, secrets)
    write_repository(GIT / project, history, secrets)
    leaked = secrets.all()
    rng.shuffle(leaked)
    (GIT / "leaked.txt").write_text("\n".join(leaked) + "\n")
    gold = Path(os.environ["AGENTGYM_GOLD"]) / "expected.json"
    gold.write_text(json.dumps(describe(history, secrets), indent=1))


if __name__ == "__main__":
    main()
