"""Build the repository from history.txt, then do to it what the power cut did.

The damage: nulls in the index, in the ref of `main` and at the end of the reflogs; an empty ref of
the feature branch; outdated positions of both in packed-refs; an index.lock; an empty blob whose
contents are in the working tree, and an empty tree that only the bundle still has.

In history.txt, ``=== line author: subject`` begins a commit and ``--- path`` the text that it
appends to a file. The lines are `main`, `feature`, `amended` (a commit that was replaced) and
`draft` (what was never committed).
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

SETUP = Path(__file__).parent
REPOSITORY = Path("/srv/inventory")
GIT = REPOSITORY / ".git"
BUNDLE = Path("/srv/backup/inventory-2026-02-24.bundle")
STAGED = "tests/test_rounding.py"
TAGS = {"v0.1": 10, "v0.2": 14}  # name: number of the commit on main, from 1
PACKED = 12  # commits on main that an old gc put into a pack; later objects are loose
BUNDLED = 14
BRANCHED = 16  # commits on main before the feature branch leaves it
START = 1_769_000_000  # January 2026
PAUSE = 216_000
PEOPLE = {
    "lin": "Lin Okafor <lin.okafor@depot.example>",
    "marta": "Marta Reis <marta.reis@depot.example>",
    "jo": "Jo Lindqvist <jo.lindqvist@depot.example>",
}


@dataclass
class Commit:
    """A commit before git knows it: the text it appends to each file."""

    line: str
    author: str
    subject: str
    appended: dict[str, str] = field(default_factory=dict)
    time: int = 0
    amended: int = 0  # seconds until it was amended, which keeps the author's time

    @property
    def who(self) -> str:
        return PEOPLE[self.author]


def read_history() -> list[Commit]:
    commits: list[Commit] = []
    for text in (SETUP / "history.txt").read_text().split("=== ")[1:]:
        head, _, body = text.partition("\n")
        line, author, subject = head.replace(": ", " ", 1).split(" ", 2)
        commit = Commit(line, author, subject)
        for part in body.split("--- ")[1:]:
            path, _, appended = part.partition("\n")
            commit.appended[path] = appended
        position = sum(other.line == line for other in commits)
        if line == "main":
            commit.time = START + position * PAUSE
        else:
            commit.time = START + (BRANCHED + position) * PAUSE + 50_000
        commits.append(commit)
    last = [commit for commit in commits if commit.line == "feature"][-1]
    before = next(commit for commit in commits if commit.line == "amended")
    before.time, last.amended = last.time, 5_400
    return commits


def git(*args: str, stdin: str = "") -> str:
    """Run git in the repository and return its output."""
    settings = ("-c", "pack.threads=1", "-c", "core.logAllRefUpdates=false")
    done = subprocess.run(
        ["git", "-C", str(REPOSITORY), *settings, *args],
        input=stdin,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"git {' '.join(args)}: {done.stderr}"
    return done.stdout.strip()


class Importer:
    """Turns commits into a fast-import stream and their files into full texts."""

    def __init__(self) -> None:
        self.refs: list[str] = []
        self.files: dict[str, dict[str, str]] = {"": {}}

    def commit(self, commit: Commit, parent: str) -> tuple[str, str]:
        """Return the name of the ref that the commit gets, and its part of the stream."""
        ref = f"refs/build/{len(self.refs) + 1}"
        files = dict(self.files[parent])
        stream = f"commit {ref}\nauthor {commit.who} {commit.time} +0100\n"
        stream += f"committer {commit.who} {commit.time + commit.amended} +0100\n"
        stream += self._data(f"{commit.subject}\n")
        if parent:
            stream += f"from {parent}\n"
        for path, text in commit.appended.items():
            files[path] = files.get(path, "") + text
            stream += f"M 100644 inline {path}\n{self._data(files[path])}"
        self.refs.append(ref)
        self.files[ref] = files
        return ref, stream

    @staticmethod
    def _data(text: str) -> str:
        return f"data {len(text.encode())}\n{text}\n"


def build(commits: list[Commit]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Import the history; return commit ids by line, oldest first, and the files of main's tip."""
    importer = Importer()
    refs: dict[str, list[str]] = {"main": [], "feature": [], "amended": []}
    packed, loose = "", ""
    for commit in commits:
        if commit.line == "draft":
            continue
        if commit.line == "main":
            parent = refs["main"][-1] if refs["main"] else ""
        else:
            parent = refs["feature"][-1] if refs["feature"] else refs["main"][BRANCHED - 1]
        ref, stream = importer.commit(commit, parent)
        refs[commit.line].append(ref)
        if commit.line == "main" and len(refs["main"]) <= PACKED:
            packed += stream
        else:
            loose += stream
    git("-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", stdin=packed)
    git("-c", "fastimport.unpackLimit=9999", "fast-import", "--quiet", stdin=loose)
    listed = git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    ids = dict(line.split() for line in listed)
    git("update-ref", "--stdin", stdin="".join(f"delete {ref}\n" for ref in ids))
    named = {line: [ids[ref] for ref in found] for line, found in refs.items()}
    return named, importer.files[refs["main"][-1]]


