"""Every link between the pages leads to a file and, with an anchor, to a heading."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_CODE = re.compile(r"^```.*?^```", re.M | re.S)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(text):
    """Return the anchors that a Markdown renderer gives to a page's headings."""
    titles = re.findall(r"^#+ (.+)$", _CODE.sub("", text), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page, text):
    """Yield the links of a page that lead nowhere."""
    for link in _LINK.findall(_CODE.sub("", text)):
        name, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / name).resolve() if name else page
        checked = anchor and target.suffix == ".md"
        if not target.exists() or (checked and anchor not in anchors(target.read_text())):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_link_is_broken(page):
    assert list(broken(page, page.read_text())) == []


def test_a_broken_link_is_found():
    page = ROOT / "docs" / "glossary.md"
    text = "[a](architecture.md#a-task-folder) [b](gone.md) [c](architecture.md#gone) [d](#acting)"
    assert list(broken(page, text)) == ["gone.md", "architecture.md#gone"]


def test_the_glossary_is_linked():
    for name in ("README.md", "docs/architecture.md"):
        assert "glossary.md)" in (ROOT / name).read_text()
