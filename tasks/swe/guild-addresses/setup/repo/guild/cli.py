"""Commands."""

import argparse
import sys
from collections.abc import Sequence

from guild.duplicates import duplicates, merge
from guild.errors import GuildError
from guild.exporter import export_csv, export_json
from guild.importer import import_csv
from guild.mailing import recipients
from guild.members import Members
from guild.stats import stats
from guild.store import open_store


def main(arguments: Sequence[str]) -> int:
    """Run a command; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        connection = open_store(options.file)
        try:
            return int(options.run(Members(connection), options) or 0)
        finally:
            connection.close()
    except (GuildError, OSError) as error:
        print(f"guild: {error}", file=sys.stderr)
        return 1


def _add(members: Members, options: argparse.Namespace) -> None:
    print(members.add(options.name, options.email, options.joined).number)


def _show(members: Members, options: argparse.Namespace) -> None:
    member = members.get(options.number)
    for field in ("number", "name", "email", "joined", "left_on", "note"):
        if value := getattr(member, field):
            print(f"{field:<8} {value}")


def _list(members: Members, options: argparse.Namespace) -> None:
    for member in members.find(options.text):
        left = f" (left {member.left_on})" if member.left_on else ""
        print(f"{member.number:<2} {member.name}{left}")


def _leave(members: Members, options: argparse.Namespace) -> None:
    members.update(options.number, left_on=options.day)


def _note(members: Members, options: argparse.Namespace) -> None:
    members.update(options.number, note=options.text)


def _import(members: Members, options: argparse.Namespace) -> int:
    with open(options.csv, encoding="utf-8", newline="") as file:
        done = import_csv(members, file)
    print(f"{done.added} added, {done.updated} updated")
    for problem in done.problems:
        print(f"{options.csv}: {problem}", file=sys.stderr)
    return 1 if done.problems else 0


def _export(members: Members, options: argparse.Namespace) -> None:
    (export_json if options.json else export_csv)(members, sys.stdout)


def _mailing(members: Members, options: argparse.Namespace) -> None:
    for address in recipients(members):
        print(address)


def _duplicates(members: Members, options: argparse.Namespace) -> None:
    for group in duplicates(members):
        print(", ".join(f"{member.number} {member.name}" for member in group))


def _merge(members: Members, options: argparse.Namespace) -> None:
    merge(members, options.number, options.other)


def _stats(members: Members, options: argparse.Namespace) -> None:
    for what, count in stats(members).items():
        print(f"{count:>5} {what}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="guild")
    parser.add_argument("file")
    commands = parser.add_subparsers(required=True)

    def command(name, run, *positional, **flags):
        sub = commands.add_parser(name)
        for each in positional:
            kind = int if each in ("number", "other") else str
            sub.add_argument(each, type=kind)
        for flag, default in flags.items():
            sub.add_argument(f"--{flag}", default=default)
        sub.set_defaults(run=run)
        return sub

    command("add", _add, "name", email="", joined="")
    command("show", _show, "number")
    command("list", _list).add_argument("text", nargs="?", default="")
    command("leave", _leave, "number", "day")
    command("note", _note, "number", "text")
    command("import", _import, "csv")
    command("export", _export).add_argument("--json", action="store_true")
    command("mailing", _mailing)
    command("duplicates", _duplicates)
    command("merge", _merge, "number", "other")
    command("stats", _stats)
    return parser
