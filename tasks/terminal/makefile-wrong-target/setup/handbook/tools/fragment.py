"""Render one page's text to an HTML fragment.

usage: fragment.py CONFIG PAGE

Knows headings, lists, paragraphs, [links](to) and {{names}} from the configuration.
"""

import configparser
import html
import re
import sys


def main():
    config = configparser.ConfigParser(interpolation=None)
    config.read(sys.argv[1])
    values = config["site"]
    in_list = False
    with open(sys.argv[2]) as page:
        for number, line in enumerate(page, 1):
            text = html.escape(line.rstrip("\n"), quote=False)
            for name in re.findall(r"{{(\w+)}}", text):
                if name not in values:
                    sys.exit(f"{sys.argv[2]}:{number}: unknown name {name!r}")
                text = text.replace("{{" + name + "}}", values[name])
            text = re.sub(r"\[([^]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', text)
            if in_list != text.startswith("- "):
                in_list = not in_list
                print("<ul>" if in_list else "</ul>")
            if text.startswith("# "):
                print(f"<h1>{text[2:]}</h1>")
            elif text.startswith("## "):
                print(f"<h2>{text[3:]}</h2>")
            elif in_list:
                print(f"<li>{text[2:]}</li>")
            elif text:
                print(f"<p>{text}</p>")
            sys.stdout.flush()
    if in_list:
        print("</ul>")


main()
