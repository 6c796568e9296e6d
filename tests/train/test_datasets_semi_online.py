"""Semi-online replay: own replies stay, the expert's call is patched in on a divergence."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offline_runs import PASSED, lay, play, step, write_refund
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.errors import AgentError, ConfigError, PolicyError, RecordError
from agentgym.records import Action, Decision, Effect
from agentgym.train.datasets.dialogues import Interfaces
from agentgym.train.datasets.episodes import Criteria, Episodes
from agentgym.train.datasets.native import ROLLOUTS, read_tokens
from agentgym.train.datasets.replayed import ReplayOptions, write_semi_online
from agentgym.train.datasets.semi_online import (
    Patch,
    SemiOnlineReplay,
    semi_online_returns,
    step_reward,
)
from agentgym.train.datasets.supervised import Form

EXPERT = [
    step("orders_get", {"order": 5}, "paid", Effect.NO_CHANGE, thought="Look first."),
    step("orders_get", {"order": 17}, "paid too", Effect.NO_CHANGE, thought="The other."),
    step("orders_refund", {"order": 5}, "refunded", thought="Pay it back."),
    step("submit", {}, "done", Effect.NO_CHANGE),
]
OWN = [one.decision.action for one in EXPERT]
WRONG_ORDER, WRONG_TOOL = Action("orders_get", {"order": 3}), Action("submit")


class Plays:
    """Plays given calls by the length of the history; keeps what it read."""

    def __init__(self, calls, read):
        self.calls, self.read = calls, read

    async def start(self, briefing):
        self.read.append(("start", briefing.seed, briefing.reference_actions))

    async def act(self, observation, tools, history):
        told = [(one.action, one.decision.thought, one.observation.text) for one in history]
        self.read.append((observation.text, told))
        call = self.calls[len(history)]
        if isinstance(call, BaseException):
            raise call
        return Decision(call, thought=f"mine {len(history)}")

    async def close(self):
        self.read.append("close")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    root = tmp_path_factory.mktemp("shop")
    write_refund(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_PATH", str(root))
        lay(root / "expert", [({}, EXPERT, PASSED)])
        yield root


def replayed(shop, calls, **options):
    """Return one rollout of an agent that plays some calls, and what the agent read."""
    read = []

    async def play_it():
        with Episodes([shop / "expert"], Criteria()) as episodes:
            (expert,) = episodes
            replay = SemiOnlineReplay(lambda: Plays(calls, read), **options)
            return await replay.rollout(expert, Interfaces().find(expert), 0)

    return asyncio.run(play_it()), read


def test_a_policy_that_does_as_the_expert_reads_its_own_history(shop):
    found, read = replayed(shop, OWN)
    assert found.finished and [one.matched for one in found.steps] == [True] * 4
    assert [one.reward for one in found.steps] == [1.0] * 4 and found.reward == 1.0
    assert [one.ret for one in found.steps] == [1.875, 1.75, 1.5, 1.0]
    starts = [each for each in read if each[0] == "start"]
    assert len(starts) == 1 and starts[0][2] == () and read[-1] == "close"
    seen, told = read[-2]
    assert seen == "refunded"
    assert [(thought, text) for _, thought, text in told] == [
        *(("mine 0", "paid"), ("mine 1", "paid too"), ("mine 2", "refunded")),
    ]


@pytest.mark.parametrize(
    ("patch", "thought"), [(Patch.THOUGHT_FREE, ""), (Patch.EXPERT, "The other.")]
)
def test_the_experts_call_is_patched_in_and_a_new_agent_goes_on(shop, patch, thought):
    found, read = replayed(shop, [OWN[0], WRONG_ORDER, *OWN[2:]], patch=patch)
    assert found.finished and [one.patched for one in found.steps] == [False, True, False, False]
    assert found.steps[1].decision.action == WRONG_ORDER  # Its own reply stays in the data.
    assert [one.reward for one in found.steps] == [1.0, 0.5, 1.0, 1.0]
    # Nothing of what follows a divergence reaches the steps before it.
    assert [one.ret for one in found.steps] == [1.0, 0.5, 1.5, 1.0]
    assert found.history[1].action == OWN[1]
    seen, told = read[-2]
    assert told[1] == (OWN[1], thought, "paid too") and told[0][1] == "mine 0"
    assert len([each for each in read if each[0] == "start"]) == 2
    assert read.count("close") == 2


@pytest.mark.parametrize(
    ("patches", "length", "finished"), [(0, 2, False), (1, 3, False), (2, 4, True), (None, 4, True)]
)
def test_a_rollout_ends_after_as_many_patches_as_are_allowed(shop, patches, length, finished):
    calls = [OWN[0], WRONG_ORDER, WRONG_TOOL, OWN[3]]
    found, _ = replayed(shop, calls, patches=patches)
    assert (len(found.steps), found.finished) == (length, finished)
    assert found.steps[1].reward == 0.5
    assert found.reward == pytest.approx(sum(one.reward for one in found.steps) / 4)
    assert len(found.history) == length - (not finished)


def test_a_reply_without_a_call_earns_nothing_and_an_outage_is_missing_data(shop):
    found, _ = replayed(shop, [PolicyError("no call"), *OWN[1:]])
    assert found.steps[0].decision is None and found.steps[0].failure == "no call"
    assert [one.reward for one in found.steps] == [0.0, 1.0, 1.0, 1.0]
    found, _ = replayed(shop, [KeyError("a bug of the agent"), *OWN[1:]])
    assert found.steps[0].reward == 0.0 and "KeyError" in found.steps[0].failure
    panic = type("Panic", (BaseException,), {})("in Rust")
    found, _ = replayed(shop, [panic, *OWN[1:]])
    assert found.steps[0].reward == 0.0 and found.steps[0].failure == "Panic: in Rust"
    found, _ = replayed(shop, [asyncio.CancelledError("its own"), *OWN[1:]])
    assert found.steps[0].reward == 0.0 and "CancelledError" in found.steps[0].failure
    with pytest.raises(AgentError, match="no answer within"):

        class Slow(Plays):
            async def act(self, observation, tools, history):
                await asyncio.sleep(60)

        async def wait():
            with Episodes([shop / "expert"], Criteria()) as episodes:
                (expert,) = episodes
                replay = SemiOnlineReplay(lambda: Slow([], []), timeout_s=0.01)
                await replay.rollout(expert, Interfaces().find(expert), 0)

        asyncio.run(wait())


@pytest.mark.parametrize(
    ("own", "reward"),
    [
        (None, 0.0),
        (WRONG_TOOL, 0.1),
        (WRONG_ORDER, 0.5),
        (Action("orders_get", {"order": "17"}), 0.5),
        (OWN[1], 1.0),
    ],
)
def test_rewards_are_those_of_the_paper(own, reward):
    assert step_reward(own, OWN[1]) == pytest.approx(reward)


@given(
    drawn=st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=8),
    gamma=st.floats(0, 1),
)
def test_returns_follow_the_formula(drawn, gamma):
    rewards, matched = zip(*drawn, strict=True)
    found = semi_online_returns(rewards, matched, gamma)
    for t, value in enumerate(found):
        end = next((k for k in range(t, len(drawn)) if not matched[k]), len(drawn))
        wanted = sum(gamma ** (k - t) * rewards[k] for k in range(t, end))
        assert value == pytest.approx(wanted if matched[t] else rewards[t])


def test_advantages_compare_the_steps_of_one_number(shop):
    torch = pytest.importorskip("torch")
    from agentgym.train.advantages import gigpo

    rollouts = [replayed(shop, [OWN[0], call, *OWN[2:]])[0] for call in (OWN[1], WRONG_ORDER)]
    steps = [(n, t, one) for n, each in enumerate(rollouts) for t, one in enumerate(each.steps)]
    found = gigpo(
        torch.tensor([each.reward for each in rollouts]),
        torch.tensor([one.ret for _, _, one in steps]),
        torch.tensor([n for n, _, _ in steps]),
        torch.tensor([0, 0]),
        [t for _, t, _ in steps],
    ).view(2, 4)
    assert (found[0] > 0).all() and (found[1] < 0).all()
    assert (found[0, :2] > found[0, 2:]).all()  # Only here do the steps themselves differ.


# --- token ids -----------------------------------------------------------------------------


def test_a_policy_of_tokens_goes_on_from_the_patched_call(shop, tmp_path):
    """The sampler is a real model; its vocabulary holds the expert's calls."""
    torch = pytest.importorskip("torch")
    from agentgym.train.models.tiny import TinyShape, TinyTransformer
    from agentgym.train.policy import TokenPolicy
    from agentgym.train.sampling.sampler import Sampler
    from agentgym.train.templates.words import WordTemplate

    actions = {"a": OWN[0], "b": OWN[1], "c": OWN[2], "d": OWN[3]}
    template = WordTemplate(actions, ["refund", "paid"])

    async def play_it():
        torch.manual_seed(0)
        shape = TinyShape(len(template.vocabulary), width=16, heads=2, context=64)
        sampler = Sampler(TinyTransformer(shape), rows=4, batch_invariant=True)
        replay = SemiOnlineReplay(
            lambda: TokenPolicy(sampler, template, limit=1), patches=None, template=template
        )
        with Episodes([shop / "expert"], Criteria()) as episodes:
            (expert,) = episodes
            interface = Interfaces().find(expert)
            rollouts = [await replay.rollout(expert, interface, n) for n in range(6)]
        with Episodes([shop / "expert"], Criteria()) as episodes:
            options = ReplayOptions(Form.NATIVE, rollouts=6, jobs=1)
            await write_semi_online(episodes, tmp_path / "r.npz", replay, options)
        await sampler.close()
        return rollouts

    rollouts = asyncio.run(play_it())
    data = read_tokens(tmp_path / "r.npz", ROLLOUTS)
    with pytest.raises(RecordError, match="agentgym dataset sft, got 'agentgym.token-rollouts"):
        read_tokens(tmp_path / "r.npz")  # supervised learning would imitate the divergences
    assert len({tuple(one.matched for one in each.steps) for each in rollouts}) > 1
    ids = {word: number for number, word in enumerate(template.vocabulary)}
    for rollout, episode in zip(rollouts, data.episodes, strict=True):
        assert rollout.finished and len(rollout.steps) == 4
        assert episode.origin["matched"] == [one.matched for one in rollout.steps]
        for at, one in enumerate(rollout.steps):
            (made,) = one.generations
            prompt = made.tokens.prompt_ids.tolist()
            # The prompt holds the expert's words, whatever the policy had sampled there.
            read = [id for id in prompt if id in (ids["a"], ids["b"], ids["c"], ids["d"])]
            assert read == [ids["a"], ids["b"], ids["c"]][:at]
        sampled = [
            token
            for sequence in episode.tokens.sequences
            for token, counts in zip(sequence.ids, sequence.mask, strict=True)
            if counts
        ]
        assert sampled == [
            int(one.generations[0].tokens.completion_ids[0]) for one in rollout.steps
        ]


