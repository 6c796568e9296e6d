"""A migration that is cut short at any point, and what a file keeps of members that are gone."""

import shutil
import sqlite3

import pytest

from guild import GuildError, Members, open_store
from guild.cli import main
from guild.duplicates import merge

OLD = (
    "CREATE TABLE members (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, email TEXT NOT NULL DEFAULT '',"
    " joined TEXT NOT NULL DEFAULT '')",
    "ALTER TABLE members ADD COLUMN left_on TEXT NOT NULL DEFAULT ''; CREATE INDEX members_by_name ON members (name)",
    "ALTER TABLE members ADD COLUMN note TEXT NOT NULL DEFAULT ''; CREATE INDEX members_by_email ON members (email)",
)

def old_file(path, version):
    connection = sqlite3.connect(path)
    for step in OLD[:version]:
        connection.executescript(step)
    connection.execute("INSERT INTO members (name, email) VALUES ('Ada', 'a@x.org; ask his wife')")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()


def content(path):
    connection = sqlite3.connect(path)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = [row for row in connection.execute("SELECT sql FROM sqlite_master ORDER BY name")]
    rows = list(connection.execute("SELECT * FROM members"))
    connection.close()
    return version, tables, rows


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_migration_that_is_cut_short_is_all_or_nothing(tmp_path, monkeypatch, version):
    """The file and its journal are copied at each statement: that is what a power failure leaves."""
    path, copies = tmp_path / "club.db", []
    old_file(path, version)
    before, connect = content(path), sqlite3.connect

    def copied(statement):
        folder = tmp_path / f"copy-{len(copies)}"
        folder.mkdir()
        for name in ("club.db", "club.db-journal", "club.db-wal"):
            if (tmp_path / name).exists():
                shutil.copy(tmp_path / name, folder / name)
        copies.append(folder / "club.db")

    def watched(*arguments, **options):
        connection = connect(*arguments, **options)
        connection.set_trace_callback(copied)
        return connection

    monkeypatch.setattr(sqlite3, "connect", watched)
    open_store(path).close()
    monkeypatch.undo()
    assert len(copies) > 3 and content(path)[0] == 4
    for copy in copies:
        after = content(copy)
        assert after == before or after[0] == 4
    members = Members(open_store(copies[-1]))
    assert members.get(1).emails == ("a@x.org",) and members.get(1).note == "e-mail: ask his wife"
    members.connection.close()


@pytest.fixture
def members(tmp_path):
    connection = open_store(tmp_path / "club.db")
    yield Members(connection)
    connection.close()


def test_nothing_is_kept_of_members_that_are_gone(members):
    members.add("Ada", emails=["ada@x.org"])
    members.add("Ben", emails=["ben@secret.org"])
    members.add("Cid", emails=["cid@secret.org"])
    members.remove(2)
    merge(members, 1, 3)
    members.update(1, emails=["ada@x.org"])
    assert "secret.org" not in "\n".join(members.connection.iterdump())
    members.add("Dan")
    assert members.get(4).emails == ()


@pytest.mark.parametrize("text", ["a@x.org,b@x.org", "a@x.org; b@x.org", "a@x.org b@x.org", "a@x", "a @x.org"])
def test_one_text_is_one_address(members, tmp_path, text):
    with pytest.raises(GuildError):
        members.add("Ada", emails=[text])
    assert members.all() == []
    members.add("Ada", emails=["c@x.org"])
    with pytest.raises(GuildError):
        members.update(1, name="Ida", emails=["d@x.org", text])
    assert main([str(tmp_path / "club.db"), "email", "1", "add", text]) == 1
    assert (members.get(1).name, members.get(1).emails) == ("Ada", ("c@x.org",))
