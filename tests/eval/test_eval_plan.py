"""The plan: pairing by seed, and when a run may be taken up again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from synthetic_run import Runs, scored, unscored

from agentgym.authoring.scaffold import new_task
from agentgym.errors import ConfigError, RecordError
from agentgym.eval import plan
from agentgym.eval.plan import holds_run, resume_run, start_run
from agentgym.eval.requirements import build_images
from agentgym.eval.settings import Settings, read_settings
from agentgym.record.store import RunStore
from agentgym.records import Grading, Problem
from agentgym.sandbox import launch


def test_every_agent_meets_the_same_worlds_trial_by_trial() -> None:
    plans = Settings(("s/a-v1", "s/b-v1"), ("x", "y"), trials=2, seed=40).episodes()
    assert [(p.trial, p.seed, p.task, p.agent) for p in plans] == [
        (0, 40, "s/a-v1", "x"),
        (0, 40, "s/a-v1", "y"),
        (0, 40, "s/b-v1", "x"),
        (0, 40, "s/b-v1", "y"),
        (1, 41, "s/a-v1", "x"),
        (1, 41, "s/a-v1", "y"),
        (1, 41, "s/b-v1", "x"),
        (1, 41, "s/b-v1", "y"),
    ]


def test_episodes_have_the_group_and_metadata_of_their_run() -> None:
    settings = Settings(
        *(("s/a-v1", "s/b-v1"), ("x",), 2, 7), group="{task}@{seed} by {agent}/{trial}"
    )
    assert [plan.group for plan in replace(settings, metadata={"epoch": 2}).episodes()] == [
        "s/a-v1@7 by x/0",
        "s/b-v1@7 by x/0",
        "s/a-v1@8 by x/1",
        "s/b-v1@8 by x/1",
    ]
    assert {plan.metadata for plan in settings.episodes()} == {None}
    labelled = replace(settings, group="g", metadata={"epoch": 2}).episodes()
    assert [(plan.group, plan.metadata) for plan in labelled] == [("g", {"epoch": 2})] * 4


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"group": ""}, "group: expected a text of 1 to 200 characters, got ''"),
        ({"group": "{task.__class__}{sed}"}, r"group: expected \{task\}, .* got \{sed\}"),
        ({"group": "{}"}, r"group: expected \{task\}, .* got \{\}"),
        ({"group": "{task}" * 40}, "group: expected a text of 1 to 200 characters"),
        ({"group": 5}, "group: expected a text"),
        ({"metadata": [1]}, r"metadata: expected a JSON object, got \[1\]"),
        ({"metadata": {1: 2}}, "metadata: expected a JSON object"),
        ({"metadata": {"a": float("inf")}}, "metadata: it cannot be written as JSON"),
        ({"metadata": {"a": "\ud800"}}, "metadata: it cannot be written as JSON"),
        ({"metadata": {"a": {1}}}, "metadata: it cannot be written as JSON"),
    ],
)
def test_labels_that_no_record_holds_start_no_run(
    tmp_path: Path, desk: str, labels: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        start_run(tmp_path / "run", {"patterns": (desk,), "agents": ("noop",), **labels})
    assert not (tmp_path / "run").exists()


def test_labels_are_those_of_the_start(tmp_path: Path, desk: str) -> None:
    labels = {"group": "{agent}", "metadata": {"epoch": [1, None]}}
    start_run(tmp_path / "run", {"patterns": (desk,), "agents": ("noop",), **labels}).close()
    with closing(resume_run(tmp_path / "run", labels)) as store:
        (row,) = store.episodes()
    assert (row.plan.group, row.plan.metadata) == ("noop", {"epoch": [1, None]})
    for other in ({"group": "x"}, {"metadata": {}}):
        with pytest.raises(ConfigError, match="when this run was started and is .* now"):
            resume_run(tmp_path / "run", other)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A task that needs no computer."""
    new_task("zoo/desk", env="office", template=False, root=tmp_path / "catalogue")
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    return "zoo/desk-v1"


def test_settings_survive_the_record(tmp_path: Path) -> None:
    settings = Settings(("s/a-v1",), ("x",), trials=3, max_steps=7, timeout_s=1.5, jobs=2)
    store = RunStore.create(tmp_path / "run", asdict(settings), [])
    assert read_settings(store) == settings
    store.close()


