"""State, hash, audit and dispatch: properties over any calls, and the cases that break them."""

import hashlib
import json
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shop import Shop, shop

from agentgym.errors import RecordError
from agentgym.services import (
    Audit,
    Backend,
    Images,
    Service,
    ServiceError,
    ServiceSet,
    diff,
    read_audit,
    recover,
    writes,
)
from agentgym.services.state import hash_from_scratch

SHOP = shop()
ITEMS = st.sampled_from(["teapot", "cup", "spoon", "'; DROP TABLE shop_item; --"])
LINES = st.lists(st.fixed_dictionaries({"item": ITEMS, "count": st.integers(0, 9)}), max_size=3)
CALLS = st.lists(
    st.one_of(
        st.tuples(
            st.just("shop_order"), st.fixed_dictionaries({"lines": LINES, "note": st.text()})
        ),
        st.tuples(st.just("shop_cancel"), st.fixed_dictionaries({"order": st.integers(0, 6)})),
        st.tuples(
            st.just("shop_put"),
            st.fixed_dictionaries(
                {
                    "word": st.text(max_size=4),
                    "weight": st.floats() | st.none(),
                    "twice": st.booleans(),
                }
            ),
        ),
        st.tuples(
            st.just("shop_replace"),
            st.fixed_dictionaries({"item": ITEMS, "stock": st.integers(-(2**70), 2**70)}),
        ),
        st.tuples(st.just("shop_look"), st.fixed_dictionaries({"item": ITEMS})),
        st.tuples(st.just("shop_crash"), st.fixed_dictionaries({"after": st.integers(0, 2)})),
        st.tuples(st.just("shop_touch"), st.just({})),
    ),
    max_size=12,
)


def backend(**options):
    return Backend(SHOP, SHOP.template(3), **options)


def scratch(live):
    snapshot = live.snapshot()
    return str(hash_from_scratch(snapshot.layout, snapshot.data))


