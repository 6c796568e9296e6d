"""Make a repository whose owner left in the middle of a rebase, and the remote that went on."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROJECT, AUTHOR = os.environ["PARAM_PROJECT"], os.environ["PARAM_AUTHOR"]
WORK, REMOTE = Path("/srv") / PROJECT, Path("/srv/git") / f"{PROJECT}.git"
OTHER = Path("/srv/other")
FEATURE, HOTFIX = "feature/child-fares", "hotfix/receipt-total"
ZONES = ("inner", "outer", "airport", "island", "night")

QUOTE = '''"""What a ticket costs, in cents."""

from fares.prices import PRICES


def quote(zone, count=1):
    return PRICES[zone] * count
'''
QUOTE_CHILD = '''"""What a ticket costs, in cents."""

from fares.prices import PRICES


def quote(zone, count=1, child=False):
    adult, reduced = PRICES[zone]
    return (reduced if child else adult) * count
'''
CLI = """import argparse

from fares.quote import quote


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("zone")
    parser.add_argument("--count", type=int, default=1)
    args = parser.parse_args()
    print(f"{quote(args.zone, args.count) / 100:.2f}")


def receipt(lines):
    return sum(price for price, _ in lines)
"""
CLI_CHILD = CLI.replace(
    "    args = parser",
    '    parser.add_argument("--child", action="store_true")\n    args = parser',
).replace("quote(args.zone, args.count)", "quote(args.zone, args.count, args.child)")
CLI_FIXED = CLI.replace("sum(price for price, _ in lines)", "sum(price * n for price, n in lines)")
ROUNDING = '''"""Amounts are paid in steps of five cents."""


def to_five(cents):
    return -(-cents // 5) * 5
'''
TEST_CHILD = """from fares.quote import quote


def test_a_child_pays_less():
    assert quote("inner", child=True) < quote("inner")
"""
DAY_PASS = "DAY = 4\n\n\ndef day_pass(price):\n    return price * DAY\n"
DOCS = """# Fares

Prices are in `fares/prices.py`, in cents, by zone.

## Tickets

A ticket is valid for 90 minutes in its zone.

## Groups

Groups of ten and more book by telephone.

## Refunds

Refunds are given at the counter, within a day.
"""
DOCS_MAIN = DOCS.replace("# Fares\n", "# Fares\n\nAsk the counter before you promise a price.\n")
MESSAGES = ("rounding: steps of five cents", "fares: children pay half", "cli: --child")
DOCS_MESSAGE, TESTS_MESSAGE = "docs: child fares", "tests: children pay less"


@dataclass(frozen=True)
class Story:
    """The drawn values: the other author, the prices of two years, the commit to be dropped."""

    other: str
    year: int
    old: dict[str, int]
    new: dict[str, int]
    debug: str


def draw_story() -> Story:
    rng = random.Random(f"rebase-interrupted {os.environ['PARAM_SEED']}")
    other = rng.choice(("Ines", "Carlo", "Wanda"))
    year = rng.choice((2025, 2026))
    zones = rng.sample(ZONES[1:], 3)
    old = {zone: 10 * rng.randint(18, 60) for zone in ["inner", *zones]}
    new = {zone: price + rng.choice((10, 15, 20, 25, 35)) for zone, price in old.items()}
    debug = ("debug: show what is summed", "tmp: print lines", "wip: print for the demo")
    return Story(other, year, old, new, rng.choice(debug))


def prices(table: Mapping[str, object], year: int) -> str:
    rows = "".join(f'    "{zone}": {price},\n' for zone, price in table.items())
    return f"# Valid from January {year}.\nPRICES = {{\n{rows}}}\n"


def with_children(table: Mapping[str, int]) -> dict[str, str]:
    return {zone: f"({price}, {-(-price // 10) * 5})" for zone, price in table.items()}


def with_debug(cli: str) -> str:
    return cli.replace("def receipt(lines):\n", "def receipt(lines):\n    print('DEBUG', lines)\n")


def with_child_docs(docs: str) -> str:
    sentence = "Children of 6 to 14 pay half, rounded up to five cents."
    return docs.replace("in its zone.\n", f"in its zone.\n\n{sentence}\n")


class Repository:
    """A work tree in which people commit at fixed times."""

    clock = 1_762_000_000

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def git(self, *words: str, who: str = AUTHOR, fails: bool = False) -> str:
        Repository.clock += 3_700
        mail = f"{who.lower()}@{PROJECT}.example"
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": "/nonexistent",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": who,
            "GIT_AUTHOR_EMAIL": mail,
            "GIT_COMMITTER_NAME": who,
            "GIT_COMMITTER_EMAIL": mail,
            "GIT_AUTHOR_DATE": f"{Repository.clock} +0100",
            "GIT_COMMITTER_DATE": f"{Repository.clock} +0100",
        }
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env=env, capture_output=True, text=True
        )
        if (done.returncode != 0) != fails:
            raise SystemExit(f"git {words}: {done.returncode} {done.stdout} {done.stderr}")
        return done.stdout.strip()

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, message: str, files: dict[str, str], who: str = AUTHOR) -> str:
        self.write(files)
        self.git("add", *files, who=who)
        self.git("commit", "-q", "-m", message, who=who)
        return self.git("rev-parse", "HEAD")


def begin() -> Repository:
    Path("/srv/git").mkdir()
    WORK.mkdir()
    Repository(Path("/srv")).git("init", "-q", "--template=", "--bare", "-b", "main", str(REMOTE))
    here = Repository(WORK)
    here.git("init", "-q", "--template=", "-b", "main")
    mail = f"{AUTHOR.lower()}@{PROJECT}.example"
    for key, value in (("user.name", AUTHOR), ("user.email", mail)):
        here.git("config", key, value)
    here.git("remote", "add", "origin", str(REMOTE))
    return here


def write_main(here: Repository, story: Story) -> tuple[str, str]:
    """Commit and push `main`; return the commit that the feature begins at, and the last one."""
    files = {
        ".gitignore": "HANDOVER.md\n__pycache__/\n",
        "fares/__init__.py": "",
        "fares/prices.py": prices(story.old, story.year - 1),
        "fares/quote.py": QUOTE,
        "fares/cli.py": CLI,
        "docs/fares.md": DOCS,
    }
    here.commit(f"{PROJECT}: quote tickets", files)
    base = here.git("rev-parse", "HEAD")
    new_prices = {"fares/prices.py": prices(story.new, story.year)}
    here.commit(f"prices: from January {story.year}", new_prices, story.other)
    tip = here.commit("docs: ask first", {"docs/fares.md": DOCS_MAIN}, story.other)
    here.git("push", "-q", "origin", "main")
    return base, tip


def write_feature(here: Repository, story: Story, base: str) -> str:
    """Commit the feature, its beginning pushed, with two stashes; return the other's stash."""
    here.git("checkout", "-q", "-b", FEATURE, base)
    here.write({"fares/daypass.py": DAY_PASS})
    here.git("add", "fares/daypass.py")
    said = f"{story.other}: day passes, experiment"
    here.git("stash", "push", "-q", "-m", said, who=story.other)
    experiment = here.git("rev-parse", "refs/stash")
    here.commit(MESSAGES[0], {"fares/rounding.py": ROUNDING})
    both = prices(with_children(story.old), story.year - 1)
    here.commit(MESSAGES[1], {"fares/prices.py": both, "fares/quote.py": QUOTE_CHILD})
    here.git("push", "-q", "origin", FEATURE)
    here.git("fetch", "-q", "origin")
    here.commit(story.debug, {"fares/cli.py": with_debug(CLI)})
    here.commit(MESSAGES[2], {"fares/cli.py": with_debug(CLI_CHILD)})
    here.write({"docs/fares.md": with_child_docs(DOCS)})
    here.git("stash", "push", "-q", "-m", "docs for the child fares")
    return experiment


