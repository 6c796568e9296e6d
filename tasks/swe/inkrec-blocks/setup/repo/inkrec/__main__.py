"""The command."""

import argparse
import sys

from inkrec.errors import DamageError, FormatError
from inkrec.reader import Reader


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="inkrec")
    parser.add_argument("command", choices=("dump", "verify"))
    parser.add_argument("file")
    arguments = parser.parse_args(argv)
    count = 0
    try:
        for found in Reader(arguments.file):
            count += 1
            if arguments.command == "dump":
                print(f"{found.offset:8} {found.kind:3} {found.data!r}")
    except (DamageError, FormatError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    if arguments.command == "verify":
        print(f"{count} records")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