def independent_hash(live):
    """The documented hash, computed with nothing of ours but the bytes."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(bytes(live.snapshot()))
    tables = {
        "shop_item": "SELECT name, stock FROM shop_item",
        "shop_order": "SELECT count, id, item, note FROM shop_order",
        "shop_word": "SELECT raw, weight, word FROM shop_word",
    }
    whole = hashlib.sha256()
    for name, sql in sorted(tables.items()):
        total = 0
        for row in connection.execute(sql):
            plain = [{"hex": cell.hex()} if isinstance(cell, bytes) else cell for cell in row]
            text = json.dumps(plain, separators=(",", ":"))
            total += int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
        whole.update(name.encode() + b"\0" + (total % 2**256).to_bytes(32, "big"))
    connection.close()
    return whole.hexdigest()


@settings(max_examples=120, deadline=None)
@given(CALLS)
def test_the_hash_is_that_of_the_rows_whatever_was_called(calls):
    live = backend()
    start, first = live.snapshot(), live.hash
    for tool, arguments in calls:
        live.call(tool, arguments)
        assert scratch(live) == live.hash == independent_hash(live)
    entries = list(live.audit)
    assert [entry.sequence for entry in entries] == list(range(len(calls)))
    hashes = [first, *(entry.after for entry in entries)]
    assert [entry.before for entry in entries] == hashes[:-1]
    for entry in entries:
        assert entry.changed or entry.before == entry.after
        assert entry.ok or not entry.changed
    assert bool(diff(start, live.snapshot())) == (live.hash != first)
    live.restore(start)
    assert live.hash == first == scratch(live)
    assert live.audit[-1].tool == "restore" and len(live.audit) == len(calls) + 1
    live.close()


@settings(max_examples=40, deadline=None)
@given(CALLS, CALLS)
def test_a_fork_goes_its_own_way_and_the_same_calls_lead_to_the_same_place(before, after):
    live = backend()
    for call in before:
        live.call(*call)
    here = live.hash
    forks = [live.fork(), live.fork()]
    for fork in forks:
        for call in after:
            fork.call(*call)
    assert live.hash == here == scratch(live)
    assert forks[0].hash == forks[1].hash and list(forks[0].audit) == list(forks[1].audit)


def test_undoing_returns_the_old_hash_and_order_does_not_matter():
    live, other = backend(), backend()
    before = live.hash
    (number,) = live.call("shop_order", {"lines": [{"item": "cup", "count": 2}]}).result
    assert live.hash != before
    live.call("shop_cancel", {"order": number})
    assert live.hash == before
    for word in ("a", "b", "b"):
        live.call("shop_put", {"word": word})
    for word in ("b", "b", "a"):
        other.call("shop_put", {"word": word})
    assert live.hash == other.hash
    other.call("shop_put", {"word": "b"})
    assert live.hash != other.hash


def test_a_row_that_falls_by_a_cascade_is_noticed():
    live = backend()
    live.call("shop_order", {"lines": [{"item": "cup", "count": 1}]})
    live.call("shop_replace", {"item": "cup", "stock": 7})
    fell = {(row.table, row.kind) for row in live.audit[-1].changed}
    assert ("shop_order", "removed") in fell and ("shop_item", "added") in fell
    assert live.hash == scratch(live) == independent_hash(live)


def test_a_diff_reads_like_a_sentence():
    live = backend()
    start = live.snapshot()
    stock = live.call("shop_look", {"item": "cup"}).result
    live.call("shop_order", {"lines": [{"item": "cup", "count": 2}], "note": "x" * 200})
    live.call("shop_put", {"word": "tea"})
    lines = [str(change) for change in diff(start, live.snapshot())]
    assert lines[0] == f"shop_item cup: stock {stock} → {stock - 2}"
    assert lines[1].startswith("shop_order 1 added: id 1, item 'cup', count 2, note 'xxx")
    assert lines[1].endswith("…") and len(lines[1]) < 200
    assert lines[2] == "shop_word 1 added: word 'tea', weight None, raw b'tea'"
    back = [str(change) for change in diff(live.snapshot(), start)]
    assert back[1].startswith("shop_order 1 removed: id 1")


def test_a_diff_has_the_whole_row_and_where_it_was():
    live = backend()
    start = live.snapshot()
    stock = live.call("shop_look", {"item": "cup"}).result
    live.call("shop_order", {"lines": [{"item": "cup", "count": 2}]})
    (referred,) = [ref for ref in live.audit[-1].changed if ref.table == "shop_item"]
    changed, added = diff(start, live.snapshot())
    assert changed.rowids == (referred.rowid,) and added.rowids == (1,)
    assert changed.row == {"name": "cup", "stock": stock - 2}
    assert added.row == added.after
    with live.amend("world", "moved") as rows:
        row = rows.one("SELECT * FROM shop_item WHERE name = 'cup'")
        rows.execute("DELETE FROM shop_item WHERE name = 'cup'")
        rows.insert("shop_item", **{**row, "rowid": 99})
    assert diff(start, live.snapshot())[0].rowids == (referred.rowid, 99)


class Labels(Service):
    """Labels: a service whose columns ignore case."""

    schema = """
    CREATE TABLE labels_label (name TEXT COLLATE NOCASE PRIMARY KEY, note TEXT COLLATE NOCASE);
    """


def test_a_diff_compares_byte_by_byte_where_a_column_ignores_case():
    services = ServiceSet({"labels": Labels})
    live = Backend(services, services.template(0))
    with live.amend("world", "written") as rows:
        rows.insert("labels_label", name="same", note=None)
        rows.insert("labels_label", name="red", note="a")
        rows.insert("labels_label", name="Blue", note="b")
    start = live.snapshot()
    with live.amend("world", "written anew") as rows:
        rows.execute("UPDATE labels_label SET note = 'A' WHERE name = 'red'")
        rows.execute("UPDATE labels_label SET name = 'blue' WHERE name = 'Blue'")
    changes = [(change.kind, change.key) for change in diff(start, live.snapshot())]
    assert changes == [("removed", ("Blue",)), ("added", ("blue",)), ("changed", ("red",))]
    live.close()


@pytest.mark.parametrize(
    ("tool", "arguments", "raised"),
    [
        ("shop_crash", {"after": 2}, "KeyError: 'a defect'"),
        ("shop_touch", {}, "it is marked as reading and changed 'shop_item'"),
        ("shop_commit", {}, "begins with select, insert"),
        ("shop_remember", {}, "AttributeError: Shop.last cannot be set"),
    ],
)
def test_a_defect_of_the_service_is_its_own_fault_and_undone(tool, arguments, raised):
    live = backend()
    before = live.snapshot()
    error = live.call(tool, arguments).error
    assert error.code == "internal" and "a fault of the service itself" in error.message
    assert "defect" not in error.message
    assert raised in live.audit[-1].raised
    assert not diff(before, live.snapshot()) and live.hash == before.hash
    assert live.call("shop_put", {"word": "still alive"}).error is None


def test_a_write_that_fails_halfway_is_undone():
    live = backend()
    lines = [{"item": "cup", "count": 1}, {"item": "cup", "count": 10_000}]
    before = live.snapshot()
    error = live.call("shop_order", {"lines": lines}).error
    assert (error.code, error.field) == ("conflict", "lines")
    assert not diff(before, live.snapshot())
    assert live.audit[-1].code == "conflict" and live.audit[-1].raised == ""


def test_an_interrupted_call_is_undone_and_the_interrupt_goes_on(monkeypatch):
    live = backend()

    def interrupt(*_):
        raise KeyboardInterrupt

    before = live.hash
    monkeypatch.setattr(Shop, "look", interrupt)
    with pytest.raises(KeyboardInterrupt):
        live.call("shop_order", {"lines": [{"item": "cup", "count": 1}]})
    monkeypatch.undo()
    assert live.hash == before == scratch(live)
    assert live.call("shop_put", {"word": "x"}).error is None


@pytest.mark.parametrize(
    ("arguments", "field", "words"),
    [
        ({}, "lines", "missing; expected: lines, note"),
        ({"line": []}, "line", "did you mean 'lines'"),
        ({"a]": 1, "lines": []}, "a]", "no such argument"),
        ({"lines": "x"}, "lines", "got 'x'"),
        ({"lines": [{"item": "cup", "count": "2"}]}, "lines[0].count", "valid integer, got '2'"),
        ({"lines": [{"item": "cup", "count": True}]}, "lines[0].count", "valid integer"),
        ({"lines": [{"item": "cup"}]}, "lines[0].count", "missing"),
        ({"lines": [{"item": "a", "count": 1, "x": 1}]}, "lines[0].x", "no such argument"),
    ],
)
def test_wrong_arguments_name_the_field(arguments, field, words):
    error = backend().call("shop_order", arguments).error
    assert (error.code, error.field) == ("invalid", field)
    assert words in error.message


@pytest.mark.parametrize("odd", [["x"], "x", 7, {"word": {1}}, {"word": "a\ud800"}, {1: "\0"}])
def test_what_is_no_json_is_in_the_audit_as_far_as_it_can_be_told(odd):
    live = backend()
    assert live.call("shop_put", odd).error.code == "invalid"
    assert live.audit[-1].arguments.keys() == {"unfit"} and not live.audit[-1].ok
    json.dumps(live.audit[-1].to_json()).encode()


def test_a_number_beyond_64_bits_is_the_callers_mistake():
    error = backend().call("shop_replace", {"item": "cup", "stock": 2**64}).error
    assert error.code == "invalid" and "64 bits" in error.message


def test_arguments_and_results_are_not_shared_with_the_caller():
    live = backend()
    lines = [{"item": "cup", "count": 1}]
    reply = live.call("shop_order", {"lines": lines})
    lines[0]["count"] = 99
    reply.result.append("more")
    entry = live.audit[-1]
    assert entry.arguments == {"lines": [{"item": "cup", "count": 1}]}
    assert entry.result == reply.result == [1]


def test_long_arguments_are_kept_by_their_digest():
    live = backend()
    word = "é" * 70_000
    live.call("shop_put", {"word": word}, "user")
    entry = live.audit[-1]
    assert entry.actor == "user" and len(entry.arguments_json) < 3000
    text = json.dumps({"word": word}, ensure_ascii=False)
    assert entry.arguments["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    assert live.state.rows.value("SELECT word FROM shop_word") == word


def test_the_clock_is_the_callers_and_goes_with_snapshots():
    live = backend()
    start = live.snapshot()
    live.now = "2026-05-01T00:00:00Z"
    live.call("shop_look", {"item": "cup"})
    assert live.state.rows.value("SELECT looked_at FROM shop_item WHERE name = 'cup'") == live.now
    assert live.audit[-1].now == live.now == live.fork().now == live.snapshot().now
    assert live.hash == start.hash
    live.restore(start)
    assert live.now == start.now != "2026-05-01T00:00:00Z"


# --- images --------------------------------------------------------------------------------


def test_an_image_is_kept_once_and_its_name_can_be_passed_on():
    live = backend()
    name = live.call("shop_picture", {}).result
    assert live.call("shop_picture", {}).images == (name,) and len(live.images) == 1
    assert live.images.get(name).mime == "image/png"
    fork = live.fork()
    assert fork.call("shop_pin", {"picture": name}).result == name
    stored = fork.state.rows.one("SELECT word, raw FROM shop_word")
    assert stored == {"word": name, "raw": live.images.get(name).data}
    assert b"teapot" not in json.dumps([e.to_json() for e in fork.audit]).encode()


def test_an_unknown_image_is_not_found_and_a_wrong_name_is_invalid():
    live = backend(images=Images())
    for value, code in (
        ("image:0123456789ab", "not_found"),
        ("teapot.png", "invalid"),
        (7, "invalid"),
    ):
        error = live.call("shop_pin", {"picture": value}).error
        assert (error.code, error.field) == (code, "picture")
    schema = SHOP.functions["shop_pin"].spec.parameters["properties"]["picture"]
    assert schema["pattern"] == "^image:[0-9a-f]{12}$"


class Log(Service):
    """Lines that a topic's name is copied into."""

    schema = """
    CREATE TABLE log_topic (name TEXT PRIMARY KEY, opened TEXT) ;
    CREATE TABLE log_line (topic TEXT NOT NULL REFERENCES log_topic (name) ON UPDATE CASCADE);
    """
    volatile = {"log_topic": ("opened",)}