def push_from_elsewhere(other: str) -> str:
    """Add a commit to the feature that only the remote has, and return it."""
    OTHER.mkdir()
    there = Repository(OTHER)
    there.git("clone", "-q", "-b", FEATURE, str(REMOTE), ".", who=other)
    theirs = there.commit(TESTS_MESSAGE, {"tests/test_child.py": TEST_CHILD}, other)
    there.git("push", "-q", "origin", FEATURE, who=other)
    shutil.rmtree(OTHER)
    return theirs


def write_handover(story: Story) -> None:
    text = (Path(os.environ["AGENTGYM_SETUP"]) / "HANDOVER.md").read_text()
    words = {"AUTHOR": AUTHOR, "OTHER": story.other, "DEBUG": story.debug, "YEAR": str(story.year)}
    for word, said in {**words, "HOTFIX": HOTFIX, "FEATURE": FEATURE}.items():
        text = text.replace(f"<{word}>", said)
    (WORK / "HANDOVER.md").write_text(text)


def main() -> None:
    story = draw_story()
    here = begin()
    base, main_tip = write_main(here, story)
    here.git("checkout", "-q", "-b", HOTFIX)
    hotfix = here.commit("cli: receipt counts every ticket", {"fares/cli.py": CLI_FIXED})
    experiment = write_feature(here, story, base)
    theirs = push_from_elsewhere(story.other)
    for repository in (here, Repository(REMOTE)):
        repository.git("-c", "pack.threads=1", "repack", "-adq")
    here.git("rebase", "-q", "main", fails=True)
    write_handover(story)
    gold = {
        "main": main_tip,
        "hotfix": hotfix,
        "experiment": experiment,
        "theirs": theirs,
        "in_order": MESSAGES,
        "authors": {**dict.fromkeys([*MESSAGES, DOCS_MESSAGE], AUTHOR), TESTS_MESSAGE: story.other},
        "touches": {
            MESSAGES[0]: ["fares/rounding.py"],
            MESSAGES[1]: ["fares/prices.py", "fares/quote.py"],
            MESSAGES[2]: ["fares/cli.py"],
            DOCS_MESSAGE: ["docs/fares.md"],
            TESTS_MESSAGE: ["tests/test_child.py"],
        },
        "exact": {
            "fares/cli.py": CLI_CHILD,
            "docs/fares.md": with_child_docs(DOCS_MAIN),
            "tests/test_child.py": TEST_CHILD,
        },
        "parsed": {
            "fares/prices.py": prices(with_children(story.new), story.year),
            "fares/quote.py": QUOTE_CHILD,
            "fares/rounding.py": ROUNDING,
        },
    }
    (Path(os.environ["AGENTGYM_GOLD"]) / "repository.json").write_text(json.dumps(gold))


main()
