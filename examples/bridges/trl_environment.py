"""Train a causal language model with TRL's GRPO on tools: TRL samples, and calls our tools.

python -m venv bridge && . bridge/bin/activate
pip install "agentgym-suite[train-hf]" torch==2.13.0 trl==1.16.0
python examples/bridges/trl_environment.py FOLDER_OR_NAME_OF_A_MODEL
"""

import sys
from pathlib import Path
from tempfile import mkdtemp

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from agentgym.train.bridges.trl_tools import tool_environment

TASK = Path(__file__).parents[1] / "tiny-terminal/one-level"


def main(model: str, output: str, steps: int = 20, tokens: int = 256) -> tuple:
    """Return the trainer and the class of environments after some updates."""
    environment = tool_environment(str(TASK))
    prompt = [{"role": "user", "content": ""}]  # reset() appends the instruction
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(model),
        processing_class=AutoTokenizer.from_pretrained(model),
        environment_factory=environment,
        train_dataset=Dataset.from_list([{"prompt": prompt, "seed": seed} for seed in range(100)]),
        args=GRPOConfig(
            output_dir=output,
            max_steps=steps,
            per_device_train_batch_size=4,
            num_generations=4,  # episodes in a group
            max_completion_length=tokens,
            max_tool_calling_iterations=4,
            report_to="none",
            logging_steps=1,
            use_cpu=True,
            bf16=False,
        ),
    )
    trainer.train()
    print(f"episodes without a score: {len(environment.missing)}")
    return trainer, environment


if __name__ == "__main__":
    main(sys.argv[1], mkdtemp())
