"""Make the restored share, and for the graders a replica of the same layout with other files.

Every path is made together with the mode the policy asks for, so the truth never comes from
reading the policy back.
"""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

TEAMS = ("design", "video", "print", "sound", "web", "field", "legal", "sales", "night desk")
FOLDERS = ("drafts", "2026 Q1", "assets", "scripts", "clients", "old", "[review]", "final")
DOCUMENTS = (
    *("brief.md", "budget.csv", "notes.txt", "cover v2.svg", "übersicht.txt", "-draft.txt"),
    *("plan\n(copy).txt", "contacts.csv", "logo.svg", "minutes 03.md", "todo", "run.sh.txt"),
)
WORDS = ("proof", "layout", "deadline", "invoice", "caption", "margin", "print", "review", "client")
PROGRAMS = ("export.sh", "convert", "sync.py", "thumbs")
# What editors and programs leave; it looks like rubbish, and is not the script's to remove.
LEFTOVERS = ("notes.txt~", "cover.svg.bak", "plan.tmp", ".~lock.budget.csv#", "Thumbs.db", "core")
KEYS = ("id_ed25519", "deploy.pem", "signing key.txt", "server.key", "backup.old")


@dataclass(frozen=True)
class Entry:
    """One path of the share: as it was restored, and the mode it should have."""

    path: str
    kind: str  # dir | file | link
    area: str
    mode: int = 0
    content: str = ""
    restored: int = 0o777


def text(rng: random.Random, name: str) -> str:
    lines = [" ".join(rng.choices(WORDS, k=8)) for _ in range(rng.randint(1, 20))]
    return "".join(f"{line}\n" for line in [name.strip(), *lines])


def program(rng: random.Random) -> str:
    return rng.choice(
        ('#!/bin/bash\nset -eu\nls "$1"\n', "#!/usr/bin/env python3\nprint('done')\n")
    )


def private_key(rng: random.Random) -> str:
    kind = rng.choice(("", "OPENSSH ", "RSA ", "EC "))
    body = "\n".join(f"{rng.getrandbits(256):064x}" for _ in range(6))
    note = "# do not share\n" if rng.random() < 0.5 else ""
    return f"{note}-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----\n"


def public_half(rng: random.Random) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{rng.getrandbits(512):0128x}\n-----END CERTIFICATE-----\n"


class Share:
    """The entries of one share, filled area by area."""

    def __init__(self, rng: random.Random, root: str) -> None:
        self.rng = rng
        self.root = root
        self.entries: dict[str, Entry] = {}

    def add(self, path: str, kind: str, area: str, mode: int = 0, content: str = "") -> None:
        restored = 0o777 if kind == "dir" else self.rng.choice((0o666, 0o666, 0o777))
        full = f"{self.root}/{path}".rstrip("/")
        self.entries.setdefault(full, Entry(full, kind, area, mode, content, restored))

    def fill(self, folder: str, area: str, file_mode: int, program_mode: int, count: int) -> None:
        """Put documents, perhaps programs, a key and a certificate into a folder."""
        rng = self.rng
        for name in rng.sample(DOCUMENTS, count):
            self.add(f"{folder}/{name}", "file", area, file_mode, text(rng, name))
        for name in rng.sample(PROGRAMS, rng.randint(0, 2)):
            self.add(f"{folder}/{name}", "file", area, program_mode, program(rng))
        if rng.random() < 0.3:
            name = rng.choice(KEYS)
            self.add(f"{folder}/{name}", "file", "keys", 0o600, private_key(rng))
            self.add(f"{folder}/{name}.pub", "file", area, file_mode, public_half(rng))

    def tree(self, top: str, area: str, dir_mode: int, file_mode: int, program_mode: int) -> None:
        """A folder with some folders in it, one of them nested once more."""
        folders = [top, *(f"{top}/{name}" for name in self.rng.sample(FOLDERS, 3))]
        folders.append(f"{folders[-1]}/{self.rng.choice(FOLDERS)}")
        for folder in folders:
            self.add(folder, "dir", area, dir_mode)
            self.fill(folder, area, file_mode, program_mode, self.rng.randint(2, 4))