@pytest.mark.parametrize(
    ("sql", "changed"),
    [
        ("UPDATE log_topic SET opened = 'today'", []),
        ("UPDATE log_topic SET name = 'tea', opened = 'today'", []),
        ("UPDATE log_topic SET name = 'cup'", ["log_topic 1", "log_line 1"]),
        ("UPDATE log_line SET rowid = 7", ["log_line 1", "log_line 7"]),
        ("UPDATE log_line SET oid = 7", ["log_line 1", "log_line 7"]),
        ("UPDATE log_line SET _ROWID_ = 7", ["log_line 1", "log_line 7"]),
        (
            "INSERT INTO log_topic VALUES ('tea', '') ON CONFLICT DO UPDATE SET opened = 'today'",
            [],
        ),
        (
            "INSERT INTO log_topic VALUES ('tea', '') ON CONFLICT DO UPDATE SET name = 'pot'",
            ["log_topic 1", "log_line 1"],
        ),
    ],
)
def test_every_change_of_a_row_that_counts_is_noticed(sql, changed):
    live = Backend(ServiceSet({"log": Log}))
    with live.amend("setup", "fill") as rows:
        rows.insert("log_topic", name="tea")
        rows.insert("log_line", topic="tea")
    with live.amend("world", "change") as rows:
        rows.execute(sql)
    assert sorted(f"{ref.table} {ref.rowid}" for ref in live.audit[-1].changed) == sorted(changed)
    assert live.hash == scratch(live)
    with live.amend("world", "remove") as rows:
        rows.execute("DELETE FROM log_line")
    assert live.hash == scratch(live)


