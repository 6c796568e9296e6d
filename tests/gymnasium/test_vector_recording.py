"""`agentgym.vector.make(record=...)` records each lane as `agentgym.make` does."""

import asyncio
from contextlib import closing

import numpy as np
import pytest

import agentgym
import agentgym.vector
from agentgym.env.portal import portal
from agentgym.errors import ConfigError, RecordError, SandboxDiedError, TaskError
from agentgym.record import waiting
from agentgym.record.database import writer_lock
from agentgym.record.store import RunStore
from agentgym.rollout.replay import Agreement, verify_episode
from agentgym.sandbox.absent import NoSandboxProvider

TASK = "demo/refund-v1"
SUBMIT = {"tool": "submit", "arguments": {}}
ASK = {"tool": "message_user", "arguments": {"text": "Could you tell me the order number?"}}


pytestmark = pytest.mark.usefixtures("shop_catalogue")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs" / "x"


@pytest.fixture
def make(folder):
    made = []

    def make(lanes=3, **options):
        made.append(agentgym.vector.make(TASK, lanes, **{"record": folder, **options}))
        return made[-1]

    yield make
    for envs in made:
        envs.close()


def episodes(folder):
    with closing(RunStore.open(folder)) as store:
        return store.episodes()


def solve(envs, infos, lanes):
    """Play the given lanes to their end."""
    orders = infos["params"]["case"]["order"].tolist()

    def each(call):
        return [call(lane) if lane in lanes else None for lane in range(envs.num_envs)]

    envs.step(each(lambda lane: ASK))
    envs.step(each(lambda lane: {"tool": "orders_refund", "arguments": {"order": orders[lane]}}))
    return envs.step(each(lambda lane: SUBMIT))


def test_all_lanes_are_recorded_as_single_environments_are(make, folder, tmp_path):
    envs = make(autoreset_mode="Disabled")
    _, infos = envs.reset(
        seed=4, options={"group": ["a", "a", None], "metadata": {"epoch": 2, "none": None}}
    )
    *_, infos = solve(envs, infos, range(3))
    assert infos["scored"].all()
    ids = [recording.episode_id for recording in envs.recordings]
    envs.close()
    alone = agentgym.make(TASK, record=tmp_path / "alone")
    for seed in (4, 5, 6):
        _, info = alone.reset(seed=seed, options={"metadata": {"epoch": 2, "none": None}})
        alone.step(ASK)
        order = info["params"]["case"]["order"]
        alone.step({"tool": "orders_refund", "arguments": {"order": order}})
        alone.step(SUBMIT)
    alone.close()
    rows, single = episodes(folder), episodes(tmp_path / "alone")
    by_lane = [next(row for row in rows if row.id == number) for number in ids]
    assert [row.plan.group for row in by_lane] == ["a", "a", None]
    assert sorted(row.plan.trial for row in rows) == [0, 1, 2]
    for row, other in zip(by_lane, single, strict=True):
        assert (row.plan.seed, row.plan.agent, row.state, row.steps) == (
            other.plan.seed,
            "gym",
            "done",
            3,
        )
        assert row.plan.metadata == other.plan.metadata == {"epoch": 2, "none": None}
        assert row.verdict == other.verdict and row.verdict.score == 1.0
    with closing(RunStore.open(folder)) as store, closing(RunStore.open(tmp_path / "alone")) as one:
        for number, other in zip(ids, single, strict=True):
            assert [s.action for s in store.steps(number)] == [
                s.action for s in one.steps(other.id)
            ]
            ours, theirs = store.endings.find(number), one.endings.find(other.id)
            assert (ours.state_bytes > 0, ours.unkept) == (theirs.state_bytes > 0, theirs.unkept)
            verified = asyncio.run(verify_episode(store, number, NoSandboxProvider()))
            assert verified.agreement is Agreement.SAME


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_autoreset_records_one_episode_after_the_other(make, folder, mode):
    envs = make(2, autoreset_mode=mode, record_as="policy")
    envs.reset(seed=1, options={"group": "g"})
    envs.step([SUBMIT, ASK])
    if mode == "NextStep":
        envs.step([SUBMIT, ASK])
    envs.step([SUBMIT, ASK])
    envs.close()
    rows = episodes(folder)
    ended = [(row.plan.group, row.verdict.status, row.error) for row in rows]
    assert ended.count(("g", "scored", "")) == 1
    assert ("g", "error:abandoned", "closed before its end") in ended
    # The episodes that began without a reset of the caller have no labels.
    assert (None, "scored", "") in ended
    assert {row.plan.agent for row in rows} == {"policy"}
    assert len({row.plan.trial for row in rows}) == len(rows)


