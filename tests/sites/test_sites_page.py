"""The example of docs/sites.md, as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


async def test_the_example_of_the_page_works(tmp_path, monkeypatch):
    page = (DOCS / "sites.md").read_text()
    service = [text for _, text in BLOCK.findall((DOCS / "services.md").read_text())]
    folder = tmp_path / "envs" / "hall" / "services" / "rooms"
    folder.mkdir(parents=True)
    (folder / "schema.sql").write_text(service[0])
    (folder / "service.py").write_text(service[1])
    named = re.findall(r"`(envs/[\w/.]+)`[^`]*?:\n\n```\w+\n(.*?)```", page, re.DOTALL)
    assert len(named) == 5
    for name, text in named:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    (test,) = [text for kind, text in BLOCK.findall(page) if "def test_" in text]
    scope: dict[str, object] = {}
    exec(compile(test, "docs/sites.md", "exec"), scope)
    await scope["test_a_room_is_booked"]()
