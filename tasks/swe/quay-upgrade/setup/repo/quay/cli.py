"""The commands."""

import argparse
import sys
from datetime import date

from quay.bill import bill
from quay.book import read_book, write_book
from quay.check import problems
from quay.queries import free, lines, on
from quay.update import add


def main(argv):
    """Run a command; return its exit code."""
    given = _parser().parse_args(argv)
    if given.command == "check":
        found = problems(given.file)
        print("\n".join(found), file=sys.stderr, end="\n" if found else "")
        return 1 if found else 0
    try:
        records = read_book(given.file)
        if given.command == "add":
            write_book(given.file, add(records, read_book(given.new)))
            return 0
    except ValueError as error:
        print(f"line {error.line}: {error}", file=sys.stderr)
        return 1
    if given.command == "list":
        print("\n".join(lines(records)))
    elif given.command == "on":
        print("\n".join(f"{berth:<4} {boat}" for berth, boat in sorted(on(records, given.day).items())))
    elif given.command == "free":
        print("\n".join(free(records, given.day, given.metres)))
    else:
        print("\n".join(bill(records, given.boat)))
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="quay")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("list", "on", "free", "add", "check", "bill"):
        command = commands.add_parser(name)
        command.add_argument("file")
        if name in ("on", "free"):
            command.add_argument("day", type=date.fromisoformat)
        if name == "free":
            command.add_argument("metres", type=int)
        if name == "add":
            command.add_argument("new")
        if name == "bill":
            command.add_argument("boat")
    return parser