# --- the command ---------------------------------------------------------------------------


def semi_online(*arguments):
    result = CliRunner().invoke(app, ["dataset", "semi-online", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_the_command_replays_real_recordings_of_the_oracle(shop, tmp_path):
    run = play(shop / "oracle", ["oracle"], range(3))
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file in files:
        told = ["--agent", "random", "--rollouts", 3, "--patches", -1, "--out", file]
        semi_online(run, *told, "--jobs", 2 if file == files[0] else 5)
    assert files[0].read_bytes() == files[1].read_bytes()
    rows = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert {row["metadata"]["rollout"] for row in rows} == {0, 1, 2}
    assert len({json.dumps(row["completion"][0]["tool_calls"]) for row in rows}) > 3
    for row in rows:
        (reply,) = row["completion"]
        expert = row["metadata"]["expert"]
        function = reply["tool_calls"][0]["function"]
        same = (function["name"], function["arguments"]) == (expert["tool"], expert["arguments"])
        assert same is row["metadata"]["matched"] and row["metadata"]["patched"] is not same
        assert row["reward"] in (0.1, 0.5, 1.0) and (row["reward"] == 1.0) is same
        assert len(row["prompt"]) == 2 + 2 * row["metadata"]["step"]
        if row["metadata"]["step"]:
            before = row["prompt"][2]["tool_calls"][0]["function"]
            assert before["name"] == "orders_refund"


def test_what_no_policy_may_be_is_refused(shop, tmp_path):
    file = tmp_path / "x.jsonl"
    with pytest.raises(ConfigError, match="plays the task's solution"):
        semi_online(shop / "expert", "--agent", "oracle", "--out", file)
    with pytest.raises(ConfigError, match="no agent named 'radnom'"):
        semi_online(shop / "expert", "--agent", "radnom", "--out", file)
    with pytest.raises(RecordError, match="rollouts without token ids"):
        told = ["--agent", "random", "--form", "native"]
        semi_online(shop / "expert", *told, "--out", tmp_path / "x.npz")
    for wrong in ({"gamma": 1.5}, {"patches": -1}, {"timeout_s": 0}):
        with pytest.raises(ValueError, match="out of range"):
            SemiOnlineReplay(lambda: Plays([], []), **wrong)
    assert not file.exists()


def test_an_agent_that_cannot_be_asked_leaves_no_file_and_no_reward(shop, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(RecordError, match="rollouts whose policy could not be asked"):
        told = ["--agent", "openai:m?retries=0", "--out", tmp_path / "x.jsonl"]
        semi_online(shop / "expert", *told)
    assert list(tmp_path.iterdir()) == []
