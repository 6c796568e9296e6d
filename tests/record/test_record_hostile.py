"""A damaged or hostile record is refused by an error that names it, in bounded time and memory."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow
from rich.console import Console

from agentgym.cli.transcript import episode_table, print_episode
from agentgym.errors import RecordError
from agentgym.eval.report import write_report
from agentgym.eval.results import build_results, write_results
from agentgym.record import bounds, codec, packing
from agentgym.record.blobs import BlobStore
from agentgym.record.pictures import RecordedObservation
from agentgym.record.step_rows import COLUMNS, row_digest
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    Audit,
    CheckpointResult,
    CheckStatus,
    Decision,
    Generation,
    Grading,
    Observation,
    Phase,
    Step,
    StepGrade,
    TokenTrace,
    TokenUsage,
    Verdict,
)

PLAN = EpisodePlan("demo/hello-v1", 0, 0, "noop", "group", {"n": 1})
SETTINGS = {"tasks": ["demo/hello-v1"], "agents": ["noop"]}
CHECKPOINT = CheckpointResult("a", Phase.OUTCOME, CheckStatus.PASS, 1.0, 1.0, "fine")


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound") / "run"
    store = RunStore.create(folder, SETTINGS, [PLAN])
    recorder = store.begin(
        1, params={"n": 1}, instruction="Do.", sandbox="x", reset_s=0.1, first=Observation("hi")
    )
    store.endings.begin(1, 10.0)
    tokens = TokenTrace([1, 2], [3, 4], [-0.1, -0.2], [True, False])
    decision = Decision(Action("bash", {"command": "id"}), generations=(Generation(tokens),))
    recorder.step(Step(0, decision, Observation("0"), 0.1))
    verdict = Verdict("scored", True, 1.0, checkpoints=(CHECKPOINT,), verifier="0" * 12)
    recorder.finish(
        verdict,
        duration_s=1.0,
        audit=Audit((), (), None),
        refused=TokenUsage(3, 1),
        generations=(Generation(tokens, rejected=True),),
    )
    store.history.add_gradings(
        1, [Grading("loops", "1", steps=1, grades=(StepGrade(0, CheckStatus.PASS, "fine"),))]
    )
    store.history.replace_verdict(1, verdict, "", verdict, at="then", why="again")
    store.close()
    return folder


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "run"))


def look_at_everything(folder: Path, *, report: bool = True) -> None:
    """Do what `report`, `replay` and `grade --history` do with a record."""
    store = RunStore.open(folder)
    console = Console(file=io.StringIO(), width=100)
    try:
        write_results(build_results(store), folder / "results.json")
        if report:
            write_report(store, folder / "report.html")
        console.print(episode_table(store.episodes()))
        print_episode(console, store.episode(1), store.steps(1), full=True)
        store.history.newest_gradings(1)
        store.history.gradings(1)
        store.history.past_verdicts(1)
        store.refused(1)
        store.endings.find(1)
        store.endings.kept()
        store.endings.unkept()
    finally:
        store.close()
    json.loads((folder / "results.json").read_text(), parse_constant=no_number)


def no_number(name: str) -> Any:
    raise AssertionError(f"results.json holds {name}, which is no JSON")


def change(folder: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement, values)
        rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM steps").fetchall()
        for row in rows:
            connection.execute("UPDATE steps SET digest = ?", (row_digest(row),))
        connection.commit()


DEEP = "[" * 900 + "]" * 900
VALUES: list[object] = [
    *(None, -1, 2**62, 1e308, float("inf"), "text", "", b"\xff\xfe", "null", "[]", "{}", "NaN"),
    *('{"a":1e999}', "[" * 100_000, DEEP, "@" + "0" * 64, "@../../etc/passwd", '"\\ud800\\u001b"'),
    json.dumps({"action": {"tool": "x", "arguments": {"a": 1}}, "thought": "", "usage": {}}),
    json.dumps({"generations": [{"arrays": {"logprobs": ["<f8", [2**40]]}}], "blob": "0" * 64}),
    json.dumps({"generations": [{"arrays": {"logprobs": ["<f4", [-1]]}}], "blob": None}),
    json.dumps({"generations": [{"sampling": DEEP}] * 5000}),
    '{"action":{"tool":"x","arguments":{"a":DEEP}},"thought":"","usage":{}}'.replace("DEEP", DEEP),
    '{"text":"","data":{"a":DEEP},"effect":"none","image":null}'.replace("DEEP", DEEP),
    '{"text":"","data":{},"effect":"none","image":"../../../etc/passwd"}',
]
STRIDE = 1 if os.environ.get("AGENTGYM_FUZZ") else 8


def columns(folder: Path) -> Iterator[tuple[str, str]]:
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            for row in connection.execute(f"PRAGMA table_info({table})"):
                yield table, row[1]


@pytest.mark.parametrize(
    "table",
    [
        *("meta", "episodes", "steps", "checkpoints", "gradings", "past_verdicts"),
        *("refused_replies", "endings"),
    ],
)
def test_a_value_of_any_kind_in_any_column_is_read_or_refused(sound, run, table):
    refused = 0
    names = [column for where, column in columns(sound) if where == table]
    for number, name in enumerate(names):
        # Every value meets some column of each kind; AGENTGYM_FUZZ=1 has all of them meet all.
        for value in VALUES[number % STRIDE :: STRIDE]:
            for file in ("run.db", "run.db-wal", "run.db-shm"):
                (run / file).unlink(missing_ok=True)
            shutil.copy(sound / "run.db", run)
            try:
                change(run, f"UPDATE {table} SET {name} = ?", value)
            except (sqlite3.Error, OverflowError):
                continue  # SQLite itself does not hold it
            try:
                look_at_everything(run, report=table in ("episodes", "steps"))
            except RecordError as error:
                refused += 1
                assert len(str(error)) < 2000
    assert refused > 2


@pytest.mark.parametrize("changed", ["state_bytes = 'x'", "state = x'00'", "unkept = x'00'"])
def test_kept_states_of_other_types_are_refused(run, changed):
    change(run, "UPDATE endings SET state = ?, state_bytes = 1", "0" * 64)
    look_at_everything(run, report=False)
    change(run, f"UPDATE endings SET {changed}")
    store = RunStore.open(run)
    try:
        with pytest.raises(RecordError, match="an ending is damaged"):
            store.endings.unkept(), store.endings.kept()
    finally:
        store.close()


# --- what SQLite would do for a file -------------------------------------------------------

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n"


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (f"CREATE VIEW more AS {ENDLESS}", "view 'more'"),
        (
            "CREATE TRIGGER t AFTER INSERT ON steps BEGIN DELETE FROM episodes; END",
            "trigger 't'",
        ),
        ("CREATE INDEX i ON steps (episode, abs(step))", "index 'i'"),
        ("CREATE TABLE other (a)", "table 'other'"),
        ("ALTER TABLE gradings ADD COLUMN x DEFAULT 1", "table 'gradings'"),
        ("CREATE VIRTUAL TABLE v USING fts5(a)", "table 'v'"),
    ],
)
@pytest.mark.parametrize("readonly", [True, False])
def test_a_database_with_more_than_the_tables_of_a_run_is_refused(run, statement, found, readonly):
    with closing(sqlite3.connect(run / "run.db")) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.raises(RecordError, match=f"nothing else, found {found}"):
        RunStore.open(run, readonly=readonly)


def test_a_view_in_place_of_a_table_is_refused_before_it_is_read(run):
    with closing(sqlite3.connect(run / "run.db")) as connection:
        connection.executescript(f"DROP TABLE meta; CREATE VIEW meta AS {ENDLESS}")
    with pytest.raises(RecordError, match="holds no agentgym run"):
        RunStore.open(run)


def test_a_query_that_does_more_than_the_file_can_need_is_ended(run, monkeypatch):
    # Pages that point to each other make rows without end, as this query does.
    monkeypatch.setattr(bounds, "_WORK", 3_000_000)
    store = RunStore.open(run)
    with pytest.raises(RecordError, match="damaged: reading it takes more work than its size"):
        store._database.rows(ENDLESS)
    assert len(store.episodes()) == 1
    store.close()


def test_a_query_that_returns_more_than_memory_should_hold_is_ended(run, monkeypatch):
    monkeypatch.setattr(bounds, "ROWS_BYTES", 100_000)
    store = RunStore.open(run)
    with pytest.raises(RecordError, match="a query returns more than 100000 bytes"):
        store._database.rows(ENDLESS.replace("COUNT(*)", "x"))
    store.close()


def many_episodes(folder: Path, count: int) -> Path:
    """Return a run of so many planned episodes, each with a text of 2 kB."""
    RunStore.create(folder, SETTINGS, [PLAN] * count).close()
    with closing(sqlite3.connect(folder / "run.db")) as connection:
        connection.execute("UPDATE episodes SET instruction = ?", (json.dumps("a" * 2_000),))
        connection.commit()
    return folder


def test_a_run_may_hold_more_than_one_query_returns(tmp_path, monkeypatch):
    folder = many_episodes(tmp_path / "run", 1_700)
    monkeypatch.setattr(bounds, "ROWS_BYTES", 1_500_000)
    with closing(RunStore.open(folder)) as store:
        assert [row.id for row in store.episodes()] == list(range(1, 1_701))
        assert store.events() == []


def test_parts_that_together_return_more_than_the_file_holds_are_refused(tmp_path, monkeypatch):
    # Rows can share the pages of one large value, and each part of the table returns it again.
    folder = many_episodes(tmp_path / "run", 1_700)
    monkeypatch.setattr(bounds, "_SLACK_BYTES", 0)
    monkeypatch.setattr(bounds.QueryBounds, "_size", lambda self: 1_200_000)
    store = RunStore.open(folder)
    with pytest.raises(RecordError, match="a query returns more than 2400000 bytes"):
        store.episodes()
    store.close()


def test_ids_that_do_not_ascend_end_the_reading(run, monkeypatch):
    # A damaged tree of pages leads back to rows that were read before.
    store = RunStore.open(run)
    rows = store._database.rows
    monkeypatch.setattr(
        store._database,
        "rows",
        lambda query, *rest: [{"id": 1}] if "LIMIT" in query else rows(query, *rest),
    )
    with pytest.raises(RecordError, match="the ids of its episodes do not ascend"):
        store.episodes()
    store.close()


# --- blobs ---------------------------------------------------------------------------------


def put_raw(folder: Path, name: str, packed: bytes) -> None:
    path = folder / "blobs" / name[:2] / name[2:4] / name
    path.parent.mkdir(parents=True)
    path.write_bytes(packed)


def test_a_blob_that_unpacks_to_more_than_a_blob_can_hold_is_refused(tmp_path):
    put_raw(tmp_path, "0" * 64, zlib.compress(bytes(100 << 20)))
    with pytest.raises(RecordError, match="0: the blob is damaged: it holds more than"):
        BlobStore(tmp_path / "blobs").get("0" * 64)


def test_only_a_png_of_a_screen_s_size_is_a_picture():
    buffer = io.BytesIO()
    Pillow.new("1", (9_000, 9_000)).save(buffer, format="PNG")
    with pytest.raises(ValueError, match="9000 × 9000 pixels is too large"):
        codec.image_from_png(buffer.getvalue())
    for kind in ("EPS", "GIF"):
        other = io.BytesIO()
        Pillow.new("RGB", (9, 9)).save(other, format=kind)
        with pytest.raises(OSError, match="cannot identify"):
            codec.image_from_png(other.getvalue())


@pytest.mark.parametrize("name", ["picture", "text", "prompt"])
def test_steps_of_one_small_blob_that_fill_the_memory_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 20_000, "SC_PAGE_SIZE": 4096}.get)
    seen, decision = Observation("0"), Decision(Action("bash"))
    if name == "picture":
        seen = Observation("0", np.zeros((1_000, 1_000, 3), np.uint8))
    elif name == "text":
        seen = Observation("x" * 3_000_000)
    else:
        tokens = TokenTrace(np.zeros(750_000, np.int32), [1], [-0.1])
        decision = Decision(Action("bash"), generations=(Generation(tokens),))
    with closing(RunStore.create(tmp_path / "run", SETTINGS, [PLAN])) as store:
        recorder = store.begin(
            1, params={}, instruction="", sandbox="x", reset_s=0.1, first=Observation("")
        )
        for index in range(20):
            recorder.step(Step(index, decision, seen))
        size = sum(path.stat().st_size for path in store.folder.rglob("*") if path.is_file())
        assert size < 400_000
        with pytest.raises(
            RecordError, match="run: the first 14 steps of episode 1 take more than"
        ):
            store.steps(1)
        assert sum(1 for _ in store.iter_steps(1)) == 20


def large_blob(folder: Path) -> str:
    """Return the column that names one blob of few bytes, which becomes 50 kB of text."""
    return "@" + BlobStore(folder / "blobs").put(json.dumps("a" * 50_000).encode())


@pytest.mark.parametrize(
    "table,column",
    [
        ("episodes", "instruction"),
        ("episodes", "error"),
        ("checkpoints", "message"),
        ("past_verdicts", "why"),
        ("gradings", "error"),
    ],
)
def test_rows_that_name_one_large_blob_are_refused(run, monkeypatch, table, column):
    change(run, f"UPDATE {table} SET {column} = ?", large_blob(run))
    with closing(sqlite3.connect(run / "run.db")) as connection:
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        key = "position" if table == "checkpoints" else "id"
        rest = ", ".join(name for name in names if name != key)
        for number in range(2, 21):
            query = f"INSERT INTO {table} ({key}, {rest}) SELECT ?, {rest} FROM {table} LIMIT 1"
            connection.execute(query, (number,))
        connection.commit()
    look_at_everything(run, report=False)
    monkeypatch.setattr(packing, "memory_for_steps", lambda: 500_000)
    with pytest.raises(RecordError, match="more than half of this machine's memory"):
        look_at_everything(run, report=False)


def test_the_first_pictures_of_all_episodes_are_not_held_in_memory(run):
    picture = np.full((4, 5, 3), 7, np.uint8)
    name = BlobStore(run / "blobs").put(codec.png_from_image(picture), compress=False)
    text = codec.observation_to_text(Observation("seen"), name)
    change(run, "UPDATE episodes SET first = ?", text)
    with closing(RunStore.open(run)) as store:
        (row,) = store.episodes()
        first = row.first
        assert type(first) is RecordedObservation and first.text == "seen"
        assert np.array_equal(first.image, picture)


def test_a_first_picture_that_is_damaged_is_an_error_of_the_record(run):
    name = BlobStore(run / "blobs").put(b"no picture")
    change(run, "UPDATE episodes SET first = ?", codec.observation_to_text(Observation("x"), name))
    with closing(RunStore.open(run)) as store:
        first = store.episode(1).first
        with pytest.raises(RecordError, match="a recorded picture is damaged"):
            _ = first.image
