"""Say what the handbook's sites should be: call its tools in the right order, without make.

Runs in a finished checkout, on a copy of it, and leaves one JSON file for the graders: the digests
of both sites, a list of changes with the digest of the file in which each must show, and the digest
of the search index after a page got another title.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import runpy
import shutil
import sys
from pathlib import Path

# What is changed; the file, the old text and the new one; where it must show. One after the other.
CHANGES = (
    ("VERSION", "VERSION", "2026.4", "2026.5", "index.html"),
    ("a partial", "partials/header.html", "handbook</a>", "book</a>", "index.html"),
    ("the configuration", "config/production.ini", "people@", "hello@", "index.html"),
    ("tools/page.py", "tools/page.py", "<main>", "<main id='main'>", "index.html"),
    ("tools/fragment.py", "tools/fragment.py", "<h1>", "<h1 id='top'>", "index.html"),
    ("tools/search.py", "tools/search.py", "indent=1", "indent=2", "search.json"),
    ("a style", "styles/90-print.css", "none", "inline", "site.css"),
    ("a new folder", "pages/offices/lisbon.md", "", "# Lisbon\n", "offices/lisbon.html"),
)
RENAMED = ("pages/faq.md", "# Questions", "# The questions")


def change(path: str, old: str, new: str) -> None:
    file = Path(path)
    file.parent.mkdir(exist_ok=True)
    text = file.read_text() if file.exists() else ""
    assert old in text, f"{path} has no {old!r}"
    file.write_text(text.replace(old, new))


def tool(name: str, *arguments: str) -> str:
    """Run one of the handbook's tools in this process; return what it prints."""
    said, before = io.StringIO(), sys.argv
    sys.argv = [name, *arguments]
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(f"tools/{name}.py", run_name="__main__")
    finally:
        sys.argv = before
    return said.getvalue()


def site(profile: str) -> dict[str, str]:
    """Return {path in the site: SHA-256} of the whole site, the checksum file left out."""
    content, fragments = {}, []
    for page in sorted(Path("pages").rglob("*.md")):
        name = page.relative_to("pages").with_suffix("")
        fragment = Path("build", name).with_suffix(".frag")
        fragment.parent.mkdir(parents=True, exist_ok=True)
        fragment.write_text(tool("fragment", f"config/{profile}.ini", str(page)))
        fragments.append(str(fragment))
        content[f"{name}.html"] = tool("page", "VERSION", "partials", str(fragment))
    content["search.json"] = tool("search", *fragments)
    content["site.css"] = "".join(style.read_text() for style in sorted(Path("styles").iterdir()))
    return {path: hashlib.sha256(text.encode()).hexdigest() for path, text in content.items()}


def main() -> None:
    copy = Path("/tmp/handbook")
    shutil.copytree(".", copy, ignore=shutil.ignore_patterns("build", "dist"))
    os.chdir(copy)
    expected = {"sites": {profile: site(profile) for profile in ("production", "staging")}}
    change(*RENAMED)
    expected["renamed"] = {"edit": RENAMED, "search": site("production")["search.json"]}
    change(RENAMED[0], RENAMED[2], RENAMED[1])
    expected["changes"] = []
    for what, path, old, new, shows in CHANGES:
        change(path, old, new)
        digest = site("production")[shows]
        item = {"what": what, "edit": (path, old, new), "shows": shows, "digest": digest}
        expected["changes"].append(item)
    Path(os.environ["AGENTGYM_GOLD"], "expected.json").write_text(json.dumps(expected, indent=1))
    shutil.rmtree(copy)


main()
