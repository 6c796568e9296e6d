"""Folders of models from strangers: refused by name, and never built beyond what they hold."""

import json
import os
import re
import shutil
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
import small_models
import torch

from agentgym.errors import ConfigError
from agentgym.records import Action, Briefing, Observation
from agentgym.train.datasets.encoding import load_template
from agentgym.train.models.foreign_model import WeightFiles, within
from agentgym.train.policies import HuggingFacePolicy, PolicyKind
from agentgym.train.policy import TokenPolicy
from agentgym.train.templates.chat import ChatTemplate

loading = pytest.importorskip("agentgym.train.models.loading")


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return small_models.save(tmp_path_factory.mktemp("honest") / "model")


@pytest.fixture
def folder(honest, tmp_path):
    return shutil.copytree(honest, tmp_path / "model")


def load(folder):
    return loading.load_pretrained(
        HuggingFacePolicy(kind=PolicyKind.HUGGINGFACE, path=str(folder), device="cpu", context=64)
    )


def change(folder, name, **values):
    path = folder / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_an_honest_folder_is_loaded(folder):
    assert load(folder).model.packed


@pytest.mark.parametrize(
    ("values", "why"),
    [
        # 5 GB, and hours.
        ({"hidden_size": 10**6}, "more than [0-9,]+ numbers, and its files hold 25 tensors"),
        ({"num_hidden_layers": 3_000, "layer_types": None}, "more than 1,400 modules"),
        ({"num_hidden_layers": 10**9, "layer_types": None}, "'num_hidden_layers' is more than"),
        ({"num_labels": 10**9}, "'num_labels' is more than"),
        ({"layer_types": ["full_attention"] * 10**5}, "a list of more than"),
        # Tracebacks.
        ({"hidden_size": 10**30}, "cannot be loaded: TypeError"),
        ({"num_attention_heads": 0}, "cannot be loaded: ZeroDivisionError"),
        ({"hidden_size": "wide"}, "expected int, got str"),
        ({"model_type": ["qwen3"]}, "unhashable"),
        ({"to_dict": "x"}, "cannot be loaded: TypeError"),
    ],
)
def test_a_configuration_asks_for_no_more_than_the_files_hold(folder, values, why):
    change(folder, "config.json", **values)
    began_s = time.monotonic()
    with pytest.raises(ConfigError, match=why):
        load(folder)
    assert time.monotonic() - began_s < 20


DEEP = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("config.json", "[]", "config.json: expected an object"),
        ("config.json", DEEP, "config.json: maximum recursion"),
        ("config.json", '{"a":' + "[" * 900 + "]" * 900 + "}", "nested more than 64 deep"),
        ("tokenizer.json", "[]", "tokenizer.json: expected an object"),
        ("tokenizer.json", '{"model": {}}', "cannot be loaded"),
        ("tokenizer_config.json", "[]", "tokenizer_config.json: expected an object"),
        ("generation_config.json", DEEP, "generation_config.json: maximum recursion"),
        ("model.safetensors", b"", "its header is no header"),
        ("model.safetensors", struct.pack("<Q", 2**63) + b"{}", "its header is no header"),
        ("model.safetensors", struct.pack("<Q", 2) + b"[]", "SafetensorError"),
    ],
)
def test_files_of_another_form_are_refused_by_name(folder, name, text, why):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=why):
        load(folder)


def test_weights_are_safetensors_in_the_folder(folder):
    index = folder / "model.safetensors.index.json"
    (folder / "model.safetensors").unlink()
    torch.save({"a": torch.zeros(3)}, folder / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="no model.safetensors.*pickle"):
        load(folder)
    # A file elsewhere was read, as a pickle of numbers.
    for name in ("../../etc/shadow", "/etc/shadow", ".."):
        index.write_text(json.dumps({"metadata": {}, "weight_map": {"a": name}}))
        with pytest.raises(ConfigError, match="no name of a file in the folder"):
            load(folder)
    index.write_text("[]")
    with pytest.raises(ConfigError, match="index.json: expected an object"):
        load(folder)