def stage_tests() -> str:
    """Write the staged file's blob, after two earlier states of it; return its full text."""
    full = (SETUP / "rounding_tests.txt").read_text()
    head, *tests = full.split("\n\n\ndef test_")
    for count in (2, 4, len(tests)):
        text = "\n\n\ndef test_".join([head, *tests[:count]]).rstrip("\n") + "\n"
        blob = git("hash-object", "-w", "--stdin", stdin=text)
    git("update-index", "--add", "--cacheinfo", f"100644,{blob},{STAGED}")
    return full


def reflog(ids: list[str], commits: list[Commit]) -> bytes:
    """The reflog of main since the last gc, without its last entry."""
    main = [commit for commit in commits if commit.line == "main"]
    lines = ""
    for number in range(BUNDLED, len(ids) - 1):
        commit = main[number]
        lines += f"{ids[number - 1]} {ids[number]} {commit.who} {commit.time} +0100"
        lines += f"\tcommit: {commit.subject}\n"
    return lines.encode()


def empty_object(name: str) -> None:
    path = GIT / "objects" / name[:2] / name[2:]
    path.chmod(0o644)
    path.write_bytes(b"")
    path.chmod(0o444)


def damage(ids: dict[str, list[str]], log: bytes) -> None:
    index = GIT / "index"
    half = index.stat().st_size // 2
    index.write_bytes(index.read_bytes()[:half] + bytes(half))
    (GIT / "index.lock").write_bytes(b"")
    (GIT / "refs/heads/main").write_bytes(bytes(41))
    (GIT / "refs/heads/feature").mkdir()
    (GIT / "refs/heads/feature/batch-import").write_bytes(b"")
    (GIT / "logs/refs/heads").mkdir(parents=True)
    (GIT / "logs/refs/heads/main").write_bytes(log + bytes(211))
    (GIT / "logs/HEAD").write_bytes(bytes(4096))
    empty_object(git("rev-parse", f"{ids['main'][-1]}:inventory/units.py"))
    empty_object(git("rev-parse", f"{ids['main'][BUNDLED - 2]}:inventory"))


def main() -> None:
    os.environ.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null")
    REPOSITORY.mkdir()
    BUNDLE.parent.mkdir()
    git("-c", "init.defaultBranch=main", "init", "--quiet", "--template=")
    commits = read_history()
    ids, files = build(commits)

    git("update-ref", "refs/heads/main", ids["main"][BUNDLED - 1])
    git("bundle", "create", "--quiet", str(BUNDLE), "refs/heads/main")
    git("update-ref", "refs/heads/feature/batch-import", ids["feature"][0])
    for tag, number in TAGS.items():
        git("update-ref", f"refs/tags/{tag}", ids["main"][number - 1])
    git("pack-refs", "--all")

    # read-tree and --cacheinfo leave the file times out of the index: same bytes every time.
    git("read-tree", ids["main"][-1])
    staged = stage_tests()
    for path, text in files.items():
        target = REPOSITORY / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for path, text in commits[-1].appended.items():
        with open(REPOSITORY / path, "a") as file:
            file.write(text)
    (REPOSITORY / STAGED).write_bytes(b"")

    reachable = git("rev-list", "--objects", ids["main"][-1], ids["feature"][-1]).splitlines()
    gold = {
        "main": ids["main"][-1],
        "feature": ids["feature"][-1],
        "tags": {tag: ids["main"][number - 1] for tag, number in TAGS.items()},
        "commits": sorted({commit for line in ids.values() for commit in line}),
        "objects": sorted(line.split()[0] for line in reachable),
    }
    folder = Path(os.environ["AGENTGYM_GOLD"])
    (folder / "repository.json").write_text(json.dumps(gold, indent=1))
    (folder / "test_rounding.py").write_text(staged)
    damage(ids, reflog(ids["main"], commits))


main()
