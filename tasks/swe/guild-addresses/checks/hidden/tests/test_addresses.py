"""Several addresses for a member, from the command line to the oldest files."""

import io
import json
import sqlite3
import subprocess
import sys

import pytest

from guild import GuildError, Members, open_store
from guild.duplicates import duplicates, merge
from guild.exporter import export_csv, export_json
from guild.importer import import_csv
from guild.mailing import recipients
from guild.schema import migrate

TABLES = [
    [
        "CREATE TABLE members (number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"
        " email TEXT NOT NULL DEFAULT '', joined TEXT NOT NULL DEFAULT '')"
    ],
    ["ALTER TABLE members ADD COLUMN left_on TEXT NOT NULL DEFAULT ''", "CREATE INDEX members_by_name ON members (name)"],
    ["ALTER TABLE members ADD COLUMN note TEXT NOT NULL DEFAULT ''", "CREATE INDEX members_by_email ON members (email)"],
]
EMAILS = {
    "Ada": "ada@example.org",
    "Ben": "",
    "Cid": " c1@example.org; c2@example.org ,C1@Example.org\n c3@example.org;",
    "Dan": "ask his wife d@example.org (home)",
    "Eve": ";,",
    "Fay": "nothing@",
}


def old_file(path, version):
    connection = sqlite3.connect(path, isolation_level=None)
    if not version:
        return connection
    for statements in TABLES[:version]:
        for statement in statements:
            connection.execute(statement)
    for number, (name, email) in enumerate(EMAILS.items(), start=3):
        connection.execute(
            "INSERT INTO members (number, name, email, joined) VALUES (?, ?, ?, ?)", (number, name, email, "2020-01-02")
        )
    if version >= 3:
        connection.execute("UPDATE members SET note = 'one' || char(10) || 'two' WHERE name = 'Dan'")
        connection.execute("UPDATE members SET left_on = '2021-01-01' WHERE name = 'Ada'")
    connection.execute(f"PRAGMA user_version = {version}")
    return connection


@pytest.mark.parametrize("version", [1, 2, 3])
def test_old_files(path, version):
    old_file(path, version).close()
    for _ in range(2):
        connection = open_store(path)
        assert connection.execute("PRAGMA user_version").fetchone()[0] == 4
        assert "email" not in [row[1] for row in connection.execute("PRAGMA table_info(members)")]
        found = {member.name: member for member in Members(connection).all()}
        connection.close()
    assert [member.number for member in found.values()] == [3, 4, 5, 6, 7, 8]
    assert {name: member.emails for name, member in found.items()} == {
        "Ada": ("ada@example.org",),
        "Ben": (),
        "Cid": ("c1@example.org", "c2@example.org", "c3@example.org"),
        "Dan": ("d@example.org",),
        "Eve": (),
        "Fay": (),
    }
    assert found["Dan"].note == ("one\ntwo\n" if version == 3 else "") + "e-mail: ask his wife (home)"
    assert found["Fay"].note == "e-mail: nothing@" and found["Eve"].note == found["Cid"].note == ""
    assert found["Ada"].left_on == ("2021-01-01" if version == 3 else "")
    assert found["Ada"].joined == "2020-01-02"


def test_a_migrated_file_goes_on_with_its_numbers(path):
    connection = old_file(path, 3)
    connection.execute("DELETE FROM members WHERE number = 8")
    connection.close()
    connection = open_store(path)
    assert Members(connection).add("Gil", emails=["g@example.org"]).number == 9
    assert [row[0] for row in connection.execute("PRAGMA integrity_check")] == ["ok"]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_a_migration_that_is_interrupted_did_not_happen(version):
    """It is interrupted after more and more steps of the database, until it is through."""
    interrupted, after = 0, 1
    while True:
        connection = old_file(":memory:", version)
        before, count = dump_of(connection), 0

        def handler():
            nonlocal count
            count += 1
            return count == after

        connection.row_factory = sqlite3.Row
        connection.set_progress_handler(handler, 3)
        try:
            migrate(connection)
        except sqlite3.Error:
            pass
        connection.set_progress_handler(None, 0)
        connection.rollback()
        now = connection.execute("PRAGMA user_version").fetchone()[0]
        if now != 4:
            assert now == version and dump_of(connection) == before
            interrupted += 1
        connection.close()
        if count < after:
            break
        after += 1 + after // 12
    assert now == 4 and interrupted > 8


def dump_of(connection):
    connection.row_factory = None
    return list(connection.iterdump())


def test_an_error_in_a_migration_changes_nothing(path):
    connection = old_file(path, 3)
    connection.execute(
        "CREATE TRIGGER strict BEFORE UPDATE OF note ON members BEGIN SELECT RAISE(ABORT, 'no notes'); END"
    )
    before = list(connection.iterdump())
    connection.close()
    with pytest.raises(GuildError):
        open_store(path)
    connection = sqlite3.connect(path)
    assert list(connection.iterdump()) == before
    assert connection.execute("PRAGMA user_version").fetchone()[0] == 3
    connection.close()


