"""Supervised data sets: what is chosen, what is trained, and what is refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
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
from typer.testing import CliRunner

from agentgym import catalogue
from agentgym.cli.app import app
from agentgym.errors import ConfigError, NotFoundError, RecordError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import (
    CheckStatus,
    Effect,
    Generation,
    Grading,
    StepEvent,
    StepEventKind,
    StepGrade,
    TokenTrace,
    Verdict,
)
from agentgym.train.datasets.episodes import LeftOut
from agentgym.train.datasets.faults import StepFault
from agentgym.train.datasets.native import read_tokens
from agentgym.train.datasets.supervised import Form

COMMANDS = ["sft", "pairs", "semi-online", "purified"]
PAGE = Path(__file__).parents[2] / "docs/datasets.md"


@pytest.fixture(scope="module")
def real(shop):
    """Real episodes of the oracle and of random calls on eight seeds."""
    return play(shop / "real", ["oracle", "random"], range(8))


def sft(*arguments):
    """Return what the command printed, and raise what it raised."""
    return dataset("sft", *arguments)


def trained(row):
    return [m["weight"] for m in row["messages"] if m["role"] == "assistant"]


# --- real episodes -------------------------------------------------------------------------


def test_only_episodes_that_passed_become_examples(real, tmp_path):
    told = sft(real, "--out", tmp_path / "sft.jsonl")
    found = rows(tmp_path / "sft.jsonl")
    with closing(RunStore.open(real)) as store:
        passed = [row for row in store.episodes() if row.verdict.outcome]
        orders = {row.id: row.params["bought"]["order"] for row in passed}
    chosen = [row["metadata"]["episode"] for row in found]
    (equal,) = re.findall(r"left out: (\d+) equal another episode", told)
    assert chosen == sorted(chosen) and set(chosen) <= set(orders)
    assert len(chosen) + int(equal) == len(orders)
    for row in found:
        system, user, *rest = row["messages"]
        assert system["role"] == "system" and "at most 4 calls" in system["content"]
        assert "please refund it" in user["content"]
        assert "weight" not in user
        names = {tool["function"]["name"] for tool in row["tools"]}
        assert {"orders_refund", "submit"} <= names
        calls = [call["function"] for m in rest for call in m.get("tool_calls", ())]
        assert calls[0]["name"] == "orders_refund"
        assert json.loads(calls[0]["arguments"]) == {"order": orders[row["metadata"]["episode"]]}
        assert [m["role"] for m in rest] == ["assistant", "tool"] * len(calls)
        assert all(
            m["tool_calls"][0]["id"] == after["tool_call_id"]
            for m, after in zip(rest[::2], rest[1::2], strict=True)
        )
    assert "that did not pass" in told


def test_the_same_command_writes_the_same_bytes_and_a_seed_another_order(real, tmp_path):
    texts = []
    for number, more in enumerate([[], [], ["--seed", 1], ["--seed", 1], ["--seed", 2]]):
        file = tmp_path / f"{number}.jsonl"
        sft(real, "--out", file, "--min-score", 0, *more)
        texts.append(file.read_bytes())
    assert texts[0] == texts[1] and texts[2] == texts[3]
    assert len(set(texts)) == 3
    lines = [sorted(text.splitlines()) for text in texts]
    assert len(lines[0]) == len(lines[2])


def test_a_copied_run_and_a_run_named_twice_add_nothing(real, tmp_path):
    shutil.copytree(real, tmp_path / "copy")
    sft(real, "--out", tmp_path / "one.jsonl")
    told = sft(real, tmp_path / "copy", real, "--out", tmp_path / "all.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "all.jsonl").read_bytes()
    assert "equal another episode" in told


def test_limits_tasks_and_agents_narrow_it(real, tmp_path):
    file = tmp_path / "sft.jsonl"
    sft(real, "--out", file, "--limit", 2, "--tasks", "demo")
    assert len(rows(file)) == 2
    sft(real, "--out", file, "--agents", "rand*", "--min-score", 0)
    assert {row["metadata"]["agent"] for row in rows(file)} == {"random"}
    with pytest.raises(NotFoundError, match=r"no recorded task named 'demo/refnd'; did you mean"):
        sft(real, "--out", file, "--tasks", "demo/refnd")


def test_trl_rows_hold_one_reply_after_all_that_was_before(real, tmp_path):
    sft(real, "--out", tmp_path / "sft.jsonl")
    sft(real, "--out", tmp_path / "trl.jsonl", "--form", "trl")
    whole = {row["metadata"]["episode"]: row["messages"] for row in rows(tmp_path / "sft.jsonl")}
    found = rows(tmp_path / "trl.jsonl")
    assert len(found) == sum(m["role"] == "assistant" for ms in whole.values() for m in ms)
    for row in found:
        (reply,) = row["completion"]
        messages = whole[row["metadata"]["episode"]]
        assert len(row["prompt"]) == 2 + 2 * row["metadata"]["step"]
        assert [m["content"] for m in row["prompt"]] == [
            m["content"] for m in messages[: len(row["prompt"])]
        ]
        function = reply["tool_calls"][0]["function"]
        assert function["arguments"] == json.loads(
            messages[len(row["prompt"])]["tool_calls"][0]["function"]["arguments"]
        )
        assert json.loads(row["tools"])[0]["type"] == "function"


# --- steps ---------------------------------------------------------------------------------

STRUCK = (StepEvent(StepEventKind.FAULT, "outage"),)
MIXED = [
    step("orders_get", {"order": 999}, "error: not_found", Effect.ERROR),
    step("orders_get", {"order": 5}, "paid", Effect.NO_CHANGE),
    step("orders_get", {"order": 5}, "paid", Effect.NO_CHANGE),
    step("orders_refund", {"order": 5}, "unavailable", Effect.ERROR, events=STRUCK),
    step("orders_refund", {"order": 5}, "refunded"),
    step("submit", {}, "submitted", Effect.NO_CHANGE),
]


@pytest.mark.parametrize(
    ("drop", "wanted"),
    [
        ([], [0, 1, 0, 1, 1, 1]),
        (["nothing"], [1, 1, 1, 1, 1, 1]),
        (["error"], [0, 1, 1, 1, 1, 1]),
        (["repeated"], [1, 1, 0, 1, 1, 1]),
        (["no-effect"], [0, 0, 0, 0, 1, 1]),
    ],
)
def test_steps_are_left_out_of_the_loss_and_stay_in_the_context(shop, tmp_path, drop, wanted):
    run = lay(tmp_path / "run", [({}, MIXED, PASSED)])
    sft(run, "--out", tmp_path / "x.jsonl", *(word for each in drop for word in ("--drop", each)))
    (row,) = rows(tmp_path / "x.jsonl")
    assert trained(row) == wanted
    assert row["metadata"]["trained_steps"] == sum(wanted)


def grade(run, labels):
    with closing(RunStore.open(run, readonly=False)) as store:
        grades = tuple(
            StepGrade(n, CheckStatus.FAIL if bad else CheckStatus.PASS, "x")
            for n, bad in enumerate(labels)
        )
        digest = store.history.trajectory(1)
        one = Grading("loops", "1", grades, at="2026-01-01", trajectory=digest)
        store.history.add_gradings(1, [one])


def test_bad_grades_are_left_out_and_missing_grades_are_not_good_ones(shop, tmp_path):
    run = lay(tmp_path / "run", [({}, MIXED, PASSED)])
    file = tmp_path / "x.jsonl"
    with pytest.raises(RecordError, match=r"has no step grades; run: agentgym grade .*run"):
        sft(run, "--out", file, "--drop", "bad-grade")
    assert not file.exists()
    grade(run, [0, 1, 0, 0, 0, 0])
    sft(run, "--out", file, "--drop", "bad-grade")
    assert trained(rows(file)[0]) == [1, 0, 1, 1, 1, 1]
    with pytest.raises(RecordError, match=r"has no grades of 'effect'; run: .* --grader effect"):
        sft(run, "--out", file, "--grader", "effect")


def test_a_reply_with_a_bad_call_is_left_out_whole(shop, tmp_path):
    call = {"type": "function", "function": {"name": "orders_get", "arguments": '{"order": 5}'}}
    reply = {"role": "assistant", "content": "Two.", "tool_calls": [call | {"id": "a"}] * 2}
    steps = [
        step("orders_get", {"order": 5}, "paid", Effect.NO_CHANGE, reply=reply),
        step("orders_get", {"order": 5}, "gone", Effect.ERROR, reply={"call_of_reply": 1}),
        step("orders_refund", {"order": 5}),
    ]
    run = lay(tmp_path / "run", [({}, steps, PASSED)])
    sft(run, "--out", tmp_path / "x.jsonl")
    (row,) = rows(tmp_path / "x.jsonl")
    assert trained(row) == [0, 1] and row["parallel_tool_calls"] is True
    assert [len(m["tool_calls"]) for m in row["messages"] if m["role"] == "assistant"] == [2, 1]


def test_a_step_that_forks_share_is_trained_once(shop, tmp_path):
    run = lay(tmp_path / "run", [({}, MIXED[4:], PASSED)])
    with closing(RunStore.open(run, readonly=False)) as store:
        plan = EpisodePlan(TASK, 0, 0, "me")
        id = store.add(plan, (1, 1), shared=1, forked=True)
        fill(store, id, [step("submit", {"answer": "5"}, "done")], PASSED, start=1)
    sft(run, "--out", tmp_path / "x.jsonl")
    first, second = rows(tmp_path / "x.jsonl")
    assert (trained(first), trained(second)) == ([1, 1], [0, 1])


# --- token ids -----------------------------------------------------------------------------


def generation(prompt, ids, *, rejected=False):
    trace = TokenTrace(np.array(prompt, np.int32), np.array(ids, np.int32))
    return Generation(trace, "stop", "3", {}, rejected)


TOKENS = [
    step("orders_get", {"order": 9}, "error", Effect.ERROR, tokens=([1, 2], [3])),
    step(
        "orders_get",
        {"order": 5},
        "paid",
        Effect.NO_CHANGE,
        generations=(generation([1, 2, 3, 4], [50], rejected=True), generation([1, 2, 3, 4], [5])),
    ),
    step("orders_refund", {"order": 5}, tokens=([1, 2, 3, 4, 5, 6], [7, 8])),
]


def test_the_native_form_keeps_ids_masks_and_what_is_known_of_probabilities(shop, tmp_path):
    run = lay(tmp_path / "run", [({}, TOKENS, PASSED)])
    sft(run, "--out", tmp_path / "x.npz", "--form", "native")
    data = read_tokens(tmp_path / "x.npz")
    assert (data.source, data.vocabulary) == ("recorded", "")
    (episode,) = data.episodes
    assert episode.origin["task"] == TASK and episode.tokens.oldest == 0
    # The rejected completion is a sequence of its own, and nothing of it is trained.
    (sequence,) = episode.tokens.sequences
    assert sequence.ids == [1, 2, 3, 4, 5, 6, 7, 8]
    assert sequence.mask == [False] * 4 + [True, False, True, True]
    assert sequence.completions == [-1, -1, -1, -1, 1, -1, 2, 2]
    assert np.isnan(sequence.logprobs[4]) and sequence.logprobs[6:] == [-0.5, -0.5]
    with np.load(tmp_path / "x.npz", allow_pickle=False) as arrays:
        unknown = np.isnan(arrays["logprobs"])
    assert unknown.tolist() == [True] * 6 + [False] * 2
    sft(run, "--out", tmp_path / "y.npz", "--form", "native", "--drop", "nothing")
    (episode,) = read_tokens(tmp_path / "y.npz").episodes
    assert [sum(one.mask) for one in episode.tokens.sequences] == [2, 3]


def test_what_a_fork_without_token_ids_shares_is_trained_in_another(shop, tmp_path):
    shared = step("orders_get", {"order": 5}, "paid", Effect.NO_CHANGE, tokens=([1, 2], [3]))
    run = lay(tmp_path / "run", [({}, [shared, step("submit", {"answer": "4"})], PASSED)])
    with closing(RunStore.open(run, readonly=False)) as store:
        id = store.add(EpisodePlan(TASK, 0, 0, "me"), (1, 1), shared=1, forked=True)
        last = step("submit", {"answer": "5"}, "done", tokens=([1, 2, 3, 4], [5]))
        fill(store, id, [last], PASSED, start=1)
    sft(run, "--out", tmp_path / "x.npz", "--form", "native")
    (episode,) = read_tokens(tmp_path / "x.npz").episodes
    assert [one.mask for one in episode.tokens.sequences] == [[False, False, True, False, True]]


def test_trl_tokens_are_the_same_sequences(shop, tmp_path):
    run = lay(tmp_path / "run", [({}, TOKENS, PASSED)])
    sft(run, "--out", tmp_path / "x.jsonl", "--form", "trl-tokens")
    (row,) = rows(tmp_path / "x.jsonl")
    assert row["input_ids"] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert row["assistant_masks"] == [0, 0, 0, 0, 1, 0, 1, 1]


def test_episodes_without_token_ids_are_named_and_never_filled_in(real, shop, tmp_path):
    file = tmp_path / "x.npz"
    with pytest.raises(RecordError, match=r"without token ids .*real episode 1[\s\S]*--template"):
        sft(real, "--out", file, "--form", "native")
    mixed = lay(tmp_path / "run", [({}, MIXED, PASSED), ({"seed": 1}, TOKENS, PASSED)])
    told = sft(mixed, "--out", file, "--form", "native")
    assert "1 without token ids (no completion is recorded) (first: " in told
    assert [each.origin["episode"] for each in read_tokens(file).episodes] == [2]


def test_a_template_encodes_the_calls_of_the_oracle(real, shop, tmp_path):
    pytest.importorskip("torch")
    from agentgym.train.datasets.encoding import load_template, vocabulary_digest

    file = tmp_path / "x.npz"
    more = ["--form", "native", "--template", shop / "train.toml", "--agents", "oracle"]
    sft(real, "--out", file, *more)
    data, template = read_tokens(file), load_template(shop / "train.toml")
    assert data.source == "encoded"
    assert data.vocabulary == vocabulary_digest(template.vocabulary)
    with closing(RunStore.open(real)) as store:
        for episode in data.episodes:
            (sequence,) = episode.tokens.sequences
            row = store.episode(episode.origin["episode"])
            words = [template.vocabulary[id] for id in sequence.ids]
            sampled = [w for w, counts in zip(words, sequence.mask, strict=True) if counts]
            assert sampled == [row.params["bought"]["what"], "<end>"]
            assert words[0] == "<task>" and row.params["name"] in words
            assert all(
                np.isnan(p) for p, m in zip(sequence.logprobs, sequence.mask, strict=True) if m
            )
    with pytest.raises(ConfigError, match="holds no token ids"):
        sft(real, "--out", file, "--template", shop / "train.toml")


# --- what is refused -----------------------------------------------------------------------


def test_an_empty_run_and_unscored_episodes_give_nothing(shop, tmp_path):
    file = tmp_path / "x.jsonl"
    file.write_text("old")
    empty = lay(tmp_path / "empty", [])
    with pytest.raises(RecordError, match="no episode is recorded"):
        sft(empty, "--out", file)
    unsafe = Verdict("scored", True, 1.0, safety_violations=("leak",))
    unscored = lay(
        tmp_path / "unscored",
        [
            ({}, MIXED, BROKEN),
            ({"seed": 1}, MIXED, None),
            ({"seed": 2}, MIXED, FAILED),
            ({"seed": 3}, MIXED, unsafe),
        ],
    )
    with pytest.raises(RecordError) as raised:
        sft(unscored, "--out", file)
    for reason in ("error:sandbox", "not over", "did not pass", "safety violation"):
        assert reason in str(raised.value)
    sft(unscored, "--out", tmp_path / "all.jsonl", "--min-score", 0)
    assert [row["metadata"]["episode"] for row in rows(tmp_path / "all.jsonl")] == [3]
    assert file.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("all.jsonl", "empty", "unscored", "x.jsonl"),
    ]


def test_a_damaged_run_leaves_no_file(shop, tmp_path):
    run = lay(tmp_path / "run", [({}, MIXED, PASSED), ({"seed": 1}, MIXED[1:], PASSED)])
    with closing(RunStore.open(run, readonly=False)) as store:
        store._database.execute("DELETE FROM steps WHERE episode = 2 AND step = 2")
    with pytest.raises(RecordError, match=r"episode 2 is damaged: step 2 is missing"):
        sft(run, "--out", tmp_path / "x.jsonl")
    with pytest.raises(RecordError):
        sft(tmp_path / "nowhere", "--out", tmp_path / "x.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_stopped_leaves_no_file(shop, tmp_path, monkeypatch, number):
    picture = np.zeros((4, 4, 3), np.uint8)
    shown = [step("orders_get", {"order": 5}, "seen", image=picture), *MIXED[4:]]
    run = lay(tmp_path / "run", [({}, shown, PASSED), ({"seed": 1}, MIXED, PASSED)])
    iterate = RunStore.iter_steps

    def stopped(store, id):
        if id == 2:
            os.kill(os.getpid(), number)
        yield from iterate(store, id)

    monkeypatch.setattr(RunStore, "iter_steps", stopped)
    done = CliRunner().invoke(app, ["dataset", "sft", str(run), "--out", str(tmp_path / "x.jsonl")])
    assert done.exit_code == 128 + number
    assert "is not written" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_score_out_of_range_is_damage_and_not_a_good_one(shop, tmp_path):
    run = lay(tmp_path / "run", [({}, MIXED, Verdict("scored", True, float("nan")))])
    with pytest.raises(RecordError, match=r"not from 0 to 1|damaged"):
        sft(run, "--out", tmp_path / "x.jsonl")


def test_pictures_become_files_or_are_refused(shop, tmp_path):
    picture = np.zeros((4, 4, 3), np.uint8)
    steps = [step("orders_get", {"order": 5}, "seen", image=picture), *MIXED[4:]]
    run = lay(tmp_path / "run", [({}, steps, PASSED), ({"seed": 1}, MIXED, PASSED)])
    sft(run, "--out", tmp_path / "x.jsonl")
    first, second = rows(tmp_path / "x.jsonl")
    (name,) = [
        part["image_url"]["url"]
        for m in first["messages"]
        if isinstance(m["content"], list)
        for part in m["content"]
        if part["type"] == "image_url"
    ]
    assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    sft(run, "--out", tmp_path / "t.jsonl", "--form", "trl")
    with_picture = [row for row in rows(tmp_path / "t.jsonl") if "images" in row]
    assert len(with_picture) == 2 and all(
        (tmp_path / row["images"][0]).is_file() for row in with_picture
    )
    told = sft(run, "--out", tmp_path / "y.jsonl", "--pictures", "refuse")
    assert "1 with pictures" in told and len(rows(tmp_path / "y.jsonl")) == 1
    assert not (tmp_path / "y.jsonl.pictures").exists()


def test_any_text_survives_and_huge_ones_too(shop, tmp_path):
    odd = 'naïve "quotes" 漢字 \U0001f600 \u2028 \x00 '
    steps = [step("orders_get", {"order": 5}, odd + "\ud800" + "x" * 2_000_000), *MIXED[4:]]
    run = lay(tmp_path / "run", [({"instruction": odd}, steps, PASSED)])
    sft(run, "--out", tmp_path / "x.jsonl")
    (row,) = rows(tmp_path / "x.jsonl")
    assert row["messages"][1]["content"] == odd
    assert row["messages"][3]["content"].startswith(odd + "\ufffdx")
    json.dumps(row, ensure_ascii=False).encode()


def test_tasks_that_are_gone_have_unknown_tools(shop, tmp_path):
    run = lay(tmp_path / "run", [({"task": "demo/gone-v1"}, MIXED, PASSED)])
    with pytest.raises(RecordError, match=r"whose tools are unknown: no task named 'demo/gone-v1'"):
        sft(run, "--out", tmp_path / "x.jsonl")
    run = lay(tmp_path / "two", [({"task": "demo/gone-v1"}, TOKENS, PASSED)])
    sft(run, "--out", tmp_path / "x.npz", "--form", "native")  # It needs no tools.


def test_many_tasks_that_are_gone_are_told_in_few_lines_and_looked_up_once(
    shop, tmp_path, monkeypatch
):
    listings = []
    folders = catalogue.folders
    monkeypatch.setattr(catalogue, "folders", lambda kind: listings.append(kind) or folders(kind))
    gone = [({"task": f"demo/gone{number}-v1"}, MIXED, PASSED) for number in range(30)]
    run = lay(tmp_path / "run", [*gone, ({}, MIXED, PASSED)])
    told = sft(run, "--out", tmp_path / "x.jsonl")
    assert "25 whose tools are unknown: no catalogue has these tasks" in told
    assert "no task named 'demo/gone4-v1'" in told and "gone6" not in told
    assert len(listings) < 10


def test_reasons_beyond_twenty_are_told_in_one_line():
    left_out = LeftOut()
    for number in range(50):
        left_out.note(f"with fault {number:02}", f"episode {number}", count=50 - number)
    lines = left_out.lines()
    assert len(lines) == 21 and lines[0] == "50 with fault 00 (first: episode 0)"
    assert lines[-1] == f"{sum(range(1, 31))} for 30 further reasons"


def test_a_file_that_is_no_data_set_is_refused(shop, tmp_path):
    run = lay(tmp_path / "run", [({}, TOKENS, PASSED)])
    sft(run, "--out", tmp_path / "x.npz", "--form", "native")
    with np.load(tmp_path / "x.npz") as file:
        arrays = dict(file)
    changes = [
        {"ids": arrays["ids"].astype(np.int64)},
        {"ids": -arrays["ids"]},
        {"lengths": arrays["lengths"] + 1},
        {"episodes": arrays["episodes"] + 1},
        {"loss_mask": ~arrays["loss_mask"]},
        {"logprobs": arrays["logprobs"][1:]},
        {"about": arrays["about"][1:]},
        {"ids": np.array([{}], dtype=object)},
    ]
    for change in changes:
        np.savez(tmp_path / "bad.npz", **{**arrays, **change})
        with pytest.raises(RecordError, match=r"bad\.npz"):
            read_tokens(tmp_path / "bad.npz")
    # Gigabytes of zeros would fit into a small file.
    np.savez_compressed(tmp_path / "bad.npz", **arrays)
    with pytest.raises(RecordError, match="is compressed"):
        read_tokens(tmp_path / "bad.npz")
    whole = (tmp_path / "x.npz").read_bytes()
    said = f"({len(arrays['ids'])},)".encode()
    huge = whole.replace(said, b"(9" + b"9" * 17 + b",)", 1).replace(b" " * 17, b"", 1)
    assert len(huge) == len(whole) != whole.index(said)
    (tmp_path / "bad.npz").write_bytes(huge)
    with pytest.raises(RecordError, match="no data set"):
        read_tokens(tmp_path / "bad.npz")
    (tmp_path / "bad.npz").write_bytes((tmp_path / "x.npz").read_bytes()[:200])
    with pytest.raises(RecordError, match="no data set"):
        read_tokens(tmp_path / "bad.npz")
    with pytest.raises(RecordError, match="no such file"):
        read_tokens(tmp_path / "nothing.npz")


def test_the_command_names_what_to_write(shop, real, tmp_path):
    with pytest.raises(ConfigError, match="in a folder that does not exist"):
        sft(real, "--out", tmp_path / "no" / "x.jsonl")
    with pytest.raises(ConfigError, match="is a folder"):
        sft(real, "--out", tmp_path)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    with pytest.raises(ConfigError, match="no regular file"):
        sft(real, "--out", tmp_path / "link")
    for name in COMMANDS:
        shown = CliRunner().invoke(app, ["dataset", name, "--help"], env={"COLUMNS": "200"})
        assert f"Example:  agentgym dataset {name}" in shown.output


def test_the_page_reads_a_native_file_and_names_every_option(shop, tmp_path, monkeypatch, capsys):
    run = lay(tmp_path / "run", [({}, TOKENS, PASSED)])
    sft(run, "--out", tmp_path / "sft.npz", "--form", "native")
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    exec(code, {})
    assert capsys.readouterr().out == f"{TASK} 8 3\n"
    named = set(re.findall(r"`([\w-]+)`", PAGE.read_text()))
    lines = re.findall(r"^agentgym dataset (\S+) (.*)$", PAGE.read_text(), re.M)
    assert {name for name, _ in lines} >= {"sft", "pairs", "semi-online"}
    for name, line in lines:
        shown = CliRunner().invoke(app, ["dataset", name, "--help"], env={"COLUMNS": "200"})
        assert all(option in shown.output for option in re.findall(r"--[\w-]+", line))
    assert {each.value for each in Form} | {each.value for each in StepFault} <= named
