"""Run the script in a clean room on folders that it has not seen, and compare with the README.

What it should do is written down once more here, in Python. The words in the names of the files are
drawn anew for every script.
"""

from __future__ import annotations

import base64
import hashlib
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agentgym import CheckResult, CheckStatus, Evidence, GuestFileError
from agentgym.verify import standing
from agentgym.verify.probing import probe

SCRIPT = "/srv/intake/bin/file-drop"
PROBE = Path(__file__).with_name("probe.py")
# Years end in UTC: these are the last and the first minute of one, and a summer's day.
TIMES = {"2024": 1_735_689_540, "2025": 1_735_689_660, "2023": 1_689_000_000, "2022": 1_655_000_000}
FIRST_LINE = re.compile(
    rb"#![ \t]*/(?:usr/)?(?:local/)?bin/(?:env[ \t]+(?:-\S{1,20}[ \t]+)?)?bash[ \t\r\n]"
)
WORDS = ("acme", "offer", "list", "notes")
# What the probe gives every file, and the name of one that has nothing in it.
MODE = 0o640
EMPTY = "acme_empty.txt"


@dataclass(frozen=True)
class Case:
    """Folders before a run, by what is in them.

    Attributes:
        names: Regular files in the drop folder, with the year of each.
        odd: What else there is, as path, kind and text.
        archived: Files in the archive before the run.
        log: The archive's log before the run.
        drop: Where the drop folder is.
        archive: Where the archive is.
        cwd: Where the script is started.
        arguments: What it is called with; ROOT is the folder that all others are in.
        refuses: It should do nothing.
    """

    names: dict[str, str]
    odd: tuple[tuple[str, str, str], ...] = ()
    archived: tuple[str, ...] = ()
    log: str = ""
    drop: str = "in"
    archive: str = "out"
    cwd: str = ""
    arguments: tuple[str, ...] = ("ROOT/in", "ROOT/out")
    refuses: bool = False

    def entries(self) -> list[tuple[str, str, str, int]]:
        made = [(self.drop, "dir", "", 0), (self.archive, "dir", "", 0)]
        made = [entry for entry in made if entry[0]]
        texts = {n: "" if n.endswith("_empty.txt") else f"of {n}" for n in self.names}
        made += [(f"{self.drop}/{n}", "file", texts[n], TIMES[y]) for n, y in self.names.items()]
        made += [(f"{self.archive}/{n}", "file", f"old {n}", TIMES["2023"]) for n in self.archived]
        if self.log:
            made.append((f"{self.archive}/log.tsv", "file", self.log, TIMES["2023"]))
        return made + [(path, kind, text, TIMES["2023"]) for path, kind, text in self.odd]

    def renamed(self, new: Callable[[str], str]) -> Case:
        """Return the case with other words in the names."""
        return replace(
            self,
            names={new(name): year for name, year in self.names.items()},
            odd=tuple((new(path), kind, text) for path, kind, text in self.odd),
            archived=tuple(map(new, self.archived)),
        )

    def left(self) -> list[str]:
        """Return the names that are to be told, sorted."""
        found = (name for name in self.names if not re.match("[A-Za-z0-9-]+_", name))
        return [] if self.refuses else sorted(name for name in found if not name.startswith("."))

    def folders(self) -> set[str]:
        """Return the folders there are before the run."""
        made = {path for path, kind, *_ in self.entries() if kind == "dir"}
        for path, *_ in self.entries():
            made |= {"/".join(path.split("/")[:n]) for n in range(1, path.count("/") + 1)}
        return made

    def expected(self) -> tuple[dict[str, str], list[str], str]:
        """Return text by path of all regular files but the log, its lines, and the output."""
        files = {path: text for path, kind, text, _ in self.entries() if kind == "file"}
        links, log, left = {path for path, kind, *_ in self.odd if kind == "link"}, [], 0
        for name, year in self.names.items() if not self.refuses else ():
            found = re.match("[A-Za-z0-9-]+(?=_)", name)
            if name.startswith(".") or not found:
                left += not name.startswith(".")
                continue
            stem, dot, end = name.rpartition(".")
            number, free = 0, name
            while f"{self.archive}/{found[0]}/{year}/{free}" in (files.keys() | links):
                number += 1
                free = f"{stem}-{number}.{end}" if dot else f"{name}-{number}"
            files[f"{self.archive}/{found[0]}/{year}/{free}"] = files.pop(f"{self.drop}/{name}")
            log.append(f"{_escaped(name)}\t{_escaped(f'{found[0]}/{year}/{free}')}")
        return files, sorted(log), "" if self.refuses else f"{len(log)} moved, {left} left\n"


