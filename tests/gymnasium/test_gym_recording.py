"""`agentgym.make(..., record=...)` records a task that needs no computer."""

import asyncio
import gc
import json
from contextlib import closing

import pytest
from gymnasium.vector import SyncVectorEnv

import agentgym
import agentgym.vector
from agentgym import catalogue
from agentgym.env.portal import portal
from agentgym.errors import (
    ConfigError,
    DiskFullError,
    NotFoundError,
    RecordError,
    SandboxDiedError,
    TaskError,
    VerifierError,
)
from agentgym.eval.plan import resume_run
from agentgym.eval.report import write_report
from agentgym.eval.results import build_results
from agentgym.gymnasium import recording as gym_recording
from agentgym.record import waiting
from agentgym.record.blobs import BlobStore
from agentgym.record.database import writer_lock
from agentgym.record.endings import Endings
from agentgym.record.recorder import Recorder
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import CheckpointResult, CheckStatus, Phase, Verdict
from agentgym.rollout.regrade import Fate, regrade_episode
from agentgym.rollout.replay import Agreement, verify_episode
from agentgym.sandbox.absent import NoSandboxProvider

TASK = "demo/refund-v1"
SUBMIT = {"tool": "submit", "arguments": {}}


pytestmark = pytest.mark.usefixtures("shop_catalogue")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs" / "x"


@pytest.fixture
def make(folder):
    made = []

    def make(**options):
        made.append(agentgym.make(TASK, **{"record": folder, **options}))
        return made[-1]

    yield make
    for env in made:
        env.close()


def refund(order):
    return {"tool": "orders_refund", "arguments": {"order": order}}


def ask(text="Could you tell me the order number?"):
    return {"tool": "message_user", "arguments": {"text": text}}


def solve(env, **reset):
    _, info = env.reset(**reset)
    env.step(ask())
    env.step(refund(info["params"]["case"]["order"]))
    return env.step(SUBMIT)


def read(folder, *what):
    """Return some of each episode of a run: attributes of the row or of its verdict."""
    store = RunStore.open(folder)
    rows = store.episodes()
    store.close()
    places = [(row, row.plan, row.verdict) for row in rows]
    return [
        tuple(next((getattr(p, name) for p in place if hasattr(p, name)), None) for name in what)
        for place in places
    ]


def test_a_recorded_run_is_reported_verified_and_judged_again(make, folder):
    env = make(seed=4)
    *_, reward, terminated, _, info = solve(env)
    assert (reward, terminated, env.recording.episode_id) == (1.0, True, 1)
    env.close()
    store = RunStore.open(folder, readonly=False)
    row = store.episode(1)
    assert (row.plan.agent, row.plan.seed, row.state, row.steps) == ("gym", 4, "done", 3)
    assert row.verdict.state_hash == info["verdict"]["state_hash"] != ""
    assert [step.action.tool for step in store.steps(1)] == [
        "message_user",
        "orders_refund",
        "submit",
    ]
    provider = NoSandboxProvider()
    assert asyncio.run(verify_episode(store, 1, provider)).agreement is Agreement.SAME
    judged = asyncio.run(regrade_episode(store, row, provider, force=True))
    assert judged.fate is Fate.REPLACED and judged.new.score == 1.0
    results = build_results(store)
    write_report(store, folder / "report.html")
    store.close()
    assert results["complete"] and results["summary"]["gym"]["mean_score"] == 1.0
    assert results["settings"]["tasks"] == [TASK]
    assert results["settings"]["user"] == "scripted"


class Full:
    """A disk that is full at some writes of one place."""

    def __init__(self, monkeypatch, owner, name, times):
        self.left, real = times, getattr(owner, name)

        def write(*args, **named):
            if self.left:
                self.left -= 1
                raise DiskFullError("the disk is full")
            return real(*args, **named)

        monkeypatch.setattr(owner, name, write)


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(
    ("owner", "name"),
    [(BlobStore, "put"), (Endings, "finish"), (Recorder, "finish"), (RunStore, "write_steps")],
)
def test_a_disk_that_was_full_for_a_while_loses_nothing(
    make, folder, monkeypatch, owner, name, times
):
    monkeypatch.setattr(waiting, "_PAUSE_S", 0.01)
    env = make(seed=4)
    _, info = env.reset()
    env.step(ask())
    full = Full(monkeypatch, owner, name, times)
    env.step(refund(info["params"]["case"]["order"]))
    env.step(SUBMIT)
    env.close()
    assert full.left == 0
    store = RunStore.open(folder)
    assert [(row.state, row.steps, row.verdict.score) for row in store.episodes()] == [
        ("done", 3, 1.0)
    ]
    ending = store.endings.find(1)
    assert ending.state and not ending.unkept and ending.evidence
    store.close()


