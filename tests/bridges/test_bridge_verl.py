"""An agent loop of verl 0.9, whose servers a fake stands for; verl's own loop where installed."""

import asyncio
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="the bridge to verl")
# Its import takes a second, and every worker collects this module.
if importlib.util.find_spec("transformers") is None:
    pytest.skip("the bridge to verl needs transformers", allow_module_level=True)
sys.path.insert(0, str(Path(__file__).parents[1] / "train"))  # small models of transformers

from small_models import call_text, make_tokenizer

from agentgym.errors import ConfigError, VerifierError
from agentgym.train.bridges import verl
from agentgym.train.bridges.verl import ATTEMPTS, EpisodeLoop
from agentgym.train.templates.chat import ChatTemplate

ROOT = Path(__file__).parents[2]
TASK = "tools/largest-debtors-v1"
PARAMS = {"temperature": 0.7, "top_p": 0.9, "top_k": -1, "logprobs": False}


class FakeServers:
    """Answers as verl's ``LLMServerClient``; calls are spelled with a token for each character."""

    def __init__(self, tokenizer, *calls, version=7, **changes):
        self._tokenizer, self._calls = tokenizer, list(calls)
        self._version, self._changes = version, changes
        self.asked = []

    async def generate(self, request_id, *, prompt_ids, sampling_params):
        self.asked.append((request_id, list(prompt_ids), dict(sampling_params)))
        told = self._calls[min(len(self.asked), len(self._calls)) - 1]
        ids = [token for letter in told for token in self._tokenizer.encode(letter)]
        ids = [*ids, sampling_params["stop_token_ids"][0]][: sampling_params["max_tokens"]]
        answer = SimpleNamespace(
            token_ids=ids,
            log_probs=[-0.25] * len(ids),
            stop_reason="completed",
            extra_fields={"global_steps": self._version},
        )
        answer.__dict__.update(self._changes)
        return answer


SEARCH = call_text("hermes", "contacts_search", {"text": "an"})
GIVE_UP = call_text("hermes", "give_up", {"reason": "enough"})


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


@pytest.fixture
async def play(tokenizer):
    loop = EpisodeLoop(sandbox="none", completion_tokens=400)

    async def run(servers, *, seed=0, prompt_tokens=100_000, response_tokens=20_000):
        return await loop.run(
            *(servers, ChatTemplate(tokenizer), PARAMS),
            task=TASK,
            seed=seed,
            prompt_tokens=prompt_tokens,
            response_tokens=response_tokens,
        )

    run.loop = loop
    yield run
    await loop.close()


async def test_tokens_pass_as_they_were_sampled(play, tokenizer):
    servers = FakeServers(tokenizer, SEARCH, SEARCH, GIVE_UP)
    fields = await play(servers)
    (first, opening, params), *_, (last, prompt, _) = servers.asked
    assert first == last  # one request, so that its prompt is found in a server's cache
    assert params | {"max_tokens": 0, "stop_token_ids": 0} == {
        **PARAMS,
        "logprobs": True,
        "max_tokens": 0,
        "stop_token_ids": 0,
    }
    assert fields["prompt_ids"] == opening
    whole = opening + fields["response_ids"]
    assert whole[: len(prompt)] == prompt
    sampled = [
        token
        for token, counts in zip(fields["response_ids"], fields["response_mask"], strict=True)
        if counts
    ]
    stop = params["stop_token_ids"][0]
    spelled = [[t for c in told for t in tokenizer.encode(c)] for told in (SEARCH, SEARCH, GIVE_UP)]
    assert sampled == [token for each in spelled for token in [*each, stop]]
    assert {
        logprob
        for logprob, counts in zip(
            fields["response_logprobs"], fields["response_mask"], strict=True
        )
        if not counts
    } == {0.0}
    assert fields["num_turns"] == 6
    assert fields["reward_score"] == 0.0


async def test_a_response_is_never_longer_than_verl_allows(play, tokenizer):
    whole = await play(FakeServers(tokenizer, SEARCH, SEARCH, SEARCH, GIVE_UP))
    for most in (len(whole["response_ids"]) - 1, 500, 60, 5):
        servers = FakeServers(tokenizer, SEARCH)
        fields = await play(servers, response_tokens=most)
        assert 0 < len(fields["response_ids"]) <= most
        lengths = {len(fields[name]) for name in ("response_ids", "response_mask")}
        assert lengths == {len(fields["response_logprobs"])}
        assert all(len(each[1]) < len(fields["prompt_ids"]) + most for each in servers.asked)
        assert sum(fields["response_mask"]) > 0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"log_probs": None}, "gave log-probabilities: none"),
        ({"log_probs": [-0.5]}, "gave log-probabilities: 1 for"),
        ({"stop_reason": "aborted", "token_ids": [], "log_probs": []}, "aborted the completion"),
    ],
)
async def test_an_episode_without_a_score_is_played_again_and_then_raises(
    play, tokenizer, changes, why
):
    servers = FakeServers(tokenizer, SEARCH, **changes)
    with pytest.raises(VerifierError, match=why):
        await play(servers)
    assert len(servers.asked) == ATTEMPTS
    assert len(play.loop.missing) == ATTEMPTS