# --- the audit file ------------------------------------------------------------------------


def test_a_state_can_be_had_back_from_a_snapshot_and_the_audit(tmp_path):
    file = tmp_path / "audit.jsonl"
    live = backend(audit=Audit(file))
    live.call("shop_order", {"lines": [{"item": "cup", "count": 1}]})
    kept, since = live.snapshot(), len(live.audit)
    live.now = "2026-03-05T00:00:00Z"
    live.call("shop_order", {"lines": [{"item": "nothing", "count": 1}]})
    live.call("shop_put", {"word": "\u2028 ☃"}, "world")
    live.close()
    with file.open("ab") as torn:
        torn.write(b'{"sequence": 9, "tool": "shop_p')
    entries = read_audit(file)
    assert entries == list(live.audit)
    Audit(file).append(entries[-1])
    assert read_audit(file) == [*entries, entries[-1]]
    again = SHOP.snapshot_of(bytes(kept), kept.now)
    back = recover(SHOP, again, entries[since:])
    assert back.hash == entries[-1].after and back.now == "2026-03-05T00:00:00Z"
    assert list(back.audit) == entries[since:]
    with pytest.raises(
        RecordError, match=r"entry 0 \(shop_order\) cannot be repeated: the state is"
    ):
        recover(SHOP, again, entries)


