"""TRL's rollout function and environment factory, called as `GRPOTrainer` 1.16 calls them.

`test_bridge_trl_installed.py` runs the examples with TRL itself.
"""

import importlib.util
import inspect
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_environment import FakeEnvironment

from agentgym.env.portal import portal
from agentgym.errors import ConfigError, RecordError, SandboxError, UnsupportedError
from agentgym.gymnasium import registration
from agentgym.records import ToolSpec, Verdict
from agentgym.train.bridges.trl_tools import environment_class

pytest.importorskip("torch", reason="the bridge to TRL")
# Its import takes a second, and every worker collects this module.
if importlib.util.find_spec("transformers") is None:
    pytest.skip("the bridge to TRL needs transformers", allow_module_level=True)
sys.path.insert(0, str(Path(__file__).parents[1] / "train"))  # small models of transformers

from small_models import call_text, make_model, make_tokenizer

from agentgym.train.bridges.trl import EpisodeRollouts, score_reward, token_fields
from agentgym.train.samples import EpisodeTokens, TokenSequence
from agentgym.train.sampling.sampler import Completion
from agentgym.train.templates.chat import ChatTemplate

TASK = Path(__file__).parents[2] / "examples/tiny-terminal/one-level"
ID = "tiny-terminal/one-level-v1"
FOLDERS = ("red", "green", "blue", "amber", "violet")


class SpellingSampler:
    """Makes calls, written with a token for each character, which no tokenizer would choose."""

    def __init__(self, tokenizer):
        self._tokenizer, self.sampled = tokenizer, {}

    async def generate(self, dialogue, new_ids, *, limit, stop_ids, temperature, seed):
        dialogue.ids += new_ids
        turn = len(self.sampled.setdefault(id(dialogue), (dialogue, []))[1])
        command = " ".join(f"touch /root/{each}/done;" for each in FOLDERS)
        call = ("submit", {}) if turn else ("bash", {"command": command})
        told = call_text("hermes", *call)
        ids = [token for letter in told for token in self._tokenizer.encode(letter)]
        ids.append(stop_ids[0])
        dialogue.ids += ids
        self.sampled[id(dialogue)][1].append(ids)
        return Completion(tuple(ids), (-0.5,) * len(ids), "stop", 0)

    def end(self, dialogue):
        pass


def trainer(model=None, temperature=1.0):
    """Return the parts of a `GRPOTrainer` that a rollout function may use."""
    accelerator = SimpleNamespace(unwrap_model=lambda wrapped: wrapped, process_index=0)
    args = SimpleNamespace(temperature=temperature)
    return SimpleNamespace(model=model, accelerator=accelerator, args=args)


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