def test_addresses_are_kept_in_their_order(members):
    member = members.add("Ada", emails=[" b@example.org", "", "a@example.org ", "B@Example.org"], joined="2020-01-01")
    assert member.emails == ("b@example.org", "a@example.org") and member.email == "b@example.org"
    assert members.get(1) == member and members.all() == [member]
    assert members.update(1, emails=["c@example.org", *member.emails]).emails[0] == "c@example.org"
    assert members.update(1, note="x").emails == ("c@example.org", "b@example.org", "a@example.org")
    assert members.update(1, emails=[]).email == ""
    assert members.add("Ben").emails == ()


def test_nothing_is_done_if_an_address_is_refused(members):
    with pytest.raises(GuildError, match="nothing"):
        members.add("Ada", emails=["a@example.org", "nothing"])
    assert members.all() == []
    members.add("Ada", emails=["a@example.org"])
    for wrong in ({"emails": ["b@example.org", "c@"], "name": "Ida"}, {"emails": ["b@example.org"], "joined": "soon"}):
        with pytest.raises(GuildError):
            members.update(1, **wrong)
    assert (members.get(1).name, members.get(1).emails) == ("Ada", ("a@example.org",))


def test_all_addresses_are_searched(members):
    members.add("Ada", emails=["a@example.org", "work@OFFICE.example"])
    members.add("Ben", emails=["b@example.org"])
    assert [member.name for member in members.find("office")] == ["Ada"]
    assert [member.name for member in members.find("example.org")] == ["Ada", "Ben"]


def test_who_is_removed_leaves_no_address(members):
    members.add("Ada", emails=["a@example.org"])
    members.remove(1)
    members.add("Ben")
    assert duplicates(members) == [] and members.find("a@example") == []


def test_the_command_line(run):
    assert run("add", "Ada", "--email", "a@example.org", "--email", "b@example.org") == "1\n"
    run("email", 1, "add", "c@example.org")
    run("email", 1, "prefer", "B@example.org")
    assert run("show", 1).splitlines()[2:] == ["email    b@example.org", "email    a@example.org", "email    c@example.org"]
    run("email", 1, "remove", "A@EXAMPLE.org")
    assert run("show", 1).count("email") == 2
    run("email", 1, "remove", "b@example.org")
    run("email", 1, "remove", "c@example.org")
    assert "email" not in run("show", 1)
    run("email", 1, "add", "d@example.org")
    assert run("mailing") == "d@example.org\n"


@pytest.mark.parametrize(
    "change, address", [("add", "A@example.org"), ("add", "nothing"), ("remove", "x@example.org"), ("prefer", "x@example.org")]
)
def test_changes_that_are_errors(run, change, address):
    run("add", "Ada", "--email", "a@example.org", "--email", "b@example.org")
    told = run("email", 1, change, address, code=1)
    assert told.startswith("guild: ") and told.count("\n") == 1
    assert "no member 2" in run("email", 2, "add", "z@example.org", code=1)
    assert run("show", 1).splitlines()[2:] == ["email    a@example.org", "email    b@example.org"]


def imported(members, text):
    return import_csv(members, io.StringIO("name,email,joined,left_on,note\n" + text))


def test_rows_belong_to_who_has_one_of_the_addresses(members):
    members.add("Ada", emails=["a@example.org", "b@example.org"])
    done = imported(members, "Ada B,new@example.org; B@example.org,2020-01-01,,\nBen,x@example.org;y@example.org,,,\nBen,,,,\nBen,,,,\n")
    assert (done.added, done.updated, done.problems) == (3, 1, [])
    ada = members.get(1)
    assert (ada.name, ada.emails) == ("Ada B", ("a@example.org", "b@example.org", "new@example.org"))
    assert members.get(2).emails == ("x@example.org", "y@example.org")


def test_the_name_decides_between_several(members):
    members.add("Ada", emails=["home@example.org"])
    members.add("Ben", emails=["home@example.org", "ben@example.org"])
    members.add("Cid", emails=["c@example.org"])
    done = imported(members, "Ben,home@example.org,2020-01-01,,\nDan,home@example.org,,,\nCid,c@example.org;ben@example.org,,,\n")
    assert done.updated == 2 and len(done.problems) == 1 and done.problems[0].startswith("line 3:")
    assert members.get(2).joined == "2020-01-01" and members.get(1).joined == ""
    assert members.get(3).emails == ("c@example.org", "ben@example.org")
    members.add("Ben", emails=["home@example.org"])
    assert imported(members, "Ben,home@example.org,2021-01-01,,\n").updated == 0
    assert members.get(2).joined == "2020-01-01" and members.get(4).joined == ""


def test_a_bad_row_changes_nothing(members):
    members.add("Ada", emails=["a@example.org"])
    done = imported(members, "Ida,a@example.org;nothing,,,\nIda,a@example.org;z@example.org,soon,,\nBen,b@example.org,,soon,\n")
    assert len(done.problems) == 3 and (done.added, done.updated) == (0, 0)
    assert [(member.name, member.emails) for member in members.all()] == [("Ada", ("a@example.org",))]


