"""The files service keeps the contract of services, its own rules, and believable data."""

import io

import pytest
from office_calls import service
from PIL import Image as Picture

from agentgym.services import Backend
from agentgym.testing.service_contract import ServiceContract


def services():
    return service("files")


def number(backend, sql):
    return backend.state.rows.value(sql)


def email(backend, condition):
    return number(backend, f"SELECT email FROM contacts_person WHERE {condition}")


class TestFiles(ServiceContract):
    @property
    def examples(self):
        backend = Backend(services(), services().template(self.seed))
        rows, me = backend.state.rows, email(backend, "id = 1")
        mine = rows.column("SELECT id FROM files_item WHERE owner = ? AND trashed_at IS NULL", me)
        folders = rows.column("SELECT id FROM files_item WHERE owner = ? AND kind = 'folder'", me)
        binned = rows.column("SELECT id FROM files_item WHERE owner = ? AND trashed_at <> ''", me)
        shared = rows.column(
            "SELECT DISTINCT grantee FROM files_share s JOIN files_item i ON i.id = s.item_id"
            " WHERE i.owner = ?",
            me,
        )
        return {
            **{f"files_{tool}.item": mine for tool in ("get", "move", "share", "unshare", "trash")},
            **{f"files_{tool}.file": mine for tool in ("read", "write", "copy")},
            **{
                f"files_{tool}.folder": folders
                for tool in ("create_file", "create_folder", "copy", "move")
            },
            "files_restore.item": binned,
            "files_read.version": [1, 2],
            "files_write.seen_version": [1, 2],
            "files_share.expires_at": ["2026-04-01T09:00:00Z", "2025-04-01T09:00:00Z"],
            "files_search.changed_since": ["2025-06-01T00:00:00Z"],
            "files_share.grantee": ["everyone", email(backend, "id = 2"), "a@b.example"],
            "files_unshare.grantee": shared,
        }

    def make(self):
        return services()


@pytest.fixture
def drive():
    return Backend(services(), services().template(1))


def ask(drive, tool, actor="agent", **arguments):
    reply = drive.call(f"files_{tool}", arguments, actor)
    assert reply.error is None, reply.error
    return reply.result


def refusal(drive, tool, **arguments):
    before = drive.hash
    error = drive.call(f"files_{tool}", arguments).error
    assert drive.hash == before
    return error.code, error.field


@pytest.fixture
def home(drive):
    me = "SELECT {} FROM contacts_person WHERE id = 1"
    return number(
        drive,
        f"SELECT id FROM files_item WHERE owner = ({me.format('email')}) AND folder_id = 1"
        f" AND name = ({me.format('name')})",
    )


def test_every_save_is_a_version_and_a_stale_one_is_refused(drive, home):
    file = ask(drive, "create_file", name="Plan.txt", folder=home, content="one")["id"]
    saved = ask(drive, "write", file=file, content="two", seen_version=1, note="better")
    assert (saved["version"], [v["note"] for v in saved["versions"]]) == (2, ["", "better"])
    stale = {"file": file, "content": "x", "seen_version": 1}
    assert refusal(drive, "write", **stale) == ("conflict", "seen_version")
    assert ask(drive, "read", file=file)["content"] == "two"
    assert ask(drive, "read", file=file, version=1)["content"] == "one"
    assert refusal(drive, "read", file=file, version=3) == ("not_found", "version")


def test_names_are_unique_in_any_case_and_nothing_is_overwritten(drive, home):
    ask(drive, "create_file", name="Straße.txt", folder=home, content="first")
    again = {"name": "STRASSE.TXT", "folder": home}
    assert refusal(drive, "create_file", **again) == ("conflict", "name")
    other = ask(drive, "create_file", name="b.txt", folder=home)["id"]
    assert refusal(drive, "move", item=other, name="straße.txt") == ("conflict", "name")
    moved = ask(drive, "move", item=other, name="straße.txt", if_taken="number")
    assert moved["name"] == "straße (2).txt"
    copy = ask(drive, "copy", file=other, folder=home, name="straße.txt", if_taken="number")
    assert (
        copy["name"] == "straße (3).txt" and copy["versions"][0]["note"] == f"copy of file {other}"
    )
    for name in (" a", "..", "a/b"):
        assert refusal(drive, "create_folder", name=name, folder=home) == ("invalid", "name")


def test_a_folder_cannot_be_moved_into_itself(drive, home):
    outer = ask(drive, "create_folder", name="Outer", folder=home)["id"]
    inner = ask(drive, "create_folder", name="Inner", folder=outer)["id"]
    assert refusal(drive, "move", item=outer, folder=inner) == ("invalid", "folder")
    assert refusal(drive, "move", item=outer, folder=outer) == ("invalid", "folder")
    assert (
        ask(drive, "move", item=inner, folder=home)["path"]
        == ask(drive, "get", item=home)["path"] + "/Inner"
    )


def test_the_trash_hides_a_folder_and_what_is_in_it_until_restored(drive, home):
    folder = ask(drive, "create_folder", name="Old", folder=home)["id"]
    file = ask(drive, "create_file", name="zebra.txt", folder=folder, content="zebra")["id"]
    ask(drive, "trash", item=file)
    ask(drive, "trash", item=folder)
    assert ask(drive, "search", text="zebra")["total"] == 0
    assert [i["id"] for i in ask(drive, "search", text="zebra", in_trash=True)["items"]] == [file]
    assert refusal(drive, "write", file=file, content="x") == ("conflict", "file")
    assert refusal(drive, "restore", item=file) == ("conflict", "item")
    ask(drive, "create_folder", name="Old", folder=home)
    assert refusal(drive, "restore", item=folder) == ("conflict", "name")
    assert ask(drive, "restore", item=folder, if_taken="number")["name"] == "Old (2)"
    assert ask(drive, "restore", item=file)["path"].endswith("/Old (2)/zebra.txt")
    assert refusal(drive, "restore", item=file) == ("conflict", "item")


def folder_of(drive, name):
    return number(drive, f"SELECT id FROM files_item WHERE folder_id = 1 AND name = '{name}'")


def test_rights_come_down_from_folders_and_end_with_the_share(drive):
    assert refusal(drive, "list_folder", folder=folder_of(drive, "People")) == (
        "forbidden",
        "folder",
    )
    finance = folder_of(drive, "Finance")
    assert ask(drive, "get", item=finance)["your_right"] == "viewer"
    assert refusal(drive, "create_file", name="x", folder=finance) == ("forbidden", "folder")
    people = folder_of(drive, "People")
    given = {
        "item": people,
        "grantee": email(drive, "id = 1"),
        "expires_at": "2026-03-03T09:00:00Z",
    }
    ask(drive, "share", "world", role="editor", **given)
    inner = ask(drive, "create_folder", name="Notes", folder=people)["id"]
    assert ask(drive, "get", item=inner)["shares"][0]["inherited_from"] == "/People"
    drive.now = "2026-03-03T09:00:00Z"
    assert refusal(drive, "list_folder", folder=people) == ("forbidden", "folder")
    assert ask(drive, "get", item=inner)["your_right"] == "owner"


def test_what_is_not_shared_is_not_found_by_searching(drive):
    seen = ask(drive, "search", text="Salary bands")
    assert seen["total"] == 0
    assert drive.call("files_search", {"text": "Salary bands"}, "world").result["total"] >= 2


def test_shares_go_to_people_who_are_there(drive, home):
    left = {"item": home, "grantee": email(drive, "kind = 'colleague' AND status = 'left'")}
    assert refusal(drive, "share", **left) == ("conflict", "grantee")
    typo = {"item": home, "grantee": "rut.adeyemi@fairlead.example"}
    assert refusal(drive, "share", **typo) == ("not_found", "grantee")
    outside = ask(drive, "share", item=home, grantee="a@client.example")
    again = ask(drive, "share", item=home, grantee="a@client.example", role="editor")
    assert len(outside["shares"]) == len(again["shares"]) == 1
    assert again["shares"][0]["role"] == "editor"
    assert ask(drive, "unshare", item=home, grantee="a@client.example")["shares"] == []
    assert refusal(drive, "unshare", item=home, grantee="a@client.example") == (
        "not_found",
        "grantee",
    )


def test_a_picture_goes_from_one_file_into_another(drive, home):
    plan = ask(drive, "search", text="Floor plan .png")["items"][0]["id"]
    name = ask(drive, "read", file=plan)["picture"]
    picture = Picture.open(io.BytesIO(drive.images.get(name).data))
    picture.verify()
    assert picture.size == (48, 24)
    file = ask(drive, "create_file", name="plan.png", folder=home, picture=name)["id"]
    assert ask(drive, "read", file=file)["picture"] == name
    ask(drive, "write", file=file, content="the same picture")
    assert ask(drive, "read", file=file)["picture"] == name


def test_data_fit_together_and_are_as_messy_as_real_ones(drive):
    assert number(drive, "SELECT count(*) FROM files_item WHERE kind = 'file'") > 250
    twice = "SELECT count(*) FROM files_item WHERE name LIKE '%final%'"
    assert number(drive, twice) >= 10
    assert number(drive, "SELECT count(*) FROM files_item WHERE trashed_at IS NOT NULL") >= 15
    stale = (
        "SELECT count(*) FROM files_share s JOIN contacts_person p ON p.email = s.grantee"
        " WHERE p.status = 'left' AND s.expires_at IS NULL"
    )
    assert number(drive, stale) >= 3
    assert number(drive, "SELECT count(*) FROM files_share WHERE expires_at < '2026-03-01'") >= 3
    for column in ("created_at", "updated_at", "trashed_at"):
        assert number(drive, f"SELECT count(*) FROM files_item WHERE {column} > '{drive.now}'") == 0
    clash = (
        "SELECT count(*) FROM files_item a JOIN files_item b ON a.folder_id = b.folder_id"
        " AND lower(a.name) = lower(b.name) AND a.id < b.id"
        " WHERE a.trashed_at IS NULL AND b.trashed_at IS NULL"
    )
    assert number(drive, clash) == 0
    latest = (
        "SELECT count(*) FROM files_item i WHERE kind = 'file' AND version <>"
        " (SELECT max(number) FROM files_version v WHERE v.item_id = i.id)"
    )
    assert number(drive, latest) == 0


def test_another_seed_makes_other_papers():
    assert services().template(1).hash != services().template(2).hash