@pytest.fixture
def rollouts(session_cache, tokenizer):
    registration.shared_provider.cache_clear()
    made = []

    def make(**options):
        made.append(EpisodeRollouts([str(TASK)], ChatTemplate(tokenizer), **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
    registration.shared_provider.cache_clear()


def test_sampled_ids_pass_unchanged(rollouts, tokenizer):
    sampler = SpellingSampler(tokenizer)
    played = rollouts(make_sampler=lambda trainer: sampler)
    prompts = [row["prompt"] for row in played.rows([4])] * 2 + [f"{ID} 5"]
    assert prompts == [f"{ID} 4", f"{ID} 4", f"{ID} 5"]
    found = played(prompts, trainer())
    assert {len(values) for values in found.values()} == {3}
    dialogues = {tuple(dialogue.ids): sampled for dialogue, sampled in sampler.sampled.values()}
    for row in range(3):
        prompt, ids = found["prompt_ids"][row], found["completion_ids"][row]
        mask, logprobs = found["env_mask"][row], found["logprobs"][row]
        first, second = dialogues[tuple(prompt + ids)]
        assert [token for token, counts in zip(ids, mask, strict=True) if counts] == first + second
        assert logprobs == [-0.5 * counts for counts in mask]
        text = tokenizer.decode(ids)
        assert tokenizer.encode(text, add_special_tokens=False) != ids  # encoded anew, it differs
    assert "folder" in tokenizer.decode(found["prompt_ids"][0])
    assert found["score"] == [1.0, 1.0, 1.0]


def test_an_episode_without_a_score_is_missing(rollouts, tokenizer, monkeypatch):
    played = rollouts(make_sampler=lambda trainer: SpellingSampler(tokenizer))
    (environment,) = played._environments.values()
    start, failures = environment.start, iter([SandboxError("no sandbox")])

    async def start_some(seed, **options):
        if failure := next(failures, None):
            raise failure
        return await start(seed, **options)

    monkeypatch.setattr(environment, "start", start_some)
    found = played([f"{ID} 4"] * 2, trainer())
    assert sorted(found["score"], key=str) == [1.0, None]
    lost = found["score"].index(None)
    assert found["env_mask"][lost] == [0] and len(found["completion_ids"][lost]) == 1
    assert score_reward([], [], score=found["score"], trainer_state=None) == found["score"]
    assert played.missing == ["error:sandbox: no sandbox"]


def test_the_model_of_the_trainer_samples_and_goes_on_training(rollouts, tokenizer):
    model = make_model("qwen3", len(tokenizer)).train()
    found = rollouts(completion_tokens=2, context=3072)([f"{ID} 4"] * 2, trainer(model))
    assert model.training
    # Random tokens make no call, which ends the episode with a score of 0, not without one.
    assert found["score"] == [0.0, 0.0]
    assert [sum(mask) for mask in found["env_mask"]] == [2, 2]
    assert found["completion_ids"][0] != found["completion_ids"][1]


@pytest.mark.parametrize("prompt", ["x 4", ID, f"{ID} -1", 7, [{"role": "user", "content": "x"}]])
def test_other_prompts_are_refused(rollouts, prompt):
    with pytest.raises(ConfigError, match=r"rows\(\)"):
        rollouts()([prompt], trainer())


def test_tokens_that_are_no_single_sequence_are_refused():
    parts = TokenSequence([1, 2], [False, True], [0.0, -1.0], [-1, 0])
    with pytest.raises(RecordError, match="only appends"):
        token_fields(EpisodeTokens((parts, parts), 1, None))
    assert token_fields(EpisodeTokens((), 0, None)) == {}
    with pytest.raises(ConfigError, match="rollout_func"):
        score_reward([], [])


def called_as_trl_does(environment_type):
    """Return an instance and its tools, found as the trainer finds them."""
    instance = environment_type()
    members = dict(inspect.getmembers(environment_type, predicate=inspect.isfunction))
    assert {"reset", "get_reward"} <= members.keys()
    hidden = {"reset", "get_reward"}
    names = [name for name in members if name not in hidden and not name.startswith("_")]
    return instance, {name: getattr(instance, name) for name in names}


def test_tools_are_methods_that_transformers_can_read():
    from transformers.utils import get_json_schema

    _, tools = called_as_trl_does(environment_class(FakeEnvironment()))
    assert set(tools) == {"say", "fill", "submit"}
    told = {name: get_json_schema(method)["function"] for name, method in tools.items()}
    assert told["say"]["description"] == "Repeat a text."
    fill = told["fill"]["parameters"]
    assert {name: about["type"] for name, about in fill["properties"].items()} == {
        "character": "string",
        "times": "integer",
    }
    assert fill["required"] == ["character", "times"]
    assert "required" not in told["submit"]["parameters"]


def test_an_episode_of_tool_calls_has_the_score_of_its_verdict():
    environment, tools = called_as_trl_does(environment_class(FakeEnvironment()))
    assert environment.reset(prompt=[], seed=3) == "Submit plain."
    assert tools["say"](text="hello") == "hello"
    assert "times" in tools["fill"](character="x", times="many")  # answered, not raised
    assert tools["submit"](answer="plain") == "submitted"
    assert "has ended" in tools["say"](text="more")
    assert environment.get_reward() == environment.get_reward() == 1.0
    environment.reset(seed=3)
    assert environment.get_reward() == 0.25  # the model stopped: it is judged as it stands


def test_a_broken_episode_has_no_reward_and_the_next_one_begins():
    made = environment_class(FakeEnvironment())
    environment, tools = called_as_trl_does(made)
    environment.reset(seed=3)

    async def die(decision):
        raise SandboxError("the sandbox died")

    environment._episode.step = die
    assert "has ended" in tools["say"](text="x")
    assert environment.get_reward() is None
    environment.reset(seed=3)

    async def unscored():
        return Verdict("error:verifier", False, 0.0)

    environment._episode.finish = unscored
    assert environment.get_reward() is None
    assert made.missing == ["error:sandbox: the sandbox died", "error:verifier"]
    environment.reset(seed=3)
    assert tools["submit"](answer="plain") == "submitted"
    assert environment.get_reward() == 1.0


@pytest.mark.parametrize("seed", [None, -1, True, "3", 1.0])
def test_a_row_without_a_seed_is_refused(seed):
    with pytest.raises(ConfigError, match="seed"):
        environment_class(FakeEnvironment())().reset(seed=seed)


@pytest.mark.parametrize("name", ["reset", "get_reward", "_hidden"])
def test_a_tool_that_no_method_can_stand_for_is_refused(name):
    environment = FakeEnvironment()
    environment.tools = (ToolSpec(name, "A tool.", {"type": "object", "properties": {}}),)
    with pytest.raises(UnsupportedError, match=name):
        environment_class(environment)
    portal().run(environment.close())
