"""Collect the headings of all fragments into a search index.

usage: search.py FRAGMENT...
"""

import json
import re
import sys


def main():
    index = []
    for path in sorted(sys.argv[1:]):
        with open(path) as fragment:
            headings = re.findall(r"<h[12]>(.*?)</h[12]>", fragment.read())
        index.append({"title": headings[0] if headings else "", "headings": headings[1:]})
    index.sort(key=lambda entry: entry["title"])
    print(json.dumps(index, indent=1))


main()
