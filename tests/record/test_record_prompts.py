"""Prompts are stored as additions: an episode costs what its tokens cost, and reads as before."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from agentgym.errors import RecordError
from agentgym.record import read_steps
from agentgym.record.prompts import KEPT, RecentTokens
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Decision, Generation, Observation, Step, TokenTrace, Verdict

PLAN = EpisodePlan("t/a-v1", 0, 0, "noop")


@pytest.fixture
def run(tmp_path):
    with closing(RunStore.create(tmp_path / "run", {}, [PLAN, PLAN])) as store:
        yield store


def begin(store, episode_id=1):
    return store.begin(
        episode_id, params={}, instruction="", sandbox="x", reset_s=0, first=Observation("")
    )


def step(index, *generations):
    return Step(index, Decision(Action("noop"), generations=generations), Observation(""))


def grown(count, *, seed=0, per_step=40, start=100):
    """Return steps of which each prompt is all that came before, and something new."""
    random_ids, context, steps = random.Random(seed), [], []
    for index in range(count):
        context += [random_ids.randrange(50_000) for _ in range(start if index == 0 else per_step)]
        said = [random_ids.randrange(50_000) for _ in range(20)]
        steps.append(step(index, Generation(TokenTrace(context, said, [-0.5] * 20))))
        context += said
    return steps


def record(store, steps, episode_id=1):
    recorder = begin(store, episode_id)
    for one in steps:
        recorder.step(one)
    return recorder


def decisions(steps):
    return [(one.index, one.decision) for one in steps]


def columns(run):
    with closing(sqlite3.connect(run.folder / "run.db")) as connection:
        found = connection.execute("SELECT generations FROM steps ORDER BY episode, step")
        return [text and json.loads(text) for (text,) in found]


def stored_bytes(run):
    blobs = [path for path in (run.folder / "blobs").rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in blobs), len(blobs)


def test_an_episode_costs_what_its_tokens_cost(run):
    steps = grown(200)
    record(run, steps)
    assert decisions(run.steps(1)) == decisions(steps)
    tokens = len(steps[-1].decision.generations[0].tokens.prompt_ids)
    whole = sum(4 * len(one.decision.generations[0].tokens.prompt_ids) for one in steps)
    size, _ = stored_bytes(run)
    # Each token once as int32, a log-probability for a third of them, and the frame of zlib.
    assert size < 8 * tokens + 200 * 64
    assert whole > 50 * size


def test_what_is_shared_is_the_prompt_and_the_completion(run):
    record(run, grown(3))
    bases = [column["generations"][0]["prompt_base"] for column in columns(run)]
    assert bases[0] is None
    assert [(b["step"], b["generation"], b["shared"]) for b in bases[1:]] == [
        (0, 0, 120),
        (1, 0, 180),
    ]
    lengths = [c["generations"][0]["arrays"]["prompt_ids"][1] for c in columns(run)]
    assert lengths == [[100], [40], [40]]


IDS = list(range(1000, 1200))


@pytest.mark.parametrize(
    ("prompts", "stored"),
    [
        ([IDS, IDS], [200, 0]),
        ([IDS, IDS[:150]], [200, 0]),
        ([IDS, [*IDS[:100], 5, 6]], [200, 2]),
        ([IDS, IDS[1:]], [200, 199]),
        ([IDS, IDS[:20]], [200, 20]),
        ([IDS, []], [200, 0]),
        ([[], IDS], [0, 200]),
        ([IDS, [9] * 50, [*IDS, 7], [*[9] * 50, 8]], [200, 50, 1, 1]),
    ],
)
def test_prompts_of_every_form_come_back(run, prompts, stored):
    steps = [step(n, Generation(TokenTrace(prompt))) for n, prompt in enumerate(prompts)]
    record(run, steps)
    assert decisions(run.steps(1)) == decisions(steps)
    found = [c["generations"][0]["arrays"]["prompt_ids"][1][0] for c in columns(run)]
    assert found == stored


def test_rejected_completions_and_steps_without_tokens_stand_between(run):
    first, retry = TokenTrace(IDS, [1, 2]), TokenTrace([*IDS, 1, 2, 3], [4])
    steps = [
        step(0, Generation(first, rejected=True), Generation(retry)),
        step(1),
        step(2, Generation()),
        Step(3, Decision(Action("noop")), Observation("")),
        step(4, Generation(TokenTrace([*IDS, 1, 2, 3, 4, 5], completion_ids=None))),
        step(5, Generation(TokenTrace([*IDS, 1, 2, 3, 4, 5, 6]))),
    ]
    record(run, steps)
    assert decisions(run.steps(1)) == decisions(steps)
    assert columns(run)[4]["generations"][0]["prompt_base"]["generation"] == 1


def test_a_conversation_beyond_the_window_is_stored_whole(run):
    others = [step(n + 1, Generation(TokenTrace([n] * 50))) for n in range(KEPT)]
    steps = [
        step(0, Generation(TokenTrace(IDS))),
        *others,
        step(KEPT + 1, Generation(TokenTrace(IDS))),
    ]
    record(run, steps)
    assert decisions(run.steps(1)) == decisions(steps)
    assert columns(run)[-1]["generations"][0]["prompt_base"] is None


def test_a_resumed_recording_goes_on_with_additions(run):
    steps = grown(12)
    record(run, steps[:6])
    recorder = begin(run)
    recorder.follow(steps[:6])
    for one in steps[6:]:
        recorder.step(one)
    assert decisions(run.steps(1)) == decisions(steps)
    assert all(c["generations"][0]["prompt_base"] for c in columns(run)[1:])


def test_a_step_that_could_not_be_recorded_is_no_base(run):
    recorder = begin(run)
    recorder.step(step(0, Generation(TokenTrace([3] * 50))))
    with pytest.raises(RecordError, match="refused"):
        recorder.step(step(7, Generation(TokenTrace(IDS))))
    recorder.step(step(1, Generation(TokenTrace(IDS))))
    assert columns(run)[1]["generations"][0]["prompt_base"] is None
    assert len(run.steps(1)) == 2


def test_replies_that_led_to_no_step_build_on_each_other(run):
    recorder = record(run, grown(2))
    refused = tuple(Generation(TokenTrace([*IDS, *range(n)]), rejected=True) for n in range(3))
    recorder.finish(Verdict("scored", True, 1.0), duration_s=1, generations=refused)
    assert run.refused(1) == refused


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"step": 5}, "generation 0 of step 5 is not at hand"),
        ({"step": 1}, "generation 0 of step 1 is not at hand"),
        ({"generation": 3}, "generation 3 of step 0 is not at hand"),
        ({"shared": 121}, "121 shared ids, the generation has 120"),
        ({"shared": -1}, "-1 shared ids"),
        ({"shared": 119}, "do not match their checksum"),
        ({"crc32": 7}, "do not match their checksum"),
        ({"crc32": "7"}, "crc32: expected an integer"),
        ({"other": 7}, "no 'other'"),
    ],
)
def test_a_damaged_base_is_named(run, change, says):
    record(run, grown(2))
    value = columns(run)[1]
    value["generations"][0]["prompt_base"] |= change
    with closing(sqlite3.connect(run.folder / "run.db")) as connection, connection:
        connection.execute("UPDATE steps SET generations = ? WHERE step = 1", (json.dumps(value),))
    with pytest.raises(RecordError, match=f"step 1 of episode 1 is damaged: .*{says}"):
        run.steps(1)


def test_a_base_without_ids_of_its_own_is_damage(run):
    record(run, grown(2))
    value = columns(run)[1]
    value["generations"][0]["arrays"]["prompt_ids"] = None
    with closing(sqlite3.connect(run.folder / "run.db")) as connection, connection:
        connection.execute("UPDATE steps SET generations = ? WHERE step = 1", (json.dumps(value),))
    with pytest.raises(RecordError, match=r"generations\.prompt_base"):
        run.steps(1)


def test_a_trainer_reads_whole_arrays_one_step_at_a_time(run):
    steps = grown(30)
    record(run, steps)
    record(run, steps, 2)
    run.close()
    found = list(read_steps(run.folder))
    assert [row.id for row, _ in found] == [1] * 30 + [2] * 30
    assert decisions(one for _, one in found) == decisions(steps) * 2
    prompt = found[29][1].decision.generations[0].tokens.prompt_ids
    assert prompt.dtype == np.int32 and not prompt.flags.writeable


def test_the_window_keeps_the_newest(run):
    recent = RecentTokens()
    for index in range(2 * KEPT):
        recent = recent.after(index, (Generation(TokenTrace([index])), Generation()))
    assert [where for where, _, _ in recent.kept] == list(range(2 * KEPT - 1, KEPT - 1, -1))