def test_a_task_named_without_its_version_is_recorded_with_it(folder):
    name = TASK.removesuffix("-v1")
    with agentgym.make(name, record=folder) as env:
        env.reset(seed=1)
    envs = agentgym.vector.make([name, TASK], record=folder)
    envs.reset(seed=2)
    envs.close()
    assert read(folder, "task") == [(TASK,)] * 3
    with pytest.raises(NotFoundError, match="did you mean 'demo/refund-v1'"):
        agentgym.make(name + "-v2")


def test_the_task_of_many_lanes_is_looked_up_once(monkeypatch):
    asked = []
    look_up = catalogue.with_version
    monkeypatch.setattr(catalogue, "with_version", lambda name: asked.append(name) or look_up(name))
    name = TASK.removesuffix("-v1")
    agentgym.vector.make(name, num_envs=3).close()
    assert asked.count(name) == 1


def test_an_episode_that_cannot_start_is_recorded_once_whatever_the_disk(make, folder, monkeypatch):
    monkeypatch.setattr(waiting, "_PAUSE_S", 0.01)
    env = make()
    env.reset(seed=1)
    full = Full(monkeypatch, Recorder, "finish", 0)

    async def fails(*_, **__):
        full.left = 2
        raise SandboxDiedError("gone")

    monkeypatch.setattr(env.environment, "start", fails)
    with pytest.raises(SandboxDiedError):
        env.reset(seed=2)
    assert full.left == 0
    env.close()
    assert len(read(folder, "status")) == 2


def test_recording_changes_nothing_that_is_seen(make):
    def play(env):
        seen = [env.reset(seed=7), env.step(ask()), env.step({"tool": "nope"}), env.step(SUBMIT)]
        return json.dumps(seen, default=lambda image: image.tolist(), sort_keys=True)

    assert play(make()) == play(make(record=None))


def test_an_episode_that_is_left_is_abandoned_and_no_failure(make, folder):
    env = make()
    for seed in (1, 2):
        env.reset(seed=seed)
        env.step(ask())
    env.close()
    assert read(folder, "status", "steps", "error") == [
        ("error:abandoned", 1, "reset before its end"),
        ("error:abandoned", 1, "closed before its end"),
    ]
    store = RunStore.open(folder)
    summary = build_results(store)["summary"]["gym"]
    store.close()
    assert (summary["scored"], summary["mean_score"]) == (0, None)
    assert summary["mean_score_bounds"] == [0.0, 1.0]


def test_an_environment_that_is_forgotten_lets_go_of_its_run(folder):
    env = agentgym.make(TASK, record=folder)
    env.reset(seed=1)
    del env
    gc.collect()
    portal().run(asyncio.sleep(0.05))
    assert read(folder, "status") == [("error:abandoned",)]
    with writer_lock(folder):
        pass


def test_what_follows_the_end_writes_no_second_end(make, folder):
    env = make()
    solve(env, seed=1)
    with pytest.raises(Exception, match="the episode has ended"):
        env.step(SUBMIT)
    env.reset(seed=2)
    assert read(folder, "status", "state")[0] == ("scored", "done")


def test_what_breaks_is_recorded_by_its_boundary(make, folder, monkeypatch):
    env = make()

    async def no_start(seed):
        raise TaskError("setup.sh exited with 1")

    with monkeypatch.context() as patch:
        patch.setattr(env.environment, "start", no_start)
        with pytest.raises(TaskError):
            env.reset(seed=1)

    async def dies(decision):
        raise SandboxDiedError("the supervisor is gone")

    env.reset(seed=2)
    monkeypatch.setattr(env.episode, "step", dies)
    with pytest.raises(SandboxDiedError):
        env.step(SUBMIT)
    env.reset(seed=3)
    node = CheckpointResult("rows", Phase.OUTCOME, CheckStatus.ERROR, 0.0, 1.0, "KeyError: x")
    broken = Verdict("error:verifier", False, 0.0, checkpoints=(node,))

    async def judge(*_, **__):
        return broken

    monkeypatch.setattr(env.episode, "_judge", judge)
    with pytest.raises(VerifierError):
        env.step(SUBMIT)
    assert read(folder, "seed", "status", "error", "steps") == [
        (1, "error:task", "setup.sh exited with 1", 0),
        (2, "error:sandbox", "the supervisor is gone", 0),
        (3, "error:verifier", "checkpoint 'rows': KeyError: x", 1),
    ]


