"""Members as CSV and JSON."""

import csv
import json
from dataclasses import asdict
from typing import TextIO

from guild.members import Members

_COLUMNS = ("name", "email", "joined", "left_on", "note")


def export_csv(members: Members, file: TextIO) -> None:
    """Write all members as CSV."""
    writer = csv.DictWriter(file, _COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for member in members.all():
        writer.writerow(asdict(member))


def export_json(members: Members, file: TextIO) -> None:
    """Write all members as a JSON list."""
    json.dump([asdict(member) for member in members.all()], file, indent=1, ensure_ascii=False)
    file.write("\n")
