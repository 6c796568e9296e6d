"""Train a causal language model with TRL's GRPO on episodes, token ids in and out.

python -m venv bridge && . bridge/bin/activate
pip install "agentgym-suite[train-hf]" torch==2.13.0 trl==1.16.0
python examples/bridges/trl_rollouts.py FOLDER_OR_NAME_OF_A_MODEL
"""

import sys
from pathlib import Path
from tempfile import mkdtemp

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

from agentgym.train.bridges.trl import EpisodeRollouts, score_reward
from agentgym.train.templates.chat import ChatTemplate

TASK = Path(__file__).parents[1] / "tiny-terminal/one-level"


def main(model: str, output: str, steps: int = 20, tokens: int = 64) -> tuple:
    """Return the trainer and the rollouts after some updates."""
    tokenizer = AutoTokenizer.from_pretrained(model)
    rollouts = EpisodeRollouts([str(TASK)], ChatTemplate(tokenizer), completion_tokens=tokens)
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(model),
        processing_class=tokenizer,
        reward_funcs=score_reward,
        rollout_func=rollouts,
        train_dataset=Dataset.from_list(rollouts.rows(range(100))),
        args=GRPOConfig(
            output_dir=output,
            max_steps=steps,
            per_device_train_batch_size=4,
            num_generations=4,  # episodes in a group
            report_to="none",
            logging_steps=1,
            use_cpu=True,
            bf16=False,
        ),
    )
    try:
        trainer.train()
    finally:
        rollouts.close()
    print(f"episodes without a score: {len(rollouts.missing)}")
    return trainer, rollouts


if __name__ == "__main__":
    main(sys.argv[1], mkdtemp())
