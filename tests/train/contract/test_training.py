"""`agentgym train` with a model of transformers, which the test makes and teaches a little."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import small_models
import torch
from typer.testing import CliRunner

from agentgym.cli.app import app
from agentgym.env.opening import load_built
from agentgym.errors import ConfigError
from agentgym.record.store import RunStore
from agentgym.records import Briefing, Observation
from agentgym.rollout.grading import offered_tools
from agentgym.train.config import load_config
from agentgym.train.templates.chat import ChatTemplate

EXAMPLE = Path(__file__).parents[3] / "examples/huggingface-terminal.toml"
ONE_LEVEL = EXAMPLE.parent / "tiny-terminal/one-level"
FOLDERS = ("red", "green", "blue")
SMALL = {
    'path = "Qwen/Qwen3-0.6B"': 'path = "./model"\ndevice = "cpu"',
    "context = 3072": "context = 900",
    "completion_tokens = 512": "completion_tokens = 40",
    "iterations = 40": "iterations = 2",
    "groups = 16": "groups = 2",
    "group_size = 8": "group_size = 4",
    "jobs = 32": "jobs = 8",
    "learning_rate = 1e-6": "learning_rate = 1e-4",
    "row_tokens = 3072": "row_tokens = 900",
    "every = 10": "every = 20",
    "seeds = [1000, 1001, 1002, 1003, 1004, 1005]": "seeds = [1000]",
    "trials = 4": "trials = 1",
    '"./tiny-terminal/one-level", "./tiny-terminal/two-level"': f'"{ONE_LEVEL}"',
    'tasks = ["./tiny-terminal/two-level"]\n': "",
}


def briefed():
    """Return the tools and the briefings of some instances of the task."""
    task = load_built(str(ONE_LEVEL))
    told = [Briefing(task.id, task.instance(seed).instruction, seed, 2) for seed in range(12)]
    return offered_tools(task), told


def teach(folder, tools, briefings):
    """Write a model that makes the file in one of three folders, whatever it was told."""
    said = [
        small_models.call_text("hermes", "bash", {"command": f"touch {f}/done"}) for f in FOLDERS
    ]
    offered = json.dumps([tool.to_openai() for tool in tools], default=dict)
    texts = (*small_models.TEXTS, offered * 4, *said * 20)
    tokenizer = small_models.make_tokenizer("hermes", texts, size=900)
    template = ChatTemplate(tokenizer)
    model = small_models.make_model("qwen3", len(tokenizer))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    prompts = {tuple(template.opening(each, Observation(""), tools)) for each in briefings}
    answers = [[*tokenizer(text)["input_ids"], tokenizer.eos_token_id] for text in said]
    for step in range(45):
        prompt = sorted(prompts)[step % len(prompts)]
        longest = max(map(len, answers))
        rows = [[*prompt, *answer, *[0] * (longest - len(answer))] for answer in answers]
        ids = torch.tensor(rows)
        logits = model(input_ids=ids).logits[:, len(prompt) - 1 : -1]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), ids[:, len(prompt) :].flatten()
        ).backward()
        optimizer.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """Return the example with a small model of the test's own."""
    folder = tmp_path_factory.mktemp("huggingface")
    teach(folder / "model", *briefed())
    text = EXAMPLE.read_text()
    for old, new in SMALL.items():
        assert old in text, old
        text = text.replace(old, new)
    (folder / "small.toml").write_text(text)
    return folder / "small.toml"


def run(*arguments):
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == 0, found.output + found.stderr
    return found


@pytest.fixture(scope="module")
def trained(example):
    folder = example.parent / "run"
    return folder, run("train", example, "--out", folder)


def test_the_example_trains_for_two_updates(trained):
    folder, found = trained
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["iteration"] for line in lines] == [0, 1, 2]
    for line in lines[1:]:
        assert line["groups"] > 0, lines
        assert 0 < line["pass_rate"] < 1
        assert line["gradient_norm"] > 0
        assert line["breaks"] == 0
        assert 0 <= line["drift"] <= 1
        assert line["ess"] > 0.99
        assert abs(line["kl"]) < 1e-6 or line["iteration"] > 1
    assert "held-out seeds passed" in found.stdout
    assert "weights in float32 on cpu, tool calls as hermes" in found.stderr