def test_an_export_can_be_imported(members, tmp_path):
    members.add("Ada", emails=["b@example.org", "a@example.org"], note='one\n"two"')
    members.add("Ben", joined="2020-01-01")
    members.update(2, left_on="2021-01-01")
    text = io.StringIO()
    export_csv(members, text)
    assert text.getvalue().splitlines()[:2] == ["name,email,joined,left_on,note", 'Ada,b@example.org; a@example.org,,,"one']
    other = Members(open_store(tmp_path / "other.db"))
    assert import_csv(other, io.StringIO(text.getvalue(), newline="")).problems == []
    assert other.all() == members.all()
    other.connection.close()


def test_json(members):
    members.add("Ada", emails=["b@example.org", "a@example.org"], joined="2020-01-01")
    members.add("Ben")
    text = io.StringIO()
    export_json(members, text)
    ada, ben = json.loads(text.getvalue())
    assert ada == {
        "number": 1,
        "name": "Ada",
        "email": "b@example.org",
        "emails": ["b@example.org", "a@example.org"],
        "joined": "2020-01-01",
        "left_on": "",
        "note": "",
    }
    assert (ben["email"], ben["emails"]) == ("", [])


def test_mailings(members, run):
    members.add("Ada", emails=["a@example.org", "Shared@example.org"])
    members.add("Ben", emails=["shared@example.org", "A@example.org"])
    members.add("Cid", emails=["c@example.org"])
    members.update(3, left_on="2020-01-01")
    assert recipients(members) == ["a@example.org", "shared@example.org"]
    assert run("mailing", "--all") == "a@example.org\nShared@example.org\n"
    assert run("mailing") == "a@example.org\nshared@example.org\n"


def test_duplicates_are_connected(members):
    for name, *emails in [
        ("A", "1@example.org"), ("B", "2@example.org", "3@example.org"), ("C",), ("D", "4@example.org"),
        ("E", "3@Example.org", "1@example.org"), ("F", "5@example.org", "4@example.org"), ("G", "6@example.org"), ("H", "4@example.org", "5@example.org"),
    ]:
        members.add(name, emails=emails)
    assert [[member.name for member in group] for group in duplicates(members)] == [["A", "B", "E"], ["D", "F", "H"]]


def test_merging(members):
    members.add("Ada", emails=["a@example.org", "b@example.org"])
    members.add("Ada B", emails=["c@example.org", "A@example.org"], joined="2019-01-01")
    assert merge(members, 1, 2).emails == ("a@example.org", "b@example.org", "c@example.org")
    assert len(members.all()) == 1 and members.get(1).joined == "2019-01-01"


def test_a_group_grows_at_its_end(members):
    """The last one shares an address with the second one only."""
    for name, *emails in [("A", "1@example.org"), ("B", "1@example.org", "2@example.org"), ("C", "2@example.org")]:
        members.add(name, emails=emails)
    assert [[member.name for member in group] for group in duplicates(members)] == [["A", "B", "C"]]


def test_the_module_is_a_command(path):
    done = subprocess.run([sys.executable, "-m", "guild", path, "add", "Ada"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1\n")


def test_prefer_leaves_the_order_of_the_others(run):
    run("add", "Ada", *(part for each in "abcd" for part in ("--email", f"{each}@example.org")))
    run("email", 1, "prefer", "c@example.org")
    assert [line.split()[1][0] for line in run("show", 1).splitlines()[2:]] == list("cabd")


def test_a_word_that_is_there_twice_is_not_lost(path):
    connection = old_file(path, 3)
    connection.execute("UPDATE members SET email = 'ask him, not me; ask a@example.org' WHERE name = 'Dan'")
    connection.close()
    connection = open_store(path)
    (dan,) = Members(connection).find("Dan")
    assert dan.emails == ("a@example.org",) and dan.note.splitlines()[-1] == "e-mail: ask him not me ask"
    connection.close()


def test_who_left_gets_no_mailing_to_all_addresses(members, run):
    members.add("Ada", emails=["a@example.org", "b@example.org"])
    members.add("Ben", emails=["c@example.org"])
    members.update(1, left_on="2020-01-01")
    assert run("mailing", "--all") == "c@example.org\n"


def test_what_an_import_adds_is_at_the_end(members):
    members.add("Ada", emails=["a@example.org", "b@example.org"])
    imported(members, "Ada,b@example.org;c@example.org;a@example.org;d@example.org,,,\n")
    assert [email[0] for email in members.get(1).emails] == list("abcd")


def test_merged_addresses_keep_their_order(members):
    members.add("Ada", emails=["a@example.org"])
    members.add("Ada B", emails=["b@example.org", "c@example.org", "d@example.org"])
    assert [email[0] for email in merge(members, 1, 2).emails] == list("abcd")


def test_only_members_are_counted_without_an_address(run, members):
    members.add("Ada", emails=["a@example.org"])
    members.add("Ben")
    members.add("Cid")
    members.update(3, left_on="2020-01-01")
    assert [line.split()[0] for line in run("stats").splitlines()] == ["2", "1", "1"]
