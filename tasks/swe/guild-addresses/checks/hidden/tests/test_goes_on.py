"""A migration that is cut short at any point, and what a file keeps of members that are gone."""

import os
import shutil
import sqlite3
import subprocess
import sys

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


@pytest.fixture
def run(tmp_path, capsys):
    def run(*words, code=0):
        assert main([str(tmp_path / "club.db"), *map(str, words)]) == code
        seen = capsys.readouterr()
        assert code or not seen.err
        return seen.err if code else seen.out

    return run


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", 7], "no member 7"),
        (["leave", 7, "2020-01-01"], "no member 7"),
        (["note", 7, "x"], "no member 7"),
        (["merge", 1, 7], "no member 7"),
        (["merge", 7, 1], "no member 7"),
        (["merge", 1, 1], "a member cannot be merged with itself"),
        (["leave", 1, "soon"], "no day: 'soon'"),
        (["add", "Ben", "--joined", "2020-02-30"], "no day: '2020-02-30'"),
        (["add", "  "], "a member needs a name"),
        (["add", "Ben", "--email", "nothing"], "no e-mail address: 'nothing'"),
    ],
)
def test_errors_are_told_in_the_words_of_before(run, words, told):
    run("add", "Ada", "--email", "a@x.org")
    before = run("export", "--json")
    assert run(*words, code=1) == f"guild: {told}\n"
    assert run("export", "--json") == before


def test_fields_that_are_not_there(members):
    members.add("Ada")
    for fields in ({"colour": "red"}, {"zoo": "", "colour": "red"}):
        with pytest.raises(GuildError) as caught:
            members.update(1, **fields)
        assert str(caught.value) == f"no field {min(fields)!r}"
    with pytest.raises(GuildError, match="no member 2"):
        members.remove(2)


def test_a_member_from_beginning_to_end(run):
    assert run("add", "  Ada \t  Byron ", "--joined", "2020-01-02", "--email", " a@x.org ") == "1\n"
    run("note", 1, "one; two")
    run("leave", 1, "2021-03-04")
    assert run("show", 1).splitlines() == [
        "number   1",
        "name     Ada Byron",
        "email    a@x.org",
        "joined   2020-01-02",
        "left_on  2021-03-04",
        "note     one; two",
    ]
    assert run("add", "Ben") == "2\n"
    assert run("show", 2) == "number   2\nname     Ben\n"
    assert run("list") == "1  Ada Byron (left 2021-03-04)\n2  Ben\n"
    run("leave", 1, "")
    run("note", 1, "")
    assert run("list") == "1  Ada Byron\n2  Ben\n" and "note" not in run("show", 1)


@pytest.mark.parametrize(("text", "numbers"), [("", "1 2 3"), ("BYRON", "1"), ("strasse", "3"), ("X.ORG", "2"), ("none", "")])
def test_members_are_found_whatever_the_capitals(run, text, numbers):
    run("add", "Ada Byron")
    run("add", "Ben", "--email", "ben@x.org")
    run("add", "Cid Straße")
    assert " ".join(line.split()[0] for line in run("list", text).splitlines()) == numbers


def test_groups_and_numbers_are_printed(run):
    for name in ("Ada", "Ben"):
        run("add", name, "--email", "a@x.org")
    run("add", "Cid")
    run("leave", 2, "2020-01-01")
    assert run("duplicates") == "1 Ada, 2 Ben\n"
    assert run("stats") == "    2 members\n    1 left\n    1 without address\n"


def test_what_is_merged(members, run):
    members.add("Ada", emails=["a@x.org"], joined="2020-01-01", note="one")
    members.add("Ada Byron", joined="2019-01-01", note="two")
    members.add("A. Byron", emails=["b@x.org"])
    members.update(3, left_on="2021-01-01")
    run("merge", 1, 2)
    run("merge", 1, 3)
    (ada,) = members.all()
    assert (ada.number, ada.name, ada.joined, ada.left_on, ada.note) == (1, "Ada", "2019-01-01", "", "one\ntwo")
    run("merge", members.add("Eve").number, 1)
    (eve,) = members.all()
    assert (eve.number, eve.name, eve.joined, eve.note, eve.email) == (4, "Eve", "2019-01-01", "one\ntwo", "a@x.org")
    assert merge(members, members.add("Fay").number, members.add("Gil").number).joined == ""