@pytest.mark.parametrize("what", ["a lone \ud800 surrogate", "☃ \u2028", "\x00\x1b"])
def test_any_text_can_be_in_an_audit(tmp_path, what):
    live = backend(audit=Audit(tmp_path / "audit.jsonl"))
    live.note_failure("user", what, what)
    live.close()
    assert read_audit(tmp_path / "audit.jsonl") == list(live.audit)
    assert live.audit[0].raised == what


def test_an_audit_that_is_none_is_told(tmp_path):
    with pytest.raises(RecordError, match="expected an audit log"):
        read_audit(tmp_path / "none")
    (tmp_path / "odd").write_text('{"sequence": 1}\n')
    with pytest.raises(RecordError, match="odd:1: is not an audit entry"):
        read_audit(tmp_path / "odd")


# --- broken services -----------------------------------------------------------------------


def broken(**parts):
    return type("Broken", (Service,), parts)


def method(annotations, doc="Do it.", name="act"):
    def act(self, x=None):
        pass

    act.__doc__, act.__annotations__, act.__name__ = doc, annotations, name
    return writes(act)


@pytest.mark.parametrize(
    ("service", "words"),
    [
        (broken(schema="CREATE TABEL x"), "syntax error"),
        (broken(schema="CREATE TABLE other (id INTEGER)"), "expected a name like 'b_other'"),
        (broken(schema="CREATE VIEW other AS SELECT 1"), "expected a name like 'b_other'"),
        (broken(schema="CREATE VIEW b_v AS SELECT * FROM b_t"), "no such table: main.b_t"),
        (broken(schema="CREATE TABLE b_t (at TEXT DEFAULT CURRENT_TIMESTAMP)"), "from run to run"),
        (broken(schema="CREATE TABLE b_t (k TEXT PRIMARY KEY) WITHOUT ROWID"), "WITHOUT ROWID"),
        (
            broken(schema="CREATE TABLE b_t (seen TEXT, k TEXT)", volatile={"b_t": ("sen",)}),
            "no column named 'sen'; did you mean 'seen'",
        ),
        (broken(schema="CREATE TABLE b_t (rowid TEXT)"), "SQLite's rowid"),
        (broken(schema="CREATE VIRTUAL TABLE b_t USING fts5(k)"), "expected an ordinary table"),
        (broken(schema="CREATE TABLE b_t (k TEXT)", volatile={"b_t": ("k",)}), "only volatile"),
        (broken(after=("mail",)), "no service 'mail'"),
        (broken(after=("b",)), "depend on each other"),
        (broken(act=method({}, doc=None)), "has no docstring"),
        (broken(act=method({"x": "int"})), "no return annotation"),
        (broken(act=method({"return": "None"})), "expected 'name: type'"),
        (broken(act=method({"x": "int", "return": "None"})), "not described under 'Args:'"),
        (broken(act=method({"x": "Nowhere", "return": "None"})), "annotation: name 'Nowhere'"),
        (
            broken(act=method({"x": "Shop", "return": "None"}, "Do.\n\nArgs:\n    x: It.")),
            "tool 'b_act'",
        ),
        (
            broken(
                act=method({"x": "int", "return": "None"}, "Do.\n\nArgs:\n    x: A.\n    y: B.")
            ),
            "describes 'y', which is not a parameter",
        ),
    ],
)
def test_a_broken_service_is_told_when_it_is_loaded(service, words):
    with pytest.raises(ServiceError) as caught:
        ServiceSet({"b": service})
    assert caught.value.code == "internal" and words in str(caught.value)