def test_environments_of_one_process_share_a_run_and_others_are_refused(make, folder):
    one, two = make(), make(record_as="other")
    one.reset(seed=1)
    two.reset(seed=2)
    with pytest.raises(RecordError, match="is being written by process"), writer_lock(folder):
        pass
    one.step(ask())
    two.step(SUBMIT)
    one.close()
    two.reset(seed=3)
    two.close()
    assert read(folder, "agent", "seed", "trial", "status") == [
        ("gym", 1, 0, "error:abandoned"),
        ("other", 2, 0, "scored"),
        ("other", 3, 1, "error:abandoned"),
    ]
    store = RunStore.open(folder)
    assert store.settings["agents"] == ["gym", "other"]
    write_report(store, folder / "report.html")  # two trials, and one agent has only one
    store.close()
    with writer_lock(folder), pytest.raises(RecordError, match="is being written by process"):
        make()


def test_a_run_of_an_earlier_process_is_added_to(make, folder):
    env = make()
    solve(env, seed=1)
    env.close()
    # As a process leaves it that was killed in the middle of an episode:
    store = RunStore.open(folder, readonly=False)
    left = store.add(EpisodePlan(TASK, 9, 1, "gym"))
    store.begin(left, params={}, instruction="", sandbox="none", reset_s=0.0, first=None)
    store.close()
    solve(make(), seed=2)
    assert read(folder, "seed", "trial", "status", "error") == [
        (1, 0, "scored", ""),
        (9, 1, "error:abandoned", "the process that played it ended before the episode did"),
        (2, 2, "scored", ""),
    ]


def test_another_kind_of_run_is_refused_and_stays_as_it_is(make, folder):
    plan = EpisodePlan(TASK, 0, 0, "noop")
    RunStore.create(folder, {"tasks": [TASK], "agents": ["noop"]}, [plan]).close()
    with pytest.raises(ConfigError, match="run of another kind"):
        make()
    assert read(folder, "state", "agent") == [("planned", "noop")]
    with writer_lock(folder):
        pass


def test_a_run_is_not_resumed_by_eval(make, folder):
    make().close()
    with pytest.raises(ConfigError, match=r"recorded by agentgym\.make"):
        resume_run(folder, {})


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"max_steps": 5}, "max_steps=None and this environment has max_steps=5"),
        ({"record_as": " "}, "record_as: expected a text"),
        ({"record_as": "\ud800"}, "record_as: expected a text"),
        ({"record": 5}, "record: expected a run folder"),
        ({"keep_states": "failed"}, "keep_states='all' and this environment has .*='failed'"),
        ({"keep_states_mb": 0}, "keep_states_mb=1024 and this environment has .*=0"),
        ({"keep_states": "some"}, "keep_states: expected one of 'all', 'failed', 'none'"),
        ({"keep_states_mb": True}, "keep_states_mb: expected an integer from 0 on, got True"),
        ({"keep_states_mb": -1}, "keep_states_mb: expected an integer from 0 on"),
        ({"keep_states": "none", "record": None}, "keep_states: nothing is recorded"),
        ({"mcp": "server"}, "record: a run holds no mcp="),
        ({"render_mode": "human"}, "render_mode"),
    ],
)
def test_what_cannot_be_recorded_is_refused_and_locks_nothing(make, folder, options, why):
    first = make()
    first.reset(seed=1)
    with pytest.raises(ConfigError, match=why):
        make(**options)
    first.close()
    with writer_lock(folder):
        pass


def test_a_full_disk_is_an_error_that_names_the_folder(make, folder, monkeypatch):
    monkeypatch.setattr(waiting, "_FULL_S", 0.2)
    env = make()
    env.reset(seed=1)
    env.step(ask())
    store = env.recording._run.store

    async def pages(number):
        (now,) = store._database.rows("PRAGMA page_count")
        store._database.rows(f"PRAGMA max_page_count = {number or now[0]}")

    portal().run(pages(0))
    with pytest.raises(RecordError, match=rf"{folder}.*full"):
        for _ in range(20):
            env.step({"tool": "message_user", "arguments": {"text": "x" * 3000}})
    portal().run(pages(10**6))
    env.close()
    ((status, error),) = read(folder, "status", "error")
    assert status == "error:abandoned" and "could not be written" in error