def test_settings_of_another_hand_are_refused(tmp_path: Path) -> None:
    store = RunStore.create(
        tmp_path / "run", {"tasks": ["s/a-v1"], "agents": [], "trials": "x"}, []
    )
    with pytest.raises(RecordError, match="trials: .*integer"):
        read_settings(store)
    store.close()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"trials": 2}, "trials was 1 when this run was started and is 2 now"),
        ({"seed": 0}, "seed was 10 when this run was started and is 0 now"),
        ({"agents": ("noop", "random")}, "agents was noop when .* is noop, random now"),
        ({"timeout_s": 5.0}, "timeout_s was None when .* is 5.0 now"),
        ({"sandbox": "other", "max_steps": 3}, r"2 problems(.|\n)*sandbox was(.|\n)*max_steps was"),
    ],
)
def test_a_run_goes_on_only_as_it_was_started(
    runs: Runs, asked: dict[str, Any], words: str
) -> None:
    runs.start().close()
    with pytest.raises(ConfigError, match=words):
        resume_run(runs.folder, asked)
    RunStore.open(runs.folder, readonly=False).close()  # the lock was let go


def test_what_changes_no_result_may_differ(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "check", lambda settings, create: [])
    runs.start().close()
    store = resume_run(runs.folder, {"jobs": 9, "pool": 0})
    assert store.folder == runs.folder
    store.close()


def test_an_episode_that_lost_its_verdict_is_planned_anew(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "check", lambda settings, create: [])
    store = runs.start()
    for row in store.episodes():
        runs.play(store, row, scored(1.0))
    store.close()
    with closing(sqlite3.connect(runs.folder / "run.db")) as connection:
        connection.execute("UPDATE episodes SET verdict = NULL WHERE id = 1")
        connection.commit()
    store = resume_run(runs.folder, {})
    assert [(row.state, row.steps) for row in store.episodes()] == [("planned", 0), ("done", 1)]
    store.close()


def test_resuming_loses_no_history(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "check", lambda settings, create: [])
    store = runs.start()
    good, bad = store.episodes()
    runs.play(store, good, scored(1.0))
    runs.play(store, bad, unscored("agent"))
    for row in store.episodes():
        assert row.verdict is not None
        store.history.add_gradings(row.id, [Grading("loops", "1", steps=1)])
        store.history.replace_verdict(
            *(row.id, scored(0.5), "", row.verdict), at="then", why="a mended rubric"
        )
    store.close()
    store = resume_run(runs.folder, {})
    assert [row.state for row in store.episodes()] == ["done", "planned"]
    for row in store.episodes():
        assert [one.grader for one in store.history.gradings(row.id)] == ["loops"]
        assert [past.verdict for past in store.history.past_verdicts(row.id)] == [scored(0.5)]
    store.close()


def test_a_second_run_in_a_folder_needs_a_word(runs: Runs) -> None:
    store = runs.start()
    runs.play(store, store.episode(1), scored(1.0))
    with pytest.raises(ConfigError, match="add --resume to go on"):
        start_run(runs.folder, {"patterns": ("terminal",), "agents": ("noop",)})
    assert store.episode(1).state == "done"


def test_a_task_without_a_sandbox_asks_for_no_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "problems", lambda: [Problem("no bwrap", "get it")])
    new_task("zoo/desk", env="office", template=False, root=tmp_path)
    new_task("zoo/feed", env="terminal", template=False, root=tmp_path)
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    assert plan.check(Settings(("zoo/desk-v1",), ("oracle",))) == []
    told = plan.check(Settings(("zoo/desk-v1", "zoo/feed-v1"), ("oracle",)))
    assert told == ["sandbox bubblewrap: no bwrap; get it"]
    out = tmp_path / "run"
    store = start_run(out, {"patterns": ("zoo/desk-v1",), "agents": ("oracle",)})
    store.close()
    assert holds_run(out)


def test_a_broken_instance_of_an_imported_suite_leaves_the_rest_of_the_run_alone(
    tmp_path: Path, desk: str
) -> None:
    folder = tmp_path / "catalogue/tasks/wild/broken"
    folder.mkdir(parents=True)
    schema = 'schema_version = "agentgym.swebench/1"\n'
    (folder / "task.toml").write_text(f'{schema}id = "wild/broken-v1"\n')
    (folder / "instance.json").write_text("{broken")
    asked = {"patterns": ("wild", desk), "agents": ("noop",)}
    with closing(start_run(tmp_path / "run", asked)) as store:
        assert len(store.episodes()) == 2
    told: list[str] = []
    failed = build_images(["wild/broken-v1", desk], told.append)
    assert list(failed) == ["wild/broken-v1"] and "Invalid JSON" in failed["wild/broken-v1"]
    assert told[0].startswith("wild/broken-v1 cannot run: ")
    with pytest.raises(ConfigError, match="Invalid JSON"):
        start_run(tmp_path / "alone", {**asked, "patterns": ("wild",)})
    # A task of agentgym's own format is to be mended first.
    (folder / "task.toml").write_text('schema_version = "agentgym.task/1"\n')
    with pytest.raises(ConfigError, match=r"task\.toml"):
        start_run(tmp_path / "own", asked)
