"""Workers play episodes that are merged into one run, each once; here in this process."""

from __future__ import annotations

import asyncio
import io
import sqlite3
import tarfile
import tempfile
from collections import Counter
from contextlib import closing
from dataclasses import asdict

import pytest

from agentgym.cluster.workers import LOSSES, WorkerLostError, Workers
from agentgym.errors import RecordError
from agentgym.eval.plan import start_run
from agentgym.eval.remote import EpisodeWork, Played, RemoteEpisodes
from agentgym.eval.results import build_results
from agentgym.eval.settings import read_settings
from agentgym.rollout.handover import pack, unpack

TASK = "tools/largest-debtors-v1"


@pytest.fixture
def store(tmp_path):
    asked = {"patterns": (TASK,), "agents": ("oracle", "noop"), "trials": 2, "sandbox": "none"}
    with closing(start_run(tmp_path / "run", asked)) as run:
        yield run


class NearWorker:
    """A worker in this process, which dies after it has played an episode, if it is told to."""

    def __init__(self, work, dying, played):
        self._work, self._dying, self._played = work, dying, played

    async def do(self, plan):
        self._played[plan.agent, plan.seed] += 1
        played = await self._work.do(plan)
        if self._dying[plan.agent, plan.seed]:
            self._dying[plan.agent, plan.seed] -= 1
            raise WorkerLostError("its node is gone")
        return played

    async def close(self):
        await self._work.close()


def workers_of(store, dying=None):
    played = Counter()

    async def start():
        work = EpisodeWork(asdict(read_settings(store)), 2)
        await work.open()
        return NearWorker(work, Counter(dying or {}) if dying is None else dying, played)

    return Workers(start, workers=2, jobs=1), played


async def run_all(store, workers):
    episodes = RemoteEpisodes(store, workers)
    try:
        return await asyncio.gather(
            *(episodes.run(row, lambda step: None) for row in store.episodes())
        )
    finally:
        await workers.close()


async def test_each_episode_is_recorded_once_although_workers_die(store):
    workers, played = workers_of(store, Counter({("oracle", 1): 1, ("noop", 0): 2}))
    results = await run_all(store, workers)
    assert [each.verdict.score for each in results] == [1.0, 0.0, 1.0, 0.0]
    assert played == {("oracle", 0): 1, ("oracle", 1): 2, ("noop", 0): 3, ("noop", 1): 1}
    assert workers.statistics.lost == 3
    rows = store.episodes()
    assert [(row.id, row.plan.agent, row.plan.seed) for row in rows] == [
        (1, "oracle", 0),
        (2, "noop", 0),
        (3, "oracle", 1),
        (4, "noop", 1),
    ]
    assert all(len(store.steps(row.id)) == row.steps for row in rows)
    assert rows[0].steps > 1
    summary = build_results(store)["summary"]
    assert [summary[name]["scored"] for name in ("oracle", "noop")] == [2, 2]


async def test_an_episode_that_kills_workers_has_no_score(store):
    workers, _ = workers_of(store, Counter({("oracle", 0): LOSSES}))
    results = await run_all(store, workers)
    assert [each.verdict.status for each in results] == ["error:sandbox", *["scored"] * 3]
    assert f"{LOSSES} workers were lost" in store.episode(1).error


async def test_an_interrupted_episode_is_begun_anew(store):
    store.begin(1, params={}, instruction="", sandbox="none", reset_s=0.0, first=None)
    workers, _ = workers_of(store)
    results = await run_all(store, workers)
    assert [each.verdict.score for each in results] == [1.0, 0.0, 1.0, 0.0]