def replacing(length):
    return {"type": "Replace", "pattern": {"Regex": "."}, "content": "a" * length}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (
            {"normalizer": {"type": "Sequence", "normalizers": [replacing(32)] * 5}},
            "normalizer makes a text more than 1,000 times longer",
        ),
        (
            {"decoder": {"type": "Sequence", "decoders": [replacing(64)] * 7}},
            "decoder makes a text more than",
        ),
        ({"added_tokens": [{"id": 9, "content": "x" * 10**6}]}, "an added token of more than"),
        ({"added_tokens": [{"id": n, "content": "x"} for n in range(20_001)]}, "20,000 added"),
    ],
)
def test_a_tokenizer_makes_no_text_without_end(folder, values, why):
    change(folder, "tokenizer.json", **values)
    with pytest.raises(ConfigError, match=why):
        loading.load_tokenizer(str(folder))


def test_what_the_tokenizer_of_a_template_raises_is_told(folder):
    pattern = {"Regex": "(a|a)*\\d"}  # It gives up, as a panic in Rust.
    split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    change(folder, "tokenizer.json", pre_tokenizer=split)
    template = ChatTemplate(loading.load_tokenizer(str(folder)))
    with pytest.raises(ConfigError, match="fails on a text of a dialogue.*retry-limit"):
        template._encoded("a" * 64)
    with pytest.raises(ConfigError, match="fails on a text of a dialogue"):
        template._text([-1])


def test_threads_ask_a_tokenizer_one_after_the_other(folder):
    """It keeps whether special tokens are plain text: an agent's text became one of them."""
    tokenizer = loading.load_tokenizer(str(folder))
    template = ChatTemplate(tokenizer)
    asking = threading.Semaphore(1)

    class Asked:
        def __call__(self, text, **options):
            assert asking.acquire(blocking=False), "asked by two threads at once"
            time.sleep(0.01)
            asking.release()
            return tokenizer(text, **options)

    template._tokenizer = Asked()
    with ThreadPoolExecutor(4) as threads:
        assert len({tuple(ids) for ids in threads.map(template._encoded, ["a b"] * 8)}) == 1


def test_a_template_of_megabytes_is_refused(folder):
    (folder / "chat_template.jinja").write_text("x" * (2 << 20))
    with pytest.raises(ConfigError, match="chat template is longer than 1,048,576"):
        ChatTemplate(loading.load_tokenizer(str(folder)))


def test_a_fifo_is_refused_by_whatever_loads_a_model(folder):
    (folder / "tokenizer.json").unlink()
    os.mkfifo(folder / "tokenizer.json")
    config = folder.parent / "train.toml"
    example = Path(__file__).parents[2] / "examples" / "huggingface-terminal.toml"
    config.write_text(re.sub("(?m)^path = .*", 'path = "./model"', example.read_text()))
    for each in (lambda: load(folder), lambda: load_template(config)):
        with pytest.raises(ConfigError, match="neither a file nor a folder"):
            each()


def test_only_what_a_thread_builds_itself_is_counted():
    made = []
    with within(WeightFiles(0, 0)):
        other = threading.Thread(target=lambda: made.append(torch.nn.Linear(5_000, 5_000)))
        other.start()
        other.join()
        with pytest.raises(ValueError, match="numbers"):
            torch.nn.Linear(5_000, 5_000)
    assert made and torch.nn.Linear(5_000, 5_000)


async def test_a_slow_template_stops_no_other_episode():
    threads = []

    class Template:
        stop_ids = ()

        def opening(self, briefing, observation, tools):
            threads.append(threading.current_thread())
            return [1]

        def parse(self, completion, tools):
            threads.append(threading.current_thread())
            return Action("submit")

    class Samples:
        async def generate(self, dialogue, new_ids, **options):
            return SimpleNamespace(ids=(2,), logprobs=(0.0,), finish_reason="stop", version=0)

        def end(self, dialogue):
            pass

    policy = TokenPolicy(Samples(), Template(), limit=1)
    await policy.start(Briefing("a/b-v1", "Do it.", 0, 1))
    decision = await policy.act(Observation(""), [], [])
    assert decision.action == Action("submit")
    assert len(threads) == 2 and threading.main_thread() not in threads