def make_share(rng: random.Random, params: dict, policy: str, teams: list[str]) -> list[Entry]:
    share = Share(rng, f"/srv/{params['share']}")
    group_changes = params["public_changed_by"] == "the owner and the group"
    all_read = params["archive_read_by"] == "everyone"
    inbox = params["inbox"]

    share.add("", "dir", "top", 0o755)
    share.add("POLICY.md", "file", "top", 0o644, policy)
    share.add("teams", "dir", "top", 0o755)
    for team in teams:
        share.tree(f"teams/{team}", "teams", 0o2770, 0o660, 0o770)
    share.add(f"teams/{teams[0]}/tape index", "link", "links", content="/srv/backup/tape-index.db")
    share.add(f"teams/{teams[1]}/current", "link", "links", content="no such folder any more")
    share.add(f"teams/{teams[1]}/keys", "file", "keys", 0o600, private_key(rng))
    if group_changes:
        share.tree("public", "public", 0o2775, 0o664, 0o775)
    else:
        share.tree("public", "public", 0o2755, 0o644, 0o755)
    share.add("public/press/id_rsa.txt", "file", "keys", 0o600, private_key(rng))
    share.add("public/press", "dir", "public", 0o2775 if group_changes else 0o2755)
    share.add("public/policy", "link", "links", content="../POLICY.md")
    share.add(inbox, "dir", "inbox", 0o1777)
    share.fill(inbox, "inbox", 0o660, 0o660, 4)
    share.add(f"{inbox}/install.sh", "file", "inbox", 0o660, program(rng))
    share.tree(
        "archive", "archive", *((0o555, 0o444, 0o555) if all_read else (0o550, 0o440, 0o550))
    )
    share.add("archive/ca.pem", "file", "keys", 0o600, private_key(rng))
    return [share.entries[path] for path in sorted(share.entries)]


def with_leftovers(entries: list[Entry], team: str) -> list[Entry]:
    """Add files with the names of leftovers to a team's folder, one of them empty.

    Programs of other names, and files that are named like programs, are beside them.
    """
    folder = next(e.path for e in entries if e.path.endswith(f"/teams/{team}"))
    names = [*LEFTOVERS, "empty"]
    added = [
        Entry(f"{folder}/{name}", "file", "teams", 0o660, name.removeprefix("empty"), 0o666)
        for name in names
    ]
    script = "#!/usr/bin/perl\nprint 1;\n"
    for name, mode, content in (
        ("rename all", 0o770, script),
        ("nightly.pl", 0o770, script),
        ("archive.sh", 0o660, "see the folder scripts\n"),
        ("sync.py", 0o660, "# no program any more\n"),
    ):
        path = f"{folder}/leftovers/{name}"
        added.append(Entry(path, "file", "teams", mode, content, 0o666))
    added.append(Entry(f"{folder}/leftovers", "dir", "teams", 0o2770))
    return sorted([*entries, *added], key=lambda entry: entry.path)


def as_tar(entries: list[Entry]) -> bytes:
    """Pack the share as it comes back from the tape."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for entry in entries:
            info = tarfile.TarInfo(entry.path.lstrip("/"))
            info.mtime, info.mode = 1_774_000_000, entry.restored
            body = entry.content.encode() if entry.kind == "file" else b""
            info.type = {"dir": tarfile.DIRTYPE, "link": tarfile.SYMTYPE}.get(
                entry.kind, tarfile.REGTYPE
            )
            info.linkname = entry.content if entry.kind == "link" else ""
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return data.getvalue()


def wanted(entries: list[Entry]) -> str:
    assert all(entry.mode != entry.restored for entry in entries if entry.kind != "link")
    table = {
        e.path: {"area": e.area, "kind": e.kind, "mode": e.mode}
        for e in entries
        if e.kind != "link"
    }
    return json.dumps(table, indent=1)


def main() -> None:
    params = json.loads(os.environ["AGENTGYM_PARAMS"])
    rng = random.Random(f"permissions-repair {params['seed']}")
    policy = (Path(os.environ["AGENTGYM_SETUP"]) / "POLICY.md").read_text()
    for name in ("public_changed_by", "archive_read_by", "inbox"):
        policy = policy.replace(f"<{name}>", params[name])
    teams = rng.sample(TEAMS, 7)
    share = make_share(rng, params, policy, teams[:4])
    replica = with_leftovers(make_share(rng, params, policy, teams[4:]), teams[4])

    Path("/srv/backup").mkdir()
    index = Path("/srv/backup/tape-index.db")
    index.write_bytes(bytes(rng.getrandbits(8) for _ in range(4096)))
    index.chmod(0o400)
    os.utime(index, (1_774_000_000, 1_774_000_000))
    archive = Path("/tmp/share.tar")
    archive.write_bytes(as_tar(share))
    subprocess.run(["tar", "-xpf", str(archive), "-C", "/"], check=True)
    archive.unlink()

    gold = Path(os.environ["AGENTGYM_GOLD"])
    (gold / "share.json").write_text(wanted(share))
    (gold / "replica.json").write_text(wanted(replica))
    (gold / "replica.tar").write_bytes(as_tar(replica))


main()