def test_a_run_goes_on_with_a_copy_that_samples_while_it_learns(example, trained, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(trained[0], folder)
    config = json.loads((folder / "config.json").read_text())
    config["iterations"] = 3
    config["rollouts"] |= {"staleness": 1, "record": True}
    (folder / "config.json").write_text(json.dumps(config))
    run("train", example, "--resume", "--out", folder)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    before = (trained[0] / "metrics.jsonl").read_text().splitlines()
    assert lines[:3] == [json.loads(line) for line in before]
    assert lines[3]["iteration"] == 3
    assert lines[3]["groups"] > 0
    assert lines[3]["gradient_norm"] > 0
    states = [torch.load(each / "checkpoint.pt") for each in (trained[0], folder)]
    steps = [state["learner"]["optimizer"]["adam"]["state"][0]["step"] for state in states]
    assert steps == [2, 3]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('kind = "huggingface"', 'kind = "hugging"', r"policy.kind: expected 'tiny' or 'hugging"),
        ("context = 3072", "contxt = 4096", "policy.contxt: unknown field 'contxt'; did you mean"),
        (
            "context = 3072",
            'words = ["a"]',
            "policy.words: unknown field 'words'; known: kind, path",
        ),
        ("context = 3072", "context = 0", "policy.context: .* greater than or equal to 1"),
        (
            "context = 3072",
            'dtype = "half"',
            "policy.dtype: expected 'auto', 'float32' or 'bfloat16'",
        ),
        ("context = 3072", 'device = "tpu"', "policy.device: .* text that matches"),
        ("context = 3072", 'attention = "x"', "policy.attention: expected 'auto', 'sdpa', 'eager'"),
        ("context = 3072", 'tool_calls = "xml"', "policy.tool_calls.*: expected 'auto'"),
        ('path = "Qwen/Qwen3-0.6B"', "", "policy.path: required, but absent"),
        (
            "row_tokens = 3072",
            "row_tokens = 9",
            "row_tokens: expected at least the context .* 3072",
        ),
        (
            'kind = "huggingface"',
            "",
            "policy.path: unknown field 'path'; did you mean|known: kind, wi",
        ),
    ],
)
def test_a_wrong_value_is_refused_with_its_line(tmp_path, old, new, why):
    (tmp_path / "wrong.toml").write_text(EXAMPLE.read_text().replace(old, new))
    with pytest.raises(ConfigError, match=rf"wrong.toml:\d+: .*(?s:{why})"):
        load_config(tmp_path / "wrong.toml")


def test_the_page_has_a_configuration_that_loads(tmp_path):
    page = (EXAMPLE.parents[1] / "docs/models.md").read_text()
    (block,) = re.findall(r"^```toml\n(.*?)^```", page, re.M | re.S)
    head = 'schema_version = "agentgym.train/1"\ntasks = ["./a"]\n[evaluation]\nseeds = [1]\n'
    (tmp_path / "page.toml").write_text(head + block)
    policy = load_config(tmp_path / "page.toml").policy
    assert policy.path == "Qwen/Qwen3-0.6B"
    named = {name for name in type(policy).model_fields if name != "kind"}
    assert all(f"`{name}`" in page or f"\n{name} = " in page for name in named)


def test_what_was_trained_plays_as_an_agent(trained, tmp_path):
    """The run's folder, and the model in it as any program finds it."""
    folder, _ = trained
    options = "device=cpu&context=900&completion_tokens=40"
    for number, agent in enumerate((f"{folder}?device=cpu", f"{folder / 'policy'}?{options}")):
        out = tmp_path / str(number)
        told = ("--agent", f"checkpoint:{agent}", "--trials", "6", "--out", out)
        run("eval", ONE_LEVEL, *told)
        store = RunStore.open(out)
        try:
            rows = store.episodes()
            (step, *_) = store.steps(next(row.id for row in rows if row.steps))
        finally:
            store.close()
        assert len(rows) == 6
        assert all(row.verdict.scored for row in rows)
        assert any(row.steps for row in rows)
        assert step.action.tool == "bash"
        assert step.decision.generations[0].tokens.logprobs is not None