PLAIN = {"acme_offer.pdf": "2024", "b-2_list.csv": "2025", "notes.txt": "2024"}
CASES = {
    "plain": Case(
        {
            "acme_offer.pdf": "2023",
            "b-2_list.csv": "2022",
            "acme_c.txt": "2022",
            "notes": "2023",
            EMPTY: "2022",
        }
    ),
    "spaces": Case(
        {
            **PLAIN,
            "acme_final offer.pdf": "2025",
            "acme_ two  gaps .txt": "2024",
            "a b_c.txt": "2024",
        }
    ),
    "dashes": Case({**PLAIN, "-n_list.txt": "2024", "--help_me.txt": "2025", "-e_a.txt": "2025"}),
    "globs": Case(
        {
            **PLAIN,
            "acme_*": "2024",
            "acme_[ab].txt": "2025",
            "acme_?.txt": "2024",
            "*": "2024",
            "acme_a.txt": "2024",
            "acme_$(id).txt": "2024",
            "acme_'q\"`x`.txt": "2025",
        }
    ),
    "escapes": Case(
        {
            **PLAIN,
            "acme_two\nlines.txt": "2024",
            "acme_tab\there": "2025",
            "acme_back\\nslash": "2025",
            "acme_end\n": "2024",
            "acme_100%s.txt": "2024",
        }
    ),
    "collisions": Case(
        {
            **PLAIN,
            "acme_notes.md": "2025",
            "acme_list": "2024",
            "acme_a.tar.gz": "2025",
            "acme_x y.txt": "2025",
        },
        archived=(
            "acme/2024/acme_offer.pdf",
            "acme/2024/acme_list",
            "acme/2024/acme_list-1",
            "acme/2025/acme_a.tar.gz",
            "acme/2025/acme_x y.txt",
            "acme/2024/acme_a.tar.gz",
        ),
        odd=(("out/acme/2025/acme_notes.md", "link", "nowhere"),),
        # Unsorted, and a name that came twice within a year and was taken out in between.
        log="zoo_a\tzoo/2023/zoo_a\nb_a\tb/2023/b_a\nzoo_a\tzoo/2023/zoo_a\n",
    ),
    "not_files": Case(
        {".acme_upload.part": "2024"},
        odd=(
            ("in/acme_folder/x_y.txt", "file", "z"),
            ("in/acme_link", "link", "/etc/passwd"),
            ("in/acme_lost", "link", "nowhere"),
            ("in/acme_pipe", "pipe", ""),
        ),
    ),
    "customers": Case(
        {
            **PLAIN,
            "_nobody.txt": "2024",
            "ac.me_a.txt": "2025",
            "müller_a.txt": "2025",
            "acme": "2025",
            "a+b_c.txt": "2024",
        }
    ),
    "folders": Case(
        PLAIN,
        drop="w d/in coming",
        archive="w d/the archive",
        cwd="w d",
        arguments=("in coming", "the archive"),
    ),
    "no_drop": Case(
        {},
        odd=(("here/acme_home.txt", "file", "mine"),),
        drop="",
        cwd="here",
        arguments=("../missing", "../out"),
        refuses=True,
    ),
    "no_archive": Case(
        PLAIN, archive="", cwd="in", arguments=("ROOT/in", "ROOT/missing"), refuses=True
    ),
    "no_folder": Case(
        PLAIN, odd=(("list", "file", "not a folder"),), arguments=("ROOT/list", "out"), refuses=True
    ),
}


