"""Saved pages for the browser; equal arguments give equal bytes."""

import html

_STYLE = """\
body { font: 15px/1.45 "Liberation Sans", sans-serif; margin: 0; color: #22303c; }
header { background: #2f5d50; color: #fff; padding: 10px 28px; }
header b { font-size: 19px; } header span { margin-left: 24px; }
main { max-width: 900px; margin: 0 28px 40px; }
table { border-collapse: collapse; margin: 8px 0 20px; }
th, td { border-bottom: 1px solid #b8c4c0; padding: 3px 22px 3px 4px; text-align: left; }
th { background: #e3ebe8; } td:nth-child(n+2) { text-align: right; }
.note { background: #f6f1dd; padding: 6px 12px; }
"""


def write_page(path, site, sections, heading, parts):
    """Write a page.

    Args:
        path: Where it is saved.
        site: Name of the site, in the head of its pages.
        sections: Names beside it.
        heading: Its title and first heading.
        parts: HTML of its paragraphs and tables.
    """
    names = "".join(f"<span>{html.escape(name)}</span>" for name in sections)
    body = "\n".join(parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f"<title>{html.escape(heading)}</title>\n<style>\n{_STYLE}</style></head>\n<body>\n"
        f"<header><b>{html.escape(site)}</b>{names}</header>\n<main>\n"
        f"<h1>{html.escape(heading)}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )
