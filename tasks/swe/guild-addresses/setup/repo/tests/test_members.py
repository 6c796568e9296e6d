import io
import json
import sqlite3

import pytest

from guild import GuildError, open_store
from guild.duplicates import duplicates, merge
from guild.exporter import export_csv, export_json


def test_a_newer_file_is_refused(path):
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(GuildError, match="99"):
        open_store(path)


def test_what_is_no_database(path):
    path.write_text("no database at all, but long enough to be looked at\n" * 40)
    with pytest.raises(GuildError):
        open_store(path)


def test_updates(members):
    members.add("Ada")
    assert members.update(1, note="pays late").note == "pays late"
    with pytest.raises(GuildError):
        members.update(1, name="Ida", joined="soon")
    assert members.get(1).name == "Ada"
    with pytest.raises(GuildError):
        members.update(1, colour="red")


def test_merging(members):
    members.add("Ada", joined="2020-05-01", note="one")
    members.add("Ada B.", joined="2019-05-01", note="two")
    merged = merge(members, 1, 2)
    assert (merged.name, merged.joined, merged.note) == ("Ada", "2019-05-01", "one\ntwo")
    assert len(members.all()) == 1 and duplicates(members) == []
    with pytest.raises(GuildError):
        merge(members, 1, 1)


def test_exports(members):
    members.add("Ada", note='says "hi"')
    text = io.StringIO()
    export_csv(members, text)
    assert text.getvalue() == 'name,email,joined,left_on,note\nAda,,,,"says ""hi"""\n'
    text = io.StringIO()
    export_json(members, text)
    assert json.loads(text.getvalue())[0]["note"] == 'says "hi"'
