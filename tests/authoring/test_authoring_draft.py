"""`task new` in an environment with services of one's own: what it writes is sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.authoring.check import check_task
from agentgym.authoring.scaffold import new_task
from agentgym.errors import ConfigError

ENV = """schema_version = "agentgym.env/1"
title = "A library"
services = "library"
surfaces = ["services"]
"""
SCHEMA = """
CREATE TABLE library_book (id INTEGER PRIMARY KEY, title TEXT NOT NULL, lent_to FREE TEXT, at TEXT);
CREATE TABLE library_note (
  id INTEGER PRIMARY KEY, book_id INTEGER NOT NULL, text FREE TEXT NOT NULL
);
CREATE TABLE library_hall (name TEXT PRIMARY KEY);
"""
SERVICE = '''
from agentgym.services import Service, ServiceError, reads, writes


class Library(Service):
    """Books, and who has them."""

    def fill(self, rng):
        for title in ("Dune", "Emma", "Ulysses"):
            self.db.insert("library_book", title=title)
        self.db.insert("library_hall", name="Birch")

    @reads
    def find(self, title: str = "") -> list[str]:
        """Find books.

        Args:
            title: A part of the title.
        """
        return self.db.column("SELECT title FROM library_book WHERE instr(title, ?)", title)
'''
NOTE = '''
    @writes
    def note(self, book: int, text: str) -> int:
        """Write a note about a book.

        Args:
            book: Its number.
            text: What to say.
        """
        if self.db.one("SELECT 1 FROM library_book WHERE id = ?", book) is None:
            raise ServiceError("not_found", f"no book {book}", "book")
        return self.db.insert("library_note", book_id=book, text=text)
'''
LEND = '''
    @writes
    def lend(self, book: int) -> None:
        """Lend a book to Ada.

        Args:
            book: Its number.
        """
        if self.db.one("SELECT 1 FROM library_book WHERE id = ?", book) is None:
            raise ServiceError("not_found", f"no book {book}", "book")
        self.db.execute("UPDATE library_book SET lent_to='Ada', at=? WHERE id=?", self.now, book)
'''
POST = '''
    @writes
    def post(self, hall: str, text: str) -> int:
        """Post a note in a hall.

        Args:
            hall: Its name.
            text: What to say.
        """
        if not self.db.value("SELECT 1 FROM library_hall WHERE name = ?", hall):
            raise ServiceError("not_found", f"no hall {hall[:80]!r}", "hall")
        return self.db.insert("library_note", book_id=1, text=text)
'''


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def lay_down(*tools: str) -> Path:
        service = tmp_path / "envs/library/services/library"
        service.mkdir(parents=True)
        (tmp_path / "envs/library/env.toml").write_text(ENV)
        (service / "schema.sql").write_text(SCHEMA)
        (service / "service.py").write_text(SERVICE + "".join(tools))
        monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
        return tmp_path

    return lay_down


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("tool", [NOTE, LEND], ids=["adds", "changes"])
async def test_a_task_is_drafted_that_is_sound(tool, library, stage):
    root = library(tool)
    folder = new_task("shelf/first", env="library", template=False, root=root)
    report = await check_task(folder, stage, seeds=1)
    assert report.sound, [(f.property, f.details) for f in report.unsound]
    assert {f.property for f in report.findings if f.soundness == "sound"} > {"oracle", "mutants"}


def test_a_text_that_is_a_key_names_what_is_there(library):
    folder = new_task("shelf/first", env="library", template=False, root=library(POST))
    instruction = (folder / "instruction.md").read_text()
    assert '"hall": "Birch"' in instruction
    assert '"text": "A note for later."' in instruction


def test_where_nothing_can_be_changed_it_is_said(library):
    root = library()
    with pytest.raises(ConfigError, match="no call of its tools that changes a row"):
        new_task("shelf/first", env="library", template=False, root=root)
    assert not (root / "tasks").exists()


def test_where_the_tools_of_the_services_are_not_offered_it_is_said(library):
    root = library(NOTE)
    file = root / "envs/library/env.toml"
    file.write_text(ENV.replace('["services"]', '["browser"]') + 'sites = ["library/*"]\n')
    with pytest.raises(ConfigError, match="offers agents no tool of its services; add .services."):
        new_task("shelf/first", env="library", template=False, root=root)


def test_a_template_is_not_drafted(library):
    with pytest.raises(ConfigError, match="leave --template out"):
        new_task("shelf/first", env="library", template=True, root=library(NOTE))
