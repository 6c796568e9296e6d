"""The history of an invented project in which secrets come and go, as data.

A commit holds its whole tree, so the same list gives the repository and, with every tree redacted,
the repository that must come out.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

PEOPLE = (
    "Marta Kowalczyk <marta@corp.example>",
    "Jürgen Weiß <juergen.weiss@corp.example>",
    "Dev Patel <dev@corp.example>",
    "Renée Dubois <renee@contractor.example>",
    "build-bot <bot@ci.corp.example>",
)
ZONES = ("+0200", "+0100", "-0500", "+0530", "+0000")
MODULES = ("api", "queue", "storage", "metrics", "cli", "auth", "retry", "schema")
CHORES = (
    "Add timeout to {m}",
    "Fix off-by-one in {m} paging",
    "Log request ids in {m}\n\nWithout them two support cases could not be told apart.",
    "Speed up {m} start-up",
    "{m}: handle empty replies",
    "Refactor {m}\n\nNo change in behaviour.\n\nReviewed-by: Dev Patel <dev@corp.example>",
    "Document {m} settings",
)
Tree = dict  # path -> (mode, contents)


@dataclass(frozen=True)
class Secrets:
    """The leaked values, by what they open."""

    database: str
    old_token: str
    token: str
    cloud: str
    signing: str

    @classmethod
    def draw(cls, rng: random.Random) -> Secrets:
        letters = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"

        def word(length: int) -> str:
            return "".join(rng.choices(letters, k=length))

        return cls(
            database=f"{word(4)}$.{word(3)}/{word(2)}+[{word(3)}&\\{word(2)}",
            old_token=f"tk_live_{word(28)}",
            token=f"tk_live_{word(28)}",
            cloud=f"CLDK{word(16).upper()}",
            signing=f"{rng.getrandbits(160):040x}",
        )

    def all(self) -> list[str]:
        return [self.database, self.old_token, self.token, self.cloud, self.signing]


@dataclass
class Commit:
    mark: int
    message: str
    author: str
    committer: str
    parents: list[int]
    tree: Tree


@dataclass
class History:
    """Commits in order, and the refs that point at them."""

    rng: random.Random
    commits: list[Commit] = field(default_factory=list)
    refs: dict[str, int] = field(default_factory=dict)
    annotated: dict[str, tuple[str, str]] = field(default_factory=dict)
    clock: int = 1_640_000_000

    def commit(
        self, ref: str, message: str, edits: Tree, *, on: str = "", merge: str = ""
    ) -> Commit:
        """Add a commit on `ref` (starting from `on`); an edit of None removes a file."""
        rng = self.rng
        start = self.refs.get(ref) or self.refs.get(on)
        parents = [mark for mark in (start, self.refs.get(merge)) if mark]
        tree = dict(self.commits[start - 1].tree) if start else {}
        if merge:
            tree.update(self.commits[self.refs[merge] - 1].tree)
        tree.update(edits)
        tree = {path: entry for path, entry in tree.items() if entry is not None}
        self.clock += rng.randint(3_600, 500_000)
        author, zone = rng.choice(PEOPLE), rng.choice(ZONES)
        committer = rng.choice(PEOPLE) if rng.random() < 0.2 else author
        later = self.clock + (rng.randint(60, 9_000) if committer != author else 0)
        made = Commit(
            len(self.commits) + 1,
            message + "\n",
            f"{author} {self.clock} {zone}",
            f"{committer} {later} {zone}",
            parents,
            tree,
        )
        self.commits.append(made)
        self.refs[ref] = made.mark
        return made

    def chore(self, ref: str, on: str = "") -> None:
        """Add a commit that has nothing to do with secrets."""
        module = self.rng.choice(MODULES)
        path = f"src/{module}.py"
        start = self.refs.get(ref) or self.refs.get(on)
        _, old = self.commits[start - 1].tree.get(path, ("", b'"""Part of the service."""\n'))
        number = self.rng.randint(100, 999)
        body = f"\n\ndef step_{number}(value: int) -> int:\n    return value * {number}\n"
        message = self.rng.choice(CHORES).format(m=module)
        self.commit(ref, message, {path: ("100644", old + body.encode())}, on=on)

    def tag(self, name: str, ref: str, message: str = "") -> None:
        self.refs[f"refs/tags/{name}"] = self.refs[ref]
        if message:
            tagger = f"{self.rng.choice(PEOPLE)} {self.clock + 900} +0100"
            self.annotated[f"refs/tags/{name}"] = (tagger, message + "\n")


def text(content: str, mode: str = "100644") -> tuple[str, bytes]:
    return mode, content.encode()


def backup_script(token: str) -> tuple[str, bytes]:
    return text(
        f"#!/bin/sh\nset -eu\nTOKEN={token}\n"
        'curl -sS -H "Authorization: Bearer $TOKEN" --upload-file "$1" "$BACKUP_URL"\n',
        "100755",
    )


def settings(password: str) -> tuple[str, bytes]:
    return text(f"database:\n  host: db.internal\n  user: app\n  {password}\nworkers: 4\n")


def compose(password: str) -> tuple[str, bytes]:
    return text(f"services:\n  app:\n    image: app:latest\n    environment:\n      - {password}\n")


def deploy_script(password: str) -> tuple[str, bytes]:
    """Return a script with Windows line ends and a byte that is not UTF-8."""
    lines = ["# Deployment für Büro-PCs", f"$pw = '{password}'", "Invoke-Deploy -Password $pw", ""]
    return "100644", "\r\n".join(lines).encode("latin-1")


def draw_history(rng: random.Random, project: str, secrets: Secrets) -> History:
    """Return the history; `main` still holds the token and, in one script, the password."""
    history = History(rng)
    main, release, sso = "refs/heads/main", "refs/heads/release/1.x", "refs/heads/feature/sso"
    in_yaml = f"password: '{secrets.database}'"

    def chores(ref: str, low: int, high: int) -> None:
        for _ in range(rng.randint(low, high)):
            history.chore(ref)

    first = {
        "README.md": text(f"# {project}\n\nInternal service. See docs/CONFIG.\n"),
        ".gitignore": text("*.pyc\n.env\n"),
        "config/settings.yml": settings("password: changeme"),
        "docs/CONFIG": text("../config/settings.yml", "120000"),
    }
    history.commit(main, "Initial import", first)
    chores(main, 2, 4)
    history.commit(main, "Point to the real database", {"config/settings.yml": settings(in_yaml)})
    chores(main, 1, 3)
    history.commit(main, "Nightly backup", {"scripts/backup.sh": backup_script(secrets.old_token)})
    chores(main, 1, 3)
    moved = {
        "config/settings.yml": settings("password: from-environment"),
        "deploy/compose.yml": compose(f"DB_PASSWORD={secrets.database}"),
    }
    history.commit(main, "Move the database password to compose", moved)

    history.chore(sso, on=main)
    env = text(f"CLOUD_KEY={secrets.cloud}\nREGION=eu-1\n")
    history.commit(sso, "Try single sign-on against the cloud directory", {"deploy/prod.env": env})
    history.commit(sso, "Oops, not for the repository", {"deploy/prod.env": None})
    history.chore(sso)
    chores(main, 1, 2)
    history.commit(main, "Merge branch 'feature/sso'", {}, merge=sso)

    chores(main, 1, 3)
    history.chore(release, on=main)
    history.tag("v1.0", release)
    chores(release, 2, 3)
    pinned = {"deploy/prod.env": env, "config/settings.yml": settings(in_yaml)}
    history.commit("rehearsal", "Pin settings for the rehearsal", pinned, on=release)
    history.tag("v1.1-rc1", "rehearsal", "Rehearsal only\n\nDo not deploy.")
    history.chore(release)
    history.tag("v1.1", release, "Version 1.1")

    rotated = {"scripts/backup.sh": backup_script(secrets.token)}
    history.commit(main, "Rotate the backup token", rotated)
    chores(main, 1, 3)
    script = {"scripts/deploy.ps1": deploy_script(secrets.database)}
    history.commit(main, "Deployment from Windows", script)
    chores(main, 1, 3)
    clean = {"deploy/compose.yml": compose("DB_PASSWORD")}
    history.commit(main, "Take the password from the environment", clean)
    report = "refs/heads/feature/report-export"
    history.chore(report, on=main)
    debugging = settings(f"# was {secrets.database} until May")
    history.commit(report, "Debug the export", {"config/settings.yml": debugging})
    chores(main, 2, 4)

    # What no branch or tag shows: a commit that was amended away, and a branch that was deleted.
    key = {"config/signing.key": text(secrets.signing + "\n")}
    history.commit("amended", "Sign the exports", key, on=main)
    history.commit(main, "Sign the exports", {"src/sign.py": text("KEY_FILE = '/run/key'\n")})
    for number in (1, 2):
        key = {f"deploy/region-{number}.env": text(f"CLOUD_KEY={secrets.cloud}\n# {number}\n")}
        history.commit("deleted", f"Second region, part {number}", key, on=sso)
    return history
