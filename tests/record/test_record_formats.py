"""A run of an older format is read, resumed and judged as one of today's.

`runs/` holds runs that `agentgym eval` recorded in format 3: one whole, and one whose process was
killed with SIGKILL in its second episode, so that its newest steps are in `run.journal`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentgym.errors import RecordError
from agentgym.eval.results import build_results
from agentgym.eval.settings import read_settings
from agentgym.record import migrations
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    Decision,
    Generation,
    Nudge,
    Observation,
    Step,
    StepEventKind,
    TokenTrace,
    TokenUsage,
)

RUNS = Path(__file__).parent / "runs"


@pytest.fixture
def old(request, tmp_path):
    """A copy of a run of format 3, ``finished`` unless the test says which."""
    return Path(shutil.copytree(RUNS / getattr(request, "param", "finished"), tmp_path / "run"))


def opened(folder, *, readonly=True):
    return closing(RunStore.open(folder, readonly=readonly))


def contents(folder):
    """Return the content of the run, for comparison."""
    with opened(folder) as store:
        return [
            (row.plan, row.verdict, row.usage, row.instruction, row.params, row.prepared)
            + (
                [
                    (s.decision, s.observation.text, s.events, s.duration_s)
                    for s in store.steps(row.id)
                ],
            )
            + (store.history.trajectory(row.id), store.endings.find(row.id))
            for row in store.episodes()
        ]


def files(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def test_a_run_of_format_3_is_read_and_its_folder_left_as_it_is(old):
    before = {name: data for name, data in files(old).items() if not name.startswith("run.db-")}
    with opened(old) as store:
        oracle, noop, talk, _ = store.episodes()
        assert (oracle.plan.agent, oracle.verdict.score, oracle.steps) == ("oracle", 1.0, 2)
        assert (noop.verdict.outcome, noop.plan.group, noop.plan.metadata) == (False, None, None)
        steps = store.steps(talk.id)
        assert steps[0].decision.generations is None
        turns = [event.turn for _, event in store.events() if event.kind is StepEventKind.USER]
        assert turns and all(turn.text for turn in turns)
        assert store.refused(1) == ()
    after = files(old)
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("old", ["finished", "killed"], indirect=True)
def test_a_writer_migrates_it_and_nothing_is_lost(old):
    before = contents(old)
    with opened(old, readonly=False) as store:
        assert store.settings["image_fallbacks"] == {}
        assert "stand_ins" not in store.settings
    assert contents(old) == before
    assert not (old / "run.journal").exists()
    with closing(sqlite3.connect(old / "run.db")) as connection:
        (found,) = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
        assert found == migrations.FORMAT == "agentgym.run/5"
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("old", ["killed"], indirect=True)
def test_a_killed_run_of_format_3_has_the_steps_of_its_journal_and_goes_on(old):
    with opened(old) as store:
        first, second = store.episodes()
        assert store.steps(1)[0].decision.nudges[0] == Nudge(
            said='I look around.\nbash({"command": )',
            told=store.steps(1)[0].decision.nudges[0].told,
        )
        assert "not valid JSON" in store.steps(1)[0].decision.nudges[0].told
        assert (second.state, second.steps) == ("running", 2)
        assert second.usage == TokenUsage(104 + 105 + 106, 14 + 15 + 16)
        assert store.steps(2)[1].action == Action("bash", {"command": "echo hi > /tmp/hi"})
    with opened(old, readonly=False) as store:
        recorder = store.begin(
            2, params={}, instruction="", sandbox="x", reset_s=0, first=Observation("")
        )
        recorder.step(Step(2, Decision(Action("submit")), Observation("")))
        store.add(EpisodePlan("t/a-v1", 0, 0, "noop", "g", {}))
    with opened(old) as store:
        assert [step.index for step in store.steps(2)] == [0, 1, 2]
        assert (store.episode(3).plan.group, store.episode(3).plan.metadata) == ("g", {})


def test_its_report_is_the_one_that_was_written_then(old):
    written = json.loads((old / "results.json").read_text())
    with opened(old) as store:
        results = build_results(store)
    for one in (written, results):
        one["settings"].pop("stand_ins", None)
        one["settings"].pop("image_fallbacks", None)
    _forget_newer_figures(results)
    assert json.loads(json.dumps(results)) == written


def _forget_newer_figures(results):
    """Remove the figures that reports did not have then."""
    for row in results["summary"].values():
        del row["path_efficiency"]
        assert row.pop("calls_by_surface") == {}, "those runs did not count them"
    for task in results["tasks"]:
        for episode in (*task["episodes"], *task.get("branches", ())):
            episode.pop("calls_by_surface", None)


def in_database(folder, *statements):
    with closing(sqlite3.connect(folder / "run.db")) as connection, connection:
        for statement in statements:
            connection.execute(*statement)


@pytest.mark.parametrize("readonly", [True, False])
def test_an_old_name_of_a_setting_is_read(old, readonly):
    fallbacks = {"terminal/drop-folder-script-v1": {"debian:13": "debian"}}
    with opened(old) as store:
        settings = {**store.settings, "stand_ins": fallbacks}
        del settings["image_fallbacks"]
    query = "UPDATE meta SET value = ? WHERE key = 'settings'"
    in_database(old, (query, (json.dumps(settings),)))
    with opened(old, readonly=readonly) as store:
        assert read_settings(store).image_fallbacks == fallbacks
        assert build_results(store)["tasks"][0]["image_fallbacks"] == {"debian:13": "debian"}


@pytest.mark.parametrize("readonly", [True, False])
def test_a_run_that_is_older_than_some_tables_gets_them(old, readonly):
    dropped = ("gradings", "past_verdicts", "endings", "setups", "refused_replies")
    in_database(old, *[(f"DROP TABLE {table}",) for table in dropped])
    with opened(old, readonly=readonly) as store:
        assert store.history.gradings(1) == store.history.past_verdicts(1) == []
        assert (store.endings.find(1), store.refused(1), store.episode(1).prepared) == (
            None,
            (),
            "",
        )


def test_a_reader_of_an_old_run_changes_nothing(old):
    with opened(old) as store, pytest.raises(RecordError, match="readonly"):
        store.add(EpisodePlan("t/a-v1", 0, 0, "noop"))


@pytest.mark.parametrize("readonly", [True, False])
def test_a_trigger_in_an_old_run_is_refused_before_it_is_migrated(old, readonly):
    trigger = "CREATE TRIGGER t AFTER UPDATE ON meta BEGIN DELETE FROM episodes; END"
    in_database(old, (trigger,))
    with pytest.raises(RecordError, match="nothing else, found trigger 't'"):
        RunStore.open(old, readonly=readonly)
    with closing(sqlite3.connect(old / "run.db")) as connection:
        assert connection.execute("SELECT COUNT(*) FROM episodes").fetchone() == (4,)


def test_a_new_run_and_a_migrated_one_have_the_same_tables(old, tmp_path):
    RunStore.open(old, readonly=False).close()
    RunStore.create(tmp_path / "new", {}, []).close()

    def tables(folder):
        with closing(sqlite3.connect(folder / "run.db")) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {
                name: connection.execute(f"PRAGMA table_info({name})").fetchall()
                for (name,) in names.fetchall()
            }

    assert tables(old) == tables(tmp_path / "new")


def test_a_migration_that_fails_leaves_the_run_as_it_was(old, monkeypatch):
    before = contents(old)

    def fail(connection, folder):
        raise RecordError("the disk is full")

    with monkeypatch.context() as patch:
        broken = migrations._Migration("agentgym.run/4", migrations._FORMAT_4, fail)
        patch.setattr(migrations, "_MIGRATIONS", (broken,))
        with pytest.raises(RecordError, match="the disk is full"):
            RunStore.open(old, readonly=False)
    assert contents(old) == before
    with closing(sqlite3.connect(old / "run.db")) as connection:
        (found,) = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
        assert found == "agentgym.run/3"


def test_an_old_run_too_large_to_convert_in_memory_names_the_way_out(old, monkeypatch):
    monkeypatch.setattr(migrations, "_COPIED_BYTES", 1000)
    with pytest.raises(RecordError, match="convert it once: agentgym eval --resume"):
        RunStore.open(old)
    with opened(old, readonly=False) as store:
        assert len(store.episodes()) == 4
    with opened(old) as store:
        assert len(store.episodes()) == 4


# --- the journal of format 3, which may come from a stranger -------------------------------


def line(text):
    return f"{text}\t{hashlib.sha256(text.encode()).hexdigest()}\n".encode()


@pytest.mark.parametrize("row", ["1\t1", "\t".join("x" * 9), "9" * 5000 + "\t1" * 8])
@pytest.mark.parametrize("readonly", [True, False])
def test_a_journal_with_right_digests_and_wrong_columns_is_refused(old, row, readonly):
    (old / "run.journal").write_bytes(line(row))
    with pytest.raises(RecordError, match=r"run\.journal is damaged: line 1"):
        RunStore.open(old, readonly=readonly)


@pytest.mark.parametrize("readonly", [True, False])
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_a_journal_that_is_no_file_of_the_folder_is_not_opened(old, tmp_path, kind, readonly):
    (old / "run.journal").unlink()
    if kind == "link":
        (old / "run.journal").symlink_to(tmp_path / "secret")
    else:
        os.mkfifo(old / "run.journal")
    with pytest.raises(RecordError, match="is a (symbolic link|FIFO)"):
        RunStore.open(old, readonly=readonly)


@pytest.mark.parametrize("old", ["killed"], indirect=True)
@pytest.mark.parametrize("tail", [b"2\t3\t0.1", b"2\t3\t0.1\n", b"\xff\t\n", b"\0" * 4096, b"\n"])
def test_a_line_that_is_not_whole_was_never_recorded(old, tail):
    before = contents(old)
    with (old / "run.journal").open("ab") as file:
        file.write(tail)
    assert contents(old) == before
    with opened(old, readonly=False) as store:
        assert store.episode(2).steps == 2


@pytest.mark.parametrize("old", ["killed"], indirect=True)
def test_what_follows_a_damaged_line_was_never_recorded(old):
    lines = (old / "run.journal").read_bytes().splitlines(keepends=True)
    (old / "run.journal").write_bytes(lines[0].replace(b"file-drop", b"file-prod") + lines[1])
    with opened(old) as store:
        assert store.episode(2).steps == 0


# --- format 4 ------------------------------------------------------------------------------

TOKENS, BRANCH = 2, 3


@pytest.mark.parametrize("old", ["tokens"], indirect=True)
@pytest.mark.parametrize("readonly", [True, False])
def test_a_run_of_format_4_has_whole_prompts_and_a_branch_that_is_a_copy(old, readonly):
    """`runs/tokens` was recorded by `agentgym eval` and `agentgym replay --branch`."""
    with opened(old, readonly=readonly) as store:
        assert [row.plan.agent for row in store.episodes()] == [
            "oracle",
            "./tokens_agent.py:Tokens",
            "noop",
        ]
        for index, step in enumerate(store.steps(TOKENS)):
            prompt = list(range(100, 160 + 40 * index))
            *rejected, given = step.decision.generations
            assert [g.tokens.prompt_ids.tolist() for g in rejected] == [prompt] * (index == 1)
            assert given.tokens.prompt_ids.tolist() == [*prompt, 3, 4, 5]
            assert given.tokens.completion_ids.tolist() == [7, 8, 9 + index]
        branch = store.episode(BRANCH)
        assert (branch.parent, branch.forked, branch.steps) == ((TOKENS, 2), False, 3)
        assert store.forks(BRANCH) == ()
        decisions = [step.decision for step in store.steps(BRANCH)]
        assert decisions[:2] == [step.decision for step in store.steps(TOKENS)][:2]
        # The tokens before a branch are its parent's.
        assert branch.usage == TokenUsage()


@pytest.mark.parametrize("old", ["tokens"], indirect=True)
def test_a_run_of_format_4_is_migrated_with_all_its_digests(old):
    before = contents(old)
    with opened(old, readonly=False) as store:
        plan = store.episode(TOKENS).plan
        child = store.add(plan, (TOKENS, 4), shared=4, forked=True)
        recorder = store.begin(
            child, params={}, instruction="", sandbox="x", reset_s=0, first=Observation("")
        )
        recorder.follow(store.steps(child))
        tokens = store.steps(child)[-1].decision.generations[0].tokens
        longer = TokenTrace([*tokens.prompt_ids, *tokens.completion_ids, 1])
        recorder.step(
            Step(4, Decision(Action("a"), generations=(Generation(longer),)), Observation(""))
        )
    assert contents(old)[:3] == before
    with opened(old) as store:
        assert store.steps(child)[-1].decision.generations == (Generation(longer),)


@pytest.mark.parametrize("old", ["tokens"], indirect=True)
def test_the_report_of_format_4_is_the_one_that_was_written_then(old):
    written = json.loads((old / "results.json").read_text())
    with opened(old) as store:
        now = json.loads(json.dumps(build_results(store)))
    # The report of that time did not list branches; all else is equal.
    (branch,) = now["tasks"][0].pop("branches")
    assert (branch["id"], branch["parent"], branch["parent_step"]) == (BRANCH, TOKENS, 2)
    _forget_newer_figures(now)
    assert now == written