def case(evidence: Evidence, name: str) -> CheckResult:
    """The script does with these folders what the README says."""
    cases = _cases(evidence)
    seen, wanted = _runs(evidence, cases)[list(cases).index(name)], cases[name]
    files, log, out = wanted.expected()
    code = 1 if wanted.refuses else 0
    if seen["code"] != code or (seen["out"] != out and not wanted.refuses):
        return _fail(
            f"exit code {seen['code']}, prints {seen['out'][:80]!r}; expected {code}, {out!r}"
        )
    told = sorted(line for line in seen["err"].split("\n") if line.startswith("left: "))
    if told != [f"left: {left}" for left in wanted.left()]:
        return _fail(f"on standard error it names {told[:3]}, expected {wanted.left()[:3]}")
    if hidden := [name for name in wanted.names if name.startswith(".") and name in seen["err"]]:
        return _fail(f"it mentions {hidden[0]!r}")
    return _tree_problem(dict(seen["tree"]), wanted, files, log)


def times_kept(evidence: Evidence) -> CheckResult:
    """Tonight's files and those in the archive have kept their modification times."""
    return standing.times_kept(evidence, ["/srv/intake/drop", "/srv/intake/archive"])


def _tree_problem(
    tree: dict[str, Any], wanted: Case, files: dict[str, str], log: list[str]
) -> CheckResult:
    text = _text(tree.pop(f"{wanted.archive}/log.tsv", ["file", ""]))
    files.pop(f"{wanted.archive}/log.tsv", None)
    if not text.startswith(wanted.log):
        return _fail(f"the log began with {wanted.log[:40]!r} and begins with {text[:40]!r}")
    lines = sorted(text.removeprefix(wanted.log).splitlines())
    found = {path: _text(entry) for path, entry in tree.items() if entry[0] == "file"}
    odd = {path: entry[1] for path, entry in tree.items() if entry[0] in ("link", "other")}
    if odd != {path: text for path, kind, text in wanted.odd if kind in ("link", "pipe")}:
        return _fail("links and pipes are not as they were")
    if found != files:
        wrong = sorted(path for path in found.keys() | files if found.get(path) != files.get(path))
        where = "not where it should be" if wrong[0] in files else "where it should not be"
        return _fail(f"{len(wrong)} files are wrong, e.g. {wrong[0]!r:.80} is {where}")
    times = {text: time for _, kind, text, time in wanted.entries() if kind == "file"}
    for path, text in found.items():
        mode, time = tree[path][2:]
        if (mode, time) != (MODE, times[text]):
            return _fail(f"{path!r:.80} has lost its permissions or its time of modification")
    folders = {path for path, entry in tree.items() if entry[0] == "dir"}
    if wanted.refuses and folders != wanted.folders():
        return _fail(f"it makes {sorted(folders - wanted.folders())[:2]} and was to do nothing")
    if lines != log:
        return _fail(f"the log has {lines[:2]}, expected {log[:2]}")
    return CheckResult(CheckStatus.PASS, f"{len(files)} files are where they should be")


def _cases(evidence: Evidence) -> dict[str, Case]:
    """Return the cases, with words in them that the script decides and cannot choose.

    Raises:
        GuestFileError: There is no bash script.
    """
    stat = evidence.after.stat(SCRIPT, follow=False)
    if stat is None or stat.kind != "file":
        raise GuestFileError(f"{SCRIPT}: is {stat.kind if stat else 'not there'}")
    script = evidence.after.read(SCRIPT, max_bytes=2**16)
    if not FIRST_LINE.match(script):
        raise GuestFileError(f"{SCRIPT}: begins with {script[:40]!r}, which starts no bash")
    rng = random.Random(hashlib.sha256(script).hexdigest())
    words = {word: "".join(rng.choices("bcdfghjklmnpqrstvwxz", k=6)) for word in WORDS}
    pattern = re.compile("|".join(WORDS))
    return {
        name: case.renamed(lambda text: pattern.sub(lambda found: words[found[0]], text))
        for name, case in CASES.items()
    }


def _runs(evidence: Evidence, cases: dict[str, Case]) -> list[dict[str, Any]]:
    """Run all cases in one room, once for an episode."""
    order = [
        {"entries": c.entries(), "arguments": c.arguments, "cwd": c.cwd} for c in cases.values()
    ]
    runs: list[dict[str, Any]] = probe(
        evidence.room([SCRIPT], shared=True), PROBE, order, what=SCRIPT
    )
    return runs


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def _text(entry: list[str]) -> str:
    return base64.b64decode(entry[1]).decode("utf-8", "replace")


def _fail(message: str) -> CheckResult:
    return CheckResult(CheckStatus.FAIL, message)
