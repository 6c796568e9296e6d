"""Mirrors feeds: python3 -m tern FOLDER FEED..."""

import sys
from collections.abc import Sequence
from pathlib import Path

from tern.errors import Fatal
from tern.mirror import mirror
from tern.transport import Transport


def main(arguments: Sequence[str]) -> int:
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        report = mirror(Transport(), Path(arguments[0]), arguments[1:])
    except Fatal as error:
        print(f"tern: {error}", file=sys.stderr)
        return 3
    print(f"{len(report.fetched)} fetched, {len(report.known)} known, {report.tries} requests")
    for url, reason in report.failed:
        print(f"{url}: {reason}", file=sys.stderr)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