def test_group_and_metadata_are_in_the_record_and_the_results(make, folder):
    env = make()
    metadata = {"epoch": 3, "tags": ["a"], "none": None}
    solve(env, seed=1, options={"group": "g1", "metadata": metadata})
    solve(env, seed=2, options={"metadata": {}})
    solve(env, seed=3)
    env.close()
    assert read(folder, "group", "metadata") == [("g1", metadata), (None, {}), (None, None)]
    store = RunStore.open(folder)
    (task,) = build_results(store)["tasks"]
    store.close()
    first, second, third = task["episodes"]
    assert (first["group"], first["metadata"], second["metadata"]) == ("g1", metadata, {})
    assert not {"group", "metadata"} & third.keys() and "group" not in second


@pytest.mark.parametrize(
    "options",
    [
        {"group": 5},
        {"group": ""},
        {"group": "g" * 201},
        {"group": "\ud800"},
        {"metadata": [1]},
        {"metadata": {"a": "x" * 65_530}},
        {"metadata": {1: 2}},
        {"metadata": {"a": object()}},
        {"metadata": {"a": float("nan")}},
        {"grupp": "g"},
    ],
)
def test_wrong_labels_are_refused_and_the_episode_goes_on(make, folder, options):
    env = make()
    env.reset(seed=1)
    with pytest.raises(ConfigError, match="group|metadata"):
        env.reset(seed=2, options=options)
    env.step(SUBMIT)
    assert read(folder, "status") == [("scored",)]


def unkept(folder):
    with closing(RunStore.open(folder)) as store:
        return [store.endings.find(row.id).unkept for row in store.episodes()]


def test_the_run_keeps_the_final_states_that_were_asked_for(make, folder):
    env = make(keep_states="failed")
    solve(env, seed=1)
    env.reset(seed=2)
    env.step(SUBMIT)
    env.close()
    # An environment that says nothing takes what the run says.
    solve(make(), seed=3)
    passed, failed, later = unkept(folder)
    assert "keeps failed ones" in passed and failed == "" and later == passed
    assert env.spec.kwargs["keep_states"] == "failed"
    assert read(folder, "status") == [("scored",)] * 3


def test_a_run_has_room_for_no_more_states_than_it_was_given(folder):
    envs = agentgym.vector.make(TASK, 1, record=folder, keep_states_mb=0)
    envs.reset(seed=1)
    envs.step([SUBMIT])
    envs.close()
    assert unkept(folder) == ["the run keeps 0 MB already (--keep-states-mb 0)"]
    with pytest.raises(ConfigError, match="nothing is recorded"):
        agentgym.vector.make(TASK, 1, keep_states_mb=0)


def test_the_run_says_which_images_were_replaced(make, folder, monkeypatch):
    monkeypatch.setattr(gym_recording, "image_fallbacks", lambda task: {"shop:1": "debian"})
    solve(make(), seed=1)
    monkeypatch.setattr(gym_recording, "image_fallbacks", lambda task: {})
    solve(make(), seed=2)
    with closing(RunStore.open(folder)) as store:
        (task,) = build_results(store)["tasks"]
    assert task["image_fallbacks"] == {"shop:1": "debian"}


def test_labels_need_a_record(make):
    env = make(record=None)
    with pytest.raises(ConfigError, match=r"takes no options, got 'group'.*record="):
        env.reset(options={"group": "g1"})


def test_a_program_may_change_its_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env = agentgym.make(TASK, record="rel", seed=1)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    env.reset()
    env.step(ask("x" * 20_000))  # large enough for a blob
    env.step(SUBMIT)
    env.close()
    assert read(tmp_path / "rel", "status", "steps") == [("scored", 2)]
    store = RunStore.open(tmp_path / "rel")
    assert store.steps(1)[0].action.arguments["text"] == "x" * 20_000
    store.close()
    assert not any((tmp_path / "elsewhere").iterdir())


def test_the_lanes_of_a_vector_environment_share_a_run(folder):
    lanes = [lambda: agentgym.make(TASK, record=folder, max_steps=2)] * 2
    vector = SyncVectorEnv(lanes)
    vector.reset(seed=[1, 2], options={"group": "g1"})
    for _ in range(2):
        vector.step([ask(), ask()])
    vector.close()
    assert read(folder, "seed", "trial", "group", "status", "steps") == [
        (1, 0, "g1", "scored", 2),
        (2, 1, "g1", "scored", 2),
    ]


def test_an_interrupted_step_leaves_an_episode_that_is_abandoned(make, folder, monkeypatch):
    env = make()
    env.reset(seed=1)
    env.step(ask())

    async def interrupted(decision):
        raise asyncio.CancelledError

    monkeypatch.setattr(env.episode, "step", interrupted)
    with pytest.raises(asyncio.CancelledError):
        env.step(SUBMIT)
    solve(env, seed=2)
    assert read(folder, "status", "steps") == [("error:abandoned", 1), ("scored", 3)]
