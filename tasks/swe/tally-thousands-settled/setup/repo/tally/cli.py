"""The commands of tally."""

import argparse
import sys
from datetime import date

from tally.book import Book
from tally.errors import JournalError
from tally.reader import read_journal
from tally.report import balance_report, register_report


def main(argv):
    """Run a command; return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        book = Book(read_journal(arguments.journal))
    except JournalError as error:
        print(error, file=sys.stderr)
        return 1
    for problem in book.problems:
        print(problem, file=sys.stderr)
    if book.problems:
        return 1
    if arguments.command == "balance":
        print(balance_report(book, arguments.until))
    elif arguments.command == "register":
        print(register_report(book, arguments.account))
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="tally")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("check", "balance", "register"):
        command = commands.add_parser(name)
        command.add_argument("journal")
        if name == "balance":
            command.add_argument("--until", type=date.fromisoformat)
        if name == "register":
            command.add_argument("account")
    return parser
