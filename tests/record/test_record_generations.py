"""Tokens of steps: what goes in comes out, unknown differs from empty, and arrays stay arrays."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from agentgym.errors import RecordError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    Action,
    Decision,
    Generation,
    Observation,
    Step,
    TokenTrace,
    TokenUsage,
    Verdict,
)
from agentgym.records.bounds import flaw_of_decision

VERDICT = Verdict("scored", outcome=True, score=1.0)
FULL = TokenTrace([1, 2, 3], [4, 5], [-0.25, -np.inf], [True, False])
CASES = [
    None,
    (),
    (Generation(),),
    (Generation(TokenTrace([], [], [], [])),),
    (Generation(TokenTrace(completion_ids=[2**31 - 1])),),
    (Generation(FULL, "stop", "gpt-x@7", {"temperature": 0.0, "stop": ["a"]}, False),),
    (Generation(FULL, "length", rejected=True), Generation(FULL, "", "", {})),
]


@pytest.fixture
def run(tmp_path):
    store = RunStore.create(tmp_path / "run", {}, [EpisodePlan("t/a-v1", 0, 0, "noop")])
    yield store
    store.close()


def begin(store):
    return store.begin(1, params={}, instruction="", sandbox="x", reset_s=0, first=None)


def step(index, generations):
    return Step(index, Decision(Action("noop"), generations=generations), Observation(""))


def test_generations_come_back_as_they_were(run):
    recorder = begin(run)
    for index, generations in enumerate(CASES):
        recorder.step(step(index, generations))
    reader = RunStore.open(run.folder)
    found = [one.decision.generations for one in reader.steps(1)]
    reader.close()
    assert found == CASES
    trace = found[5][0].tokens
    assert (trace.prompt_ids.dtype, trace.logprobs.dtype) == (np.int32, np.float32)
    assert trace.loss_mask.dtype == bool
    assert not trace.prompt_ids.flags.writeable
    assert found[3][0].tokens.logprobs.shape == (0,)
    assert found[2][0].tokens.logprobs is None


def test_arrays_are_stored_as_their_bytes_in_a_blob(run):
    ids = np.arange(1000, 4000)
    begin(run).step(step(0, (Generation(TokenTrace(ids, ids, -ids / 7)),)))
    with closing(sqlite3.connect(run.folder / "run.db")) as connection:
        (column,) = connection.execute("SELECT generations FROM steps").fetchone()
    written = json.loads(column)
    assert written["generations"][0]["arrays"] == {
        "prompt_ids": ["<i4", [3000]],
        "completion_ids": ["<i4", [3000]],
        "logprobs": ["<f4", [3000]],
        "loss_mask": None,
    }
    data = run._packing.blobs.get(written["blob"])
    assert data[:24000] == ids.astype("<i4").tobytes() * 2
    assert data[24000:] == (-ids / 7).astype("<f4").tobytes()


def test_replies_that_led_to_no_step_are_kept(run):
    recorder = begin(run)
    refused = (Generation(FULL, "stop", rejected=True),) * 3
    recorder.finish(VERDICT, duration_s=1, refused=TokenUsage(9, 6), generations=refused)
    assert run.refused(1) == refused
    assert run.episode(1).usage == TokenUsage(9, 6)
    run.reset_episode(1)
    assert run.refused(1) == ()
    recorder = begin(run)
    recorder.finish(VERDICT, duration_s=1, refused=TokenUsage(9, 6))
    assert run.refused(1) is None


@pytest.mark.parametrize("group", [None, "", "g1"])
@pytest.mark.parametrize("metadata", [None, {}, {"a": [1, None], "long": "x" * 9000}])
def test_group_and_metadata_come_back_and_absent_is_not_empty(tmp_path, group, metadata):
    plan = EpisodePlan("t/a-v1", 0, 0, "noop", group, metadata)
    with closing(RunStore.create(tmp_path / "run", {}, [plan])) as run:
        assert run.add(plan, parent=(1, 0)) == 2
        assert [row.plan for row in run.episodes()] == [plan, plan]
        assert run.episode(2).parent == (1, 0)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("prompt_ids", [1.5], "prompt_ids: expected token ids, got float64"),
        ("prompt_ids", [True], "prompt_ids: expected token ids, got bool"),
        ("prompt_ids", [-1], "prompt_ids: expected ids from 0"),
        ("prompt_ids", [2**31], "prompt_ids: expected ids from 0"),
        ("prompt_ids", [2**70], "prompt_ids: expected token ids"),
        ("prompt_ids", [[1]], r"prompt_ids: expected one dimension, got the shape \(1, 1\)"),
        ("prompt_ids", [[1], [2, 3]], "prompt_ids: expected token ids"),
        ("prompt_ids", "ab", "prompt_ids: expected one dimension"),
        ("logprobs", [0.5], "logprobs: expected logarithms of at most 0"),
        ("logprobs", [float("nan")], "logprobs: expected logarithms of at most 0"),
        ("logprobs", ["-1"], "logprobs: expected log-probabilities"),
        ("loss_mask", [1, 0], "loss_mask: expected true or false"),
        ("completion_ids", np.zeros(2**21 + 1, int), "completion_ids: expected at most 2,097,152"),
    ],
)
def test_what_is_no_trace_is_refused_by_its_field(name, value, says):
    with pytest.raises(ValueError, match=says):
        TokenTrace(**{name: value})


def test_arrays_of_one_completion_have_one_length():
    with pytest.raises(ValueError, match="completion_ids has 2, logprobs has 1"):
        TokenTrace([1], [1, 2], [-1.0])


@pytest.mark.parametrize(
    ("generations", "says"),
    [
        ([Generation()], "generations is a list"),
        ((FULL,), "generations has a TokenTrace"),
        ((Generation(tokens=[1]),), "tokens is a list"),
        ((Generation(finish_reason=5),), "finish_reason is not None or text"),
        ((Generation(policy_version="x" * 501),), "policy_version is not None or text"),
        ((Generation(sampling={"a": b"x"}),), "sampling is out of bounds: bytes"),
        ((Generation(sampling=[]),), "sampling is a list"),
        ((Generation(rejected=1),), "rejected is a int"),
        ((Generation(TokenTrace(np.zeros(2**21, int))),) * 3, "generations has 6,291,456 tokens"),
    ],
)
def test_a_decision_with_other_generations_is_refused(generations, says):
    assert says in flaw_of_decision(Decision(Action("a"), generations=generations))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda v: v["generations"][0]["arrays"].update(logprobs=["<f8", [2]]), "expected <f4"),
        (lambda v: v["generations"][0]["arrays"].update(logprobs=["<f4", [3]]), "the blob has"),
        (lambda v: v["generations"][0]["arrays"].update(logprobs=["<f4", [1]]), "one length"),
        (lambda v: v["generations"][0]["arrays"].update(logprobs=["<f4", [-1]]), "one dimension"),
        (
            lambda v: v["generations"][0]["arrays"].update(other=["<f4", [2]]),
            "and no 'other'",
        ),
        (lambda v: v["generations"][0]["arrays"].pop("loss_mask"), "bytes that belong to no array"),
        (lambda v: v["generations"][0].update(rejected=0), "rejected: expected true or false"),
        (lambda v: v["generations"][0].update(more=0), "and no 'more'"),
        (lambda v: v.update(blob="../../x"), "is not the name of a blob"),
        (lambda v: v.update(blob=None), "the blob has 0 more"),
    ],
)
def test_a_damaged_column_is_named(run, change, says):
    begin(run).step(step(0, (Generation(FULL),)))
    with closing(sqlite3.connect(run.folder / "run.db")) as connection, connection:
        (column,) = connection.execute("SELECT generations FROM steps").fetchone()
        value = json.loads(column)
        change(value)
        connection.execute("UPDATE steps SET generations = ?", (json.dumps(value),))
    with pytest.raises(RecordError, match=f"step 0 of episode 1 is damaged: .*{says}"):
        run.steps(1)


def test_generations_are_part_of_the_digest_of_a_step(run):
    begin(run).step(step(0, ()))
    with closing(sqlite3.connect(run.folder / "run.db")) as connection, connection:
        connection.execute("UPDATE steps SET generations = NULL")
    with pytest.raises(RecordError, match="does not match its digest"):
        run.steps(1)