def archive(mode="w", *, sparse=False, link=False):
    """A tar archive with one member: 100 MB of zeros, a file of holes, or a link."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as tar:
        member = tarfile.TarInfo("run.db")
        if link:
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        if sparse:
            member.pax_headers = {
                **{"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.map": "0,0"},
                **{"GNU.sparse.size": str(8 << 40), "GNU.sparse.numblocks": "1"},
            }
        member.size = 0 if sparse or link else 100_000_000
        tar.addfile(member, io.BytesIO(bytes(member.size)))
    return data.getvalue()


@pytest.mark.parametrize(
    "given", [{"mode": "w:xz"}, {"mode": "w:gz"}, {"sparse": True}, {"link": True}], ids=str
)
async def test_an_archive_that_is_no_plain_one_is_refused(store, tmp_path, monkeypatch, given):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    workers, _ = workers_of(store)
    await workers.close()
    episodes = RemoteEpisodes(store, workers)
    data = archive(**given)
    assert len(data) < 1_000_000

    async def done(plan):
        return Played(data)

    monkeypatch.setattr(workers, "do", done)
    with pytest.raises(RecordError, match="a worker returned"):
        await episodes.run(store.episode(1), lambda step: None)
    assert store.episode(1).state == "planned"


async def returned(store, monkeypatch, played):
    """Have workers return a result for the first episode, and merge it."""
    workers, _ = workers_of(store)
    await workers.close()

    async def done(plan):
        return played

    monkeypatch.setattr(workers, "do", done)
    await RemoteEpisodes(store, workers).run(store.episode(1), lambda step: None)


async def altered(store, folder, alter):
    """Play the first episode as a worker does, and return its result with another record."""
    work = EpisodeWork(asdict(read_settings(store)), 1)
    await work.open()
    played = await work.do(store.episode(1).plan)
    await work.close()
    unpack(played.archive, folder)
    with closing(sqlite3.connect(folder / "run.db")) as database, database:
        alter(database)
    return Played(pack(folder))


async def test_a_damaged_record_of_a_worker_is_not_merged(store, tmp_path, monkeypatch):
    def damage(database):
        database.execute("UPDATE steps SET decision = '[5]', digest = ''")

    played = await altered(store, tmp_path / "other", damage)
    with pytest.raises(RecordError, match="damaged"):
        await returned(store, monkeypatch, played)
    assert store.episode(1).state == "planned"


async def test_a_worker_that_returns_no_run_is_an_error(store):
    class Liar:
        async def do(self, plan):
            return Played(b"no archive")

        async def close(self):
            pass

    async def start():
        return Liar()

    with pytest.raises(RecordError, match="a worker returned no run"):
        await run_all(store, Workers(start, workers=1, jobs=8))
    assert {row.state for row in store.episodes()} == {"planned"}


async def test_a_worker_that_returns_another_episode_is_an_error(store):
    work = EpisodeWork(asdict(read_settings(store)), 1)
    await work.open()

    class Confused:
        async def do(self, plan):
            return await work.do(store.episode(2).plan)

        async def close(self):
            await work.close()

    async def start():
        return Confused()

    workers = Workers(start, workers=1, jobs=1)
    with pytest.raises(RecordError, match="its agent is 'noop', not 'oracle'"):
        await RemoteEpisodes(store, workers).run(store.episode(1), lambda step: None)
    await workers.close()
    assert store.episode(1).state == "planned"


async def test_an_episode_that_was_not_asked_for_is_not_counted(store, tmp_path, monkeypatch):
    def add(database):
        names = [
            row[1] for row in database.execute("PRAGMA table_info(episodes)") if row[1] != "id"
        ]
        columns = ", ".join(names)
        database.execute(f"INSERT INTO episodes ({columns}) SELECT {columns} FROM episodes")

    played = await altered(store, tmp_path / "other", add)
    with pytest.raises(RecordError, match="a worker returned episode 2, which it was not asked"):
        await returned(store, monkeypatch, played)
    assert [row.state for row in store.episodes()] == ["planned"] * 4


async def test_a_worker_that_returns_no_episode_is_an_error(store, monkeypatch):
    with pytest.raises(RecordError, match="a worker returned NoneType and no episode"):
        await returned(store, monkeypatch, None)
