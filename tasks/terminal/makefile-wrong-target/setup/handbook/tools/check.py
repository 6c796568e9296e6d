"""Look for dead links in a site.

usage: check.py SITE
"""

import os
import re
import sys


def main():
    site, dead, count = sys.argv[1], 0, 0
    for folder, _, names in os.walk(site):
        for name in sorted(names):
            if not name.endswith(".html"):
                continue
            count += 1
            with open(os.path.join(folder, name)) as page:
                links = re.findall(r'href="([^"]+)"', page.read())
            for link in links:
                if "://" in link or link.startswith("mailto:"):
                    continue
                target = site + link if link.startswith("/") else os.path.join(folder, link)
                if not os.path.exists(target):
                    dead += 1
                    print(f"{os.path.join(folder, name)}: dead link {link}")
    print(f"{count} pages, {dead} dead links")
    sys.exit(1 if dead or not count else 0)


main()