def test_what_breaks_in_a_lane_is_recorded_by_its_boundary(make, folder, monkeypatch):
    envs = make(3, autoreset_mode="Disabled", timeout_s=0.4)
    environment = envs.environments[0]
    start = environment.start

    async def fails(seed):
        if seed == 2:
            raise TaskError("setup.sh exited with 1")
        if seed == 3:
            await asyncio.sleep(60)
        return await start(seed)

    monkeypatch.setattr(environment, "start", fails)
    envs.reset(seed=1)

    async def dies(decision):
        raise SandboxDiedError("the supervisor is gone")

    monkeypatch.setattr(envs.episodes[0], "step", dies)
    *_, truncated, infos = envs.step([ASK] * 3)
    assert truncated.all() and not infos["scored"].any()
    monkeypatch.undo()
    envs.reset(seed=[4, 5, 6])

    async def hangs(decision):
        await asyncio.sleep(60)

    monkeypatch.setattr(envs.episodes[1], "step", hangs)
    envs.step([ASK] * 3)
    envs.close()
    found = {row.plan.seed: (row.verdict.status, row.error, row.steps) for row in episodes(folder)}
    assert found[1] == ("error:sandbox", "the supervisor is gone", 0)
    assert found[2] == ("error:task", "setup.sh exited with 1", 0)
    assert found[3][0] == "error:sandbox" and "a reset did not end within" in found[3][1]
    assert found[4] == ("error:abandoned", "closed before its end", 1)
    assert found[5][0] == "scored" and found[5][2] == 0


def test_a_mask_abandons_only_its_lanes(make, folder):
    envs = make(2, autoreset_mode="Disabled")
    envs.reset(seed=1)
    envs.step([ASK, ASK])
    envs.reset(seed=8, options={"reset_mask": np.array([True, False]), "group": ["b", "unused"]})
    envs.step([SUBMIT, SUBMIT])
    envs.close()
    found = {row.plan.seed: (row.plan.group, row.verdict.status) for row in episodes(folder)}
    assert found == {1: (None, "error:abandoned"), 2: (None, "scored"), 8: ("b", "scored")}


def test_lanes_share_the_run_with_other_environments_and_let_go_of_it(make, folder):
    envs = make(2)
    single = agentgym.make(TASK, record=folder, record_as="single")
    envs.reset(seed=1)
    single.reset(seed=1)
    with pytest.raises(RecordError, match="is being written by process"), writer_lock(folder):
        pass
    envs.close()
    single.step(SUBMIT)
    single.close()
    with writer_lock(folder):
        pass
    assert sorted(row.plan.agent for row in episodes(folder)) == ["gym", "gym", "single"]


def test_a_full_disk_ends_lanes_unscored_and_is_told_when_it_is_closed(make, folder, monkeypatch):
    monkeypatch.setattr(waiting, "_FULL_S", 0.2)
    envs = make(2)
    envs.reset(seed=1)
    store = envs.recordings[0]._run.store

    async def pages(number):
        (now,) = store._database.rows("PRAGMA page_count")
        store._database.rows(f"PRAGMA max_page_count = {number or now[0]}")

    portal().run(pages(0))
    long = {"tool": "message_user", "arguments": {"text": "x" * 3000}}
    for _ in range(20):
        *_, truncated, infos = envs.step([long, long])
        if truncated.any():
            break
    assert infos["status"][truncated.argmax()] == "error:record"
    portal().run(pages(10**6))
    envs.close()
    errors = [row.error for row in episodes(folder) if row.verdict.status == "error:abandoned"]
    assert any("could not be written" in error for error in errors)


@pytest.mark.parametrize(
    ("options", "error", "why"),
    [
        ({"group": ["a"]}, ValueError, "expected 3 values, got 1"),
        ({"group": ["a", "b", 5]}, ConfigError, "group"),
        ({"group": ""}, ConfigError, "group"),
        ({"metadata": [{}, {}, {"a": object()}]}, ConfigError, "metadata"),
        ({"metadata": 5}, ConfigError, "metadata"),
        ({"grupp": "g"}, ConfigError, "grupp"),
    ],
)
def test_wrong_labels_are_refused_and_the_episodes_go_on(make, folder, options, error, why):
    envs = make()
    envs.reset(seed=1)
    with pytest.raises(error, match=why):
        envs.reset(seed=2, options=options)
    *_, infos = envs.step([SUBMIT] * 3)
    assert infos["scored"].all()
    assert len(episodes(folder)) == 3


def test_labels_need_a_record(make):
    envs = make(record=None)
    with pytest.raises(ConfigError, match=r"only 'reset_mask', got 'group'.*record="):
        envs.reset(options={"group": "g"})


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"record": 5}, "record: expected a run folder"),
        ({"record_as": " "}, "record_as"),
        ({"max_steps": 5}, "max_steps=None and this environment has max_steps=5"),
        ({"pool": -1}, "pool: expected"),
        ({"pool": True}, "pool: expected"),
        ({"autoreset_mode": "Sometimes"}, "autoreset_mode"),
    ],
)
def test_wrong_arguments_are_refused_and_lock_nothing(make, folder, options, why):
    make(1).close()
    with pytest.raises(ConfigError, match=why):
        make(2, **options)
    with writer_lock(folder):
        pass