async def test_a_server_that_is_gone_is_no_failure_of_the_policy(play, tokenizer):
    class Gone(FakeServers):
        async def generate(self, request_id, **given):
            raise ConnectionResetError("the node died")

    with pytest.raises(VerifierError, match="ConnectionResetError: the node died"):
        await play(Gone(tokenizer))


async def test_a_server_that_recovers_costs_nothing(play, tokenizer):
    class Once(FakeServers):
        async def generate(self, request_id, **given):
            answer = await super().generate(request_id, **given)
            if len(self.asked) == 1:
                answer.stop_reason = "aborted"
            return answer

    fields = await play(Once(tokenizer, SEARCH, GIVE_UP))
    assert fields["reward_score"] == 0.0
    assert len(play.loop.missing) == 1


async def test_a_prompt_that_is_too_long_is_told(play, tokenizer):
    with pytest.raises(VerifierError, match="expected at most data.max_prompt_length = 10"):
        await play(FakeServers(tokenizer, SEARCH), prompt_tokens=10)


@pytest.mark.parametrize("seed", [-1, True, 1.5, "1"])
async def test_other_seeds_are_refused(play, tokenizer, seed):
    with pytest.raises(ConfigError, match="expected an integer from 0 on"):
        await play(FakeServers(tokenizer, SEARCH), seed=seed)


async def test_the_episodes_of_a_loop_share_an_environment(play, tokenizer, monkeypatch):
    made = []
    real = verl.Environment

    def counting(*given, **options):
        made.append(given)
        return real(*given, **options)

    monkeypatch.setattr(verl, "Environment", counting)
    await asyncio.gather(*(play(FakeServers(tokenizer, GIVE_UP), seed=seed) for seed in range(4)))
    assert len(made) == 1


PROGRAM = """
import asyncio, json, sys
sys.path[:0] = sys.argv[1:5]
import hydra
from omegaconf import OmegaConf
from small_models import make_tokenizer
from test_bridge_verl import PARAMS, SEARCH, GIVE_UP, FakeServers
import verl_agent_loop
from verl.experimental.agent_loop import agent_loop as verl_loops

tokenizer = make_tokenizer()
config = OmegaConf.create({
    "actor_rollout_ref": {"rollout": {"prompt_length": 60_000, "response_length": 20_000}},
    "data": {},
})


async def play(seed):
    servers = FakeServers(tokenizer, SEARCH, GIVE_UP)
    wrapped = verl_loops.DictConfigWrap
    loop = hydra.utils.instantiate(
        config=verl_loops._agent_loop_registry["agentgym"],
        trainer_config=wrapped(config=config),
        server_manager=servers,
        tokenizer=tokenizer,
        processor=None,
        hf_model_type="qwen2",
        dataset_cls=verl_loops.RLHFDataset,
        data_config=wrapped(config.data),
        tools=verl_loops.ToolListWrap([]),
    )
    assert loop.tokenizer is tokenizer
    row = {"raw_prompt": [], "task": sys.argv[5], "seed": seed, "index": seed}
    output = await loop.run(dict(PARAMS), **row)
    return output.as_dict(), len(servers.asked)


async def main():
    verl_agent_loop.EPISODES._sandbox = "none"
    played = await asyncio.gather(play(0), play(1))
    await verl_agent_loop.EPISODES.close()
    return [
        [asked, float(each["rm_scores"].sum()), int(each["response_mask"].sum()) > 0,
         len(each["responses"]) == len(each["rollout_log_probs"]), each["num_turns"]]
        for each, asked in played
    ]

print(json.dumps(asyncio.run(main())))
"""


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(
    "AGENTGYM_VERL" not in os.environ,
    reason="AGENTGYM_VERL names no Python of an environment with verl 0.9.1",
)
def test_the_example_is_an_agent_loop_of_verl(tmp_path):
    folders = (ROOT, ROOT / "examples/bridges", ROOT / "tests/train", ROOT / "tests/bridges")
    done = subprocess.run(
        (os.environ["AGENTGYM_VERL"], "-c", PROGRAM, *folders, TASK),
        env={**os.environ, "AGENTGYM_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    # Two turns each, no point for giving up, and fields of equal length.
    assert json.loads(done.stdout.splitlines()[-1]) == [[2, 0.0, True, True, 4]] * 2
