"""Wrap a fragment into a whole page.

usage: page.py VERSION-FILE PARTIALS-FOLDER FRAGMENT
"""

import sys


def read(path):
    with open(path) as file:
        return file.read()


def main():
    version, partials, fragment = sys.argv[1:]
    print(read(f"{partials}/header.html"), end="")
    print("<main>")
    print(read(fragment), end="")
    print("</main>")
    print(read(f"{partials}/footer.html").replace("@VERSION@", read(version).strip()), end="")


main()
