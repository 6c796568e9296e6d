"""Data sets of hostile runs: what a few bytes of a record may become in memory and on the disk."""

from __future__ import annotations

import shutil
import sqlite3
from types import SimpleNamespace

import pytest
from offline_runs import FAILED, PASSED, lay, step, write_refund

from agentgym.errors import RecordError
from agentgym.train.datasets import memory, writing
from agentgym.train.datasets.episodes import Criteria, Episodes
from agentgym.train.datasets.pairs import PairOptions, write_pairs
from agentgym.train.datasets.supervised import Form, SupervisedOptions, write_supervised


@pytest.fixture(autouse=True)
def shop(tmp_path, monkeypatch):
    (tmp_path / "shop").mkdir()
    write_refund(tmp_path / "shop")
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "shop"))


def call(order, **more):
    return step("orders_refund", {"order": order}, **more)


def made(run, out, form, criteria=None):
    pairs = criteria is None
    with Episodes([run], criteria or Criteria(repeats=True)) as episodes:
        if pairs:
            return write_pairs(episodes, out, PairOptions(form=form, groups=True))
        return write_supervised(episodes, out, SupervisedOptions(form=form))


def test_episodes_that_are_compared_share_a_bound_on_memory(tmp_path, monkeypatch):
    verdicts = [PASSED, FAILED] * 5
    run = lay(
        tmp_path / "run",
        [({}, [call(n, text="a" * 100_000)], verdict) for n, verdict in enumerate(verdicts)],
    )
    assert made(run, tmp_path / "pairs.jsonl", Form.TRL).examples
    monkeypatch.setattr(memory, "memory_for_steps", lambda: 500_000)
    with pytest.raises(RecordError, match="more than half of this machine's memory"):
        made(run, tmp_path / "more.jsonl", Form.TRL)
    assert not (tmp_path / "more.jsonl").exists()


@pytest.mark.parametrize("pairs", [False, True])
def test_token_ids_share_a_bound_on_memory(tmp_path, monkeypatch, pairs):
    episodes = [
        ({}, [call(n, tokens=([0] * 10_000, [n + 1]))], PASSED if n % 2 else FAILED)
        for n in range(6)
    ]
    run = lay(tmp_path / "run", episodes)
    criteria = None if pairs else Criteria()
    assert made(run, tmp_path / "all.npz", Form.NATIVE, criteria).examples
    monkeypatch.setattr(memory, "memory_for_steps", lambda: 3_000_000)
    with pytest.raises(RecordError, match="more than half of this machine's memory"):
        made(run, tmp_path / "more.npz", Form.NATIVE, criteria)


def test_a_data_set_leaves_some_of_the_disk_free(tmp_path, monkeypatch):
    free = 1 << 30

    def usage(path):
        return SimpleNamespace(free=free - (tmp_path / "x").stat().st_size)

    (tmp_path / "x").touch()
    (tmp_path / "out.jsonl").write_text("old")
    monkeypatch.setattr(shutil, "disk_usage", usage)
    monkeypatch.setattr(writing, "LOOK_BYTES", 1_000)
    with writing.whole_lines(tmp_path / "sound.jsonl") as write:
        write("a" * 5_000)
    with (
        pytest.raises(RecordError, match="disk is almost full"),
        writing.whole_lines(tmp_path / "out.jsonl") as write,
    ):
        write("a" * 5_000)
        with (tmp_path / "x").open("wb") as other:
            other.truncate(900 << 20)
        write("a" * 5_000)
    assert (tmp_path / "out.jsonl").read_text() == "old"
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("parents", [{1: 1}, {1: 2, 2: 1}])
def test_an_episode_that_comes_before_itself_is_refused(tmp_path, pairs, parents):
    run = lay(tmp_path / "run", [({}, [call(n)], PASSED) for n in (1, 2)])
    with sqlite3.connect(run / "run.db") as database:
        for id, parent in parents.items():
            change = "UPDATE episodes SET parent = ?, parent_step = 0 WHERE id = ?"
            database.execute(change, (parent, id))
    out, form = tmp_path / "set.jsonl", Form.TRL
    with (
        Episodes([run], Criteria(repeats=pairs)) as episodes,
        pytest.raises(RecordError, match="it comes before itself"),
    ):
        if pairs:
            write_pairs(episodes, out, PairOptions(form=form))
        else:
            write_supervised(episodes, out, SupervisedOptions(form=form))