def test_numbers_are_not_used_again(members):
    members.add("Ada")
    members.add("Ben")
    members.remove(2)
    assert members.add("Cid").number == 3 and [member.name for member in members.all()] == ["Ada", "Cid"]


def test_imports(run, tmp_path, capsys):
    run("add", "Ada", "--email", "a@x.org", "--joined", "2020-01-01")
    run("note", 1, "kept")
    file = tmp_path / "members.csv"
    file.write_bytes('email,name,colour,note,joined\nA@x.org, Ada  B ,red,,\n"b@x.org",Bär,,"one\r\ntwo",2021-01-01\n'.encode())
    assert run("import", file) == "1 added, 1 updated\n"
    assert run("show", 1).splitlines()[1:] == ["name     Ada B", "email    a@x.org", "joined   2020-01-01", "note     kept"]
    assert run("show", 2) == "number   2\nname     Bär\nemail    b@x.org\njoined   2021-01-01\nnote     one\r\ntwo\n"
    file.write_text("name,joined\n\nCid,\n ,\nDan,soon\n")
    assert main([str(tmp_path / "club.db"), "import", str(file)]) == 1
    seen = capsys.readouterr()
    assert seen.out == "1 added, 0 updated\n"
    assert seen.err == f"{file}: line 4: a member needs a name\n{file}: line 5: no day: 'soon'\n"
    for text in ("", "mail\nx\n"):
        file.write_text(text)
        assert run("import", file, code=1) == "guild: the file has no column 'name'\n"
    assert "No such file" in run("import", tmp_path / "none.csv", code=1)


def test_exports(run):
    run("add", 'Ä "B"', "--joined", "2020-01-01")
    run("note", 1, "x, y")
    assert run("export") == 'name,email,joined,left_on,note\n"Ä ""B""",,2020-01-01,,"x, y"\n'
    shown = run("export", "--json")
    assert shown.startswith("[\n {\n  ") and shown.endswith("\n }\n]\n") and '"Ä \\"B\\""' in shown


def test_files_that_are_refused(run, tmp_path):
    run("add", "Ada")
    connection = sqlite3.connect(tmp_path / "club.db")
    connection.execute("PRAGMA user_version = 5")
    connection.close()
    before = (tmp_path / "club.db").read_bytes()
    assert run("list", code=1) == "guild: the file has version 5; this program knows 4\n"
    assert (tmp_path / "club.db").read_bytes() == before
    (tmp_path / "club.db").write_bytes(b"notes" * 1000)
    assert run("list", code=1) == f"guild: {tmp_path / 'club.db'}: file is not a database\n"
    assert (tmp_path / "club.db").read_bytes() == b"notes" * 1000


@pytest.mark.parametrize("words", [[], ["show"], ["show", "x"], ["add"], ["sell", "1"], ["export", "--xml"], ["leave", "1"]])
def test_odd_words_are_refused(words, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "club.db"), *words])
    assert ended.value.code == 2 and capsys.readouterr().err.startswith("usage: guild")
    assert not (tmp_path / "club.db").exists()


def test_a_change_that_is_refused_is_undone_as_a_whole(members):
    members.add("Ada", joined="2020-01-01")
    with pytest.raises(GuildError):
        members.update(1, name="Ida", note="x", left_on="soon")
    assert members.get(1).name == "Ada" and members.get(1).note == "" and not members.connection.in_transaction
    ada = members.update(1, joined="", name=" A  B ")
    assert (ada.name, ada.joined, ada.is_active) == ("A B", "", True)
    assert members.update(1, left_on="2021-01-01").is_active is False
    with pytest.raises(AttributeError):
        ada.name = "Ben"


def test_files_are_read_as_utf_8_wherever(tmp_path):
    (tmp_path / "m.csv").write_text("name\nBär\n", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "utf-8"}
    for words, said in ((["import", tmp_path / "m.csv"], "1 added, 0 updated\n"), (["list"], "1  Bär\n")):
        done = subprocess.run(
            [sys.executable, "-m", "guild", tmp_path / "club.db", *words], env={**os.environ, **plain}, capture_output=True
        )
        assert (done.returncode, done.stdout.decode(), done.stderr) == (0, said, b"")
