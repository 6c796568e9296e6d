"""Members from CSV files."""

import csv
from dataclasses import dataclass, field
from typing import TextIO

from guild.errors import GuildError
from guild.members import Members


@dataclass
class Imported:
    """Numbers of members that were added and updated, and the problems of the other rows."""

    added: int = 0
    updated: int = 0
    problems: list[str] = field(default_factory=list)


def import_csv(members: Members, file: TextIO) -> Imported:
    """Read members. Bad rows are reported by line and skipped.

    Raises:
        GuildError: The file has no column `name`.
    """
    rows = csv.DictReader(file)
    if "name" not in (rows.fieldnames or ()):
        raise GuildError("the file has no column 'name'")
    done = Imported()
    for row in rows:
        try:
            _import_row(members, row, done)
        except GuildError as error:
            done.problems.append(f"line {rows.line_num}: {error}")
    return done


def _import_row(members: Members, row: dict[str, str | None], done: Imported) -> None:
    fields = {name: row.get(name) or "" for name in ("name", "email", "joined", "left_on", "note")}
    email = fields["email"].strip()
    known = members.with_email(email) if email else []
    if len(known) > 1:
        raise GuildError(f"{len(known)} members have {email}")
    if known:
        given = {name: value for name, value in fields.items() if value and name != "email"}
        members.update(known[0].number, **given)
        done.updated += 1
        return
    left_on = fields.pop("left_on")
    member = members.add(**fields)
    if left_on:
        members.update(member.number, left_on=left_on)
    done.added += 1
