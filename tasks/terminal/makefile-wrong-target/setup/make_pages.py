"""Write the handbook's pages: usage make_pages.py FOLDER."""

from __future__ import annotations

import sys
from pathlib import Path

PAGES = {
    "index": ("Welcome", ["holidays", "expenses", "teams/index", "faq"]),
    "holidays": ("Holidays and leave", ["faq"]),
    "expenses": ("Expenses", ["travel"]),
    "travel": ("Business travel", ["expenses"]),
    "faq": ("Questions people ask", ["index"]),
    "teams/index": ("Teams", ["teams/workshop", "teams/people"]),
    "teams/workshop": ("Workshop", ["teams/index"]),
    "teams/people": ("People team", ["teams/index", "holidays"]),
}
SECTIONS = (
    (
        "In short",
        "Decide with your team, note it in the [portal]({{portal}}/requests), then do it.",
    ),
    ("Who decides", "Your lead, within three working days. No answer counts as a yes."),
    (
        "When something goes wrong",
        "Write to {{mail}} or come to the [channel]({{chat}}). There are no stupid questions.",
    ),
)


def main() -> None:
    for name, (title, links) in PAGES.items():
        text = f"# {title}\n\nThis page is about {title.lower()} at Fjordlight.\n"
        for heading, body in SECTIONS:
            text += f"\n## {heading}\n\n{body}\n"
        text += "\n## See also\n\n" + "".join(
            f"- [{PAGES[link][0]}](/{link}.html)\n" for link in links
        )
        path = Path(sys.argv[1], f"{name}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


main()
