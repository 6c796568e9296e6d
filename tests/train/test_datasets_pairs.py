"""Preference pairs: from forks of a tree and from attempts at one task with one seed."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from offline_runs import (
    BROKEN,
    FAILED,
    PASSED,
    TASK,
    dataset,
    fill,
    lay,
    play,
    rows,
    step,
)

from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.env.outcome import Ending
from agentgym.env.recording import EpisodeRecording
from agentgym.errors import RecordError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Effect, Verdict
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.train.datasets.branching import alike
from agentgym.train.datasets.native import PAIRS, read_tokens


def pairs(*arguments):
    return dataset("pairs", *arguments)


def order_of(message):
    return message["tool_calls"][0]["function"]["arguments"]


def refund(order, **more):
    return step("orders_refund", {"order": order}, f"refunded {order}", **more)


LOOK = step("orders_get", {"order": 5}, "paid", Effect.NO_CHANGE)


def test_real_forks_of_a_recorded_episode_become_pairs(shop, tmp_path):
    """An episode looks, is forked twice, and each fork refunds another order."""
    plan = EpisodePlan(TASK, 0, 0, "me")
    folder = tmp_path / "run"

    async def played(store):
        async with Environment(load_built(TASK), NoSandboxProvider()) as environment:
            parent = await environment.start(0)
            recording = await EpisodeRecording.begin(store, 1, parent)
            right = parent.instance.params["bought"]["order"]
            await parent.step(Action("orders_get", {"order": 5}))
            for order in (right, 39):
                child = await parent.fork()
                await child.step(Action("orders_refund", {"order": order}))
                await child.step(Action("submit"))
            verdict = Verdict("error:abandoned", False, 0.0)
            await recording.finish(Ending(verdict), duration_s=1.0)
            await parent.close()
        return right

    with closing(RunStore.create(folder, {"tasks": [TASK]}, [plan])) as store:
        right = asyncio.run(played(store))
    told = pairs(folder, "--out", tmp_path / "p.jsonl")
    (row,) = rows(tmp_path / "p.jsonl")
    assert [order_of(m) for m in (*row["chosen"], *row["rejected"])] == [
        {"order": right},
        {"order": 39},
    ]
    assert [m["role"] for m in row["prompt"]] == ["system", "user", "assistant", "tool"]
    assert row["margin"] == 1.0 and row["metadata"]["step"] == 1
    assert json.loads(row["tools"])[0]["type"] == "function"
    assert "without a score (error:abandoned)" in told


def forked(folder, endings, *, prefix=(LOOK,), first=BROKEN):
    """Lay down an episode and forks of it after the prefix; each ending is steps and a verdict."""
    lay(folder, [({}, list(prefix), first)])
    with closing(RunStore.open(folder, readonly=False)) as store:
        for steps, verdict in endings:
            at = len(prefix)
            id = store.add(EpisodePlan(TASK, 0, 0, "me"), (1, at), shared=at, forked=True)
            fill(store, id, steps, verdict, start=at)
    return folder


def test_the_value_of_a_branch_is_the_mean_of_its_leaves_and_unscored_ones_do_not_count(
    shop, tmp_path
):
    submit, stop = step("submit", {}, "done"), step("give_up", {"reason": "x"}, "over")
    endings = [
        ([refund(5), submit], PASSED),
        ([refund(5), stop], FAILED),
        ([refund(17), submit], FAILED),
        ([refund(23), submit], BROKEN),
        ([refund(31), submit], None),
    ]
    run = forked(tmp_path / "run", endings)
    pairs(run, "--out", tmp_path / "p.jsonl")
    first, second = rows(tmp_path / "p.jsonl")
    assert first["margin"] == 0.5 and first["metadata"]["step"] == 1
    assert [order_of(m) for m in (*first["chosen"], *first["rejected"])] == [
        {"order": 5},
        {"order": 17},
    ]
    assert second["margin"] == 1.0 and second["metadata"]["step"] == 2
    names = [m["tool_calls"][0]["function"]["name"] for m in second["chosen"] + second["rejected"]]
    assert names == ["submit", "give_up"]
    pairs(run, "--out", tmp_path / "rest.jsonl", "--span", "rest", "--min-margin", "0.6")
    (rest,) = rows(tmp_path / "rest.jsonl")
    assert rest["metadata"]["step"] == 2
    pairs(run, "--out", tmp_path / "rest.jsonl", "--span", "rest", "--limit", 1)
    (rest,) = rows(tmp_path / "rest.jsonl")
    assert [m["role"] for m in rest["chosen"]] == ["assistant", "tool", "assistant"]
    assert rest["metadata"]["chosen"]["score"] == 1.0


def test_a_fork_point_gives_a_bounded_number_of_pairs_the_largest_margins_first(shop, tmp_path):
    endings = [([refund(n)], Verdict("scored", n > 8, n / 10)) for n in range(1, 11)]
    run = forked(tmp_path / "run", endings)
    pairs(run, "--out", tmp_path / "p.jsonl", "--per-fork", 3)
    assert [row["margin"] for row in rows(tmp_path / "p.jsonl")] == [0.9, 0.8, 0.8]
    pairs(run, "--out", tmp_path / "p.jsonl", "--per-fork", 100, "--min-score", "0.95")
    assert {order_of(row["chosen"][0])["order"] for row in rows(tmp_path / "p.jsonl")} == {10}


def test_equal_results_safety_violations_and_single_episodes_give_no_pair(shop, tmp_path):
    file = tmp_path / "p.jsonl"
    run = forked(tmp_path / "equal", [([refund(5)], PASSED), ([refund(17)], PASSED)])
    with pytest.raises(RecordError, match=r"fork points with equal results[\s\S]*add --groups"):
        pairs(run, "--out", file)
    unsafe = Verdict("scored", True, 1.0, safety_violations=("leak",))
    run = forked(tmp_path / "unsafe", [([refund(5)], unsafe), ([refund(17)], FAILED)])
    with pytest.raises(RecordError, match="no preference pairs"):
        pairs(run, "--out", file)
    run = lay(tmp_path / "alone", [({}, [refund(5)], PASSED), ({}, [refund(17)], FAILED)])
    with pytest.raises(RecordError, match="no preference pairs in 2 recorded episodes"):
        pairs(run, "--out", file)
    assert not file.exists()


def test_attempts_at_one_instance_are_pairs_if_asked_for(shop, tmp_path):
    run = lay(
        tmp_path / "run",
        [
            ({}, [LOOK, refund(5)], PASSED),
            ({}, [LOOK, refund(17)], FAILED),
            ({}, [refund(23)], FAILED),
            ({"seed": 1}, [refund(31)], FAILED),
        ],
    )
    pairs(run, "--groups", "--out", tmp_path / "p.jsonl")
    found = rows(tmp_path / "p.jsonl")
    assert [(row["metadata"]["step"], row["margin"]) for row in found] == [(0, 0.5), (1, 1.0)]
    assert found[0]["metadata"]["rejected"]["episode"] == 3
    pairs(run, "--groups", "--out", tmp_path / "o.jsonl", "--form", "messages")
    first = rows(tmp_path / "o.jsonl")[0]
    assert [m["role"] for m in first["input"]["messages"]] == ["system", "user"]
    assert first["preferred_output"][0]["tool_calls"][0]["function"]["name"] == "orders_get"


def test_real_attempts_of_two_agents_are_pairs_and_a_copy_of_the_run_adds_none(shop, tmp_path):
    run = play(tmp_path / "run", ["oracle", "noop"], range(3))
    shutil.copytree(run, tmp_path / "copy")
    pairs(run, "--groups", "--out", tmp_path / "p.jsonl")
    told = pairs(run, tmp_path / "copy", "--groups", "--out", tmp_path / "q.jsonl")
    assert (tmp_path / "p.jsonl").read_bytes() == (tmp_path / "q.jsonl").read_bytes()
    assert "6 equal another episode" in told
    for row in rows(tmp_path / "p.jsonl"):
        assert row["metadata"]["chosen"]["agent"] == "oracle"
        names = [row[n][0]["tool_calls"][0]["function"]["name"] for n in ("chosen", "rejected")]
        assert names == ["orders_refund", "submit"]


def test_equal_attempts_are_samples_and_all_count(shop, tmp_path):
    one, other = [refund(5)], [refund(17)]
    run = lay(
        tmp_path / "run",
        [({}, one, PASSED)] * 3 + [({}, [refund(5), LOOK], FAILED), ({}, other, FAILED)],
    )
    pairs(run, "--groups", "--out", tmp_path / "p.jsonl")
    assert rows(tmp_path / "p.jsonl")[0]["margin"] == 0.75


def test_the_native_form_holds_both_completions_after_one_prompt(shop, tmp_path):
    prefix = (step("orders_get", {"order": 5}, "paid", tokens=([1, 2], [3])),)
    good = refund(5, tokens=([1, 2, 3, 4], [5, 6]))
    bad = refund(17, tokens=([1, 2, 3, 4], [7]), logprobs=None)
    other = refund(23, tokens=([1, 2, 3, 9], [8]))
    endings = [([good], PASSED), ([bad], FAILED), ([other], FAILED), ([refund(31)], FAILED)]
    run = forked(tmp_path / "run", endings, prefix=prefix)
    told = pairs(run, "--out", tmp_path / "p.npz", "--form", "native")
    data = read_tokens(tmp_path / "p.npz", PAIRS)
    (pair,) = data.episodes
    chosen, rejected = pair.tokens.sequences
    assert (chosen.ids, chosen.mask) == ([1, 2, 3, 4, 5, 6], [False] * 4 + [True] * 2)
    assert (rejected.ids, rejected.mask) == ([1, 2, 3, 4, 7], [False] * 4 + [True])
    assert chosen.logprobs[4:] == [-0.5, -0.5] and np.isnan(rejected.logprobs[4])
    assert "pairs whose prompts have different tokens" in told
    assert "pairs without token ids" in told
    with pytest.raises(RecordError, match=r"expected the format agentgym\.tokens/1"):
        read_tokens(tmp_path / "p.npz")


def test_a_template_encodes_the_pairs_of_runs_without_token_ids(shop, tmp_path):
    pytest.importorskip("torch")
    run = forked(tmp_path / "run", [([refund(5)], PASSED), ([refund(17)], FAILED)], prefix=())
    more = ["--form", "native", "--template", shop / "train.toml"]
    pairs(run, "--out", tmp_path / "p.npz", *more)
    (pair,) = read_tokens(tmp_path / "p.npz", PAIRS).episodes
    assert [one.ids[-1] for one in pair.tokens.sequences] == [5, 6]


# --- calls that are nearly the same --------------------------------------------------------

LONG = "Dear Ada, we are sorry that the lamp broke. We have paid the whole sum back today. Yours."


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("ls  -l /srv", "ls -l\n/srv", True),
        (LONG, LONG.replace(" today.", " today!"), True),
        (LONG, LONG + " It was order 17.", False),
        ("rm file1", "rm file2", False),
        ("touch red/done", "touch green/done", False),
    ],
)
def test_only_calls_that_mean_the_same_are_alike(one, other, same):
    calls = [Action("bash", {"command": text}) for text in (one, other)]
    assert alike(*calls, 0.95) is same
    assert alike(calls[1], calls[0], 0.95) is same
    assert not alike(calls[0], Action("sh", calls[1].arguments), 0.0)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_a_call_is_always_like_itself(value):
    assert alike(Action("x", {"a": value}), Action("x", {"a": value}), 1.0)


def test_siblings_that_are_nearly_the_same_are_pruned(shop, tmp_path):
    say = [step("message_user", {"text": text}, "fine") for text in (LONG, LONG.lower(), "No.")]
    run = forked(tmp_path / "run", [([say[0]], PASSED), ([say[1]], FAILED), ([say[2]], FAILED)])
    told = pairs(run, "--out", tmp_path / "p.jsonl", "--similarity", "0.7")
    (row,) = rows(tmp_path / "p.jsonl")
    assert order_of(row["rejected"][0]) == {"text": "No."}
    assert "1 pairs that are nearly the same" in told


def test_calls_that_repeat_a_few_words_are_not_compared_for_hours():
    calls = [
        Action("x", {"a": f"a {one} " * 1_000 + f"{two} " * 1_000}) for one, two in ("pq", "qp")
    ]
    began_s = time.monotonic()
    assert not alike(*calls, 0.95)
    assert time.monotonic() - began_s < 20
