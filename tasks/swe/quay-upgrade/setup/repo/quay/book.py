"""The file of stays."""

from pathlib import Path

import fieldkit


def read_book(path):
    """Return the records of a file."""
    text = Path(path).read_text(encoding="utf-8")
    return [fieldkit.parse(block) for block in text.split("\n\n") if block.strip()]


def write_book(path, records):
    """Write the records to a file."""
    with open(path, "w", encoding="utf-8") as file:
        fieldkit.dump(records, file)


def listed(records):
    """Return the records by day of arrival, then as in the file."""
    records = list(records)
    fieldkit.sort(records, "from")
    return records
