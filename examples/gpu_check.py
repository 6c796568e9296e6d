"""One command for a machine with a GPU: the figures of a language model, and a whole training run.

    python examples/gpu_check.py runs/gpu

1. `agentgym bench rl --json runs/gpu/bench.json` compares sampling with `generate` of transformers
   and measures the utilisation of training.
2. The reference agent plays a task, and its episodes become a data set.
3. A causal language model with random weights learns from them, then by reinforcement.

Nothing is downloaded. On a machine without a GPU the models are very small: this shows that the
command works, and no speed. It needs the extra `train-hf` and a sandbox (--sandbox, as in eval).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TASK = Path(__file__).parent / "tiny-terminal" / "one-level"
TEMPLATE = """\
{%- for tool in tools or [] %}{{ tool | tojson }}
{% endfor %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}<|im_start|>assistant
{{ message.content }}{% for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% elif message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
CONFIG = """\
schema_version = "agentgym.train/1"
tasks = ["{task}"]
sandbox = "{sandbox}"
iterations = {iterations}
[policy]
kind = "huggingface"
path = "./model"
context = 4096
completion_tokens = 96
[supervised]
data = "./oracle.npz"
epochs = {epochs}
learning_rate = 1e-3
[rollouts]
groups = {groups}
group_size = 4
jobs = 16
[algorithm]
advantage = "dr_grpo"
learning_rate = 1e-5
epochs = 1
entropy = 0.0
row_tokens = 4096
rows = 4
[evaluation]
every = {iterations}
seeds = [1000, 1001, 1002, 1003]
trials = 2
"""
SIZES = {
    "cuda": {"layers": 12, "width": 768, "episodes": 64, "epochs": 10, "groups": 8, "updates": 20},
    "cpu": {"layers": 1, "width": 32, "episodes": 4, "epochs": 1, "groups": 1, "updates": 1},
}


def make_model(folder: Path, layers: int, width: int) -> None:
    """Write a model with random weights, and a tokenizer that is trained on the spot."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    special = ["<|im_end|>", "<|im_start|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=1024,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    trained.train_from_iterator([each.read_text() for each in TASK.rglob("*.*")], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trained, eos_token=special[0], bos_token=special[1]
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=max(width // 64, 2),
        max_position_embeddings=4096,
        bos_token_id=1,
        eos_token_id=0,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


def run(*arguments: str | Path) -> None:
    """Run a command of agentgym, and show it."""
    print("\n$ agentgym", *arguments, flush=True)
    command = [sys.executable, "-c", "from agentgym.cli import main; main()"]
    subprocess.run([*command, *map(str, arguments)], check=True)


def main() -> None:
    """Measure, then train."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, help="folder of the results; it must not exist")
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions of the bench")
    asked = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    size, out = SIZES[device], asked.out
    out.mkdir(parents=True)
    quick = ["--quick"] if asked.quick else []
    run("bench", "rl", "--models", *quick, "--json", out / "bench.json")
    make_model(out / "model", size["layers"], size["width"])
    config = CONFIG.format(
        task=TASK.resolve(),
        sandbox=asked.sandbox,
        iterations=size["updates"],
        epochs=size["epochs"],
        groups=size["groups"],
    )
    (out / "train.toml").write_text(config)
    episodes, record = str(size["episodes"]), out / "oracle"
    played = ("--trials", episodes, "--sandbox", asked.sandbox, "--keep-states", "none")
    run("eval", TASK.resolve(), "--agent", "oracle", *played, "--out", record)
    encoded = ("--form", "native", "--template", out / "train.toml", "--out", out / "oracle.npz")
    run("dataset", "sft", record, "--task", TASK.resolve(), *encoded)
    run("train", out / "train.toml", "--out", out / "run")


if __name__ == "__main__":
    main()
