"""Compares two trainings on a sparse task, with and without rewards for milestones.

pip install -e '.[train]'
python examples/milestone_rewards.py [FOLDER] [ITERATIONS]

The task pays 1 for four right lines and 0 for anything else, which a policy that guesses hardly
ever gets. One training is paid for milestones too, the other one is not. All else is equal: seeds,
advantage and groups of a batch are those of examples/sparse-terminal.toml.
"""

import asyncio
import sys
from pathlib import Path
from tempfile import mkdtemp

from rich.console import Console

from agentgym.train.config import load_config
from agentgym.train.progress import TrainingProgress
from agentgym.train.trainer import open_trainer
from agentgym.train.training_run import TrainingRun

CONFIG = Path(__file__).with_name("sparse-terminal.toml")


async def train(folder: Path, iterations: int, rewards: dict[str, float]) -> list[dict]:
    """Return the figures of each iteration of a training with these step rewards."""
    config = load_config(CONFIG)
    algorithm = config.algorithm.model_copy(update={"step_rewards": rewards})
    config = config.model_copy(update={"algorithm": algorithm, "iterations": iterations})
    run = TrainingRun.create(folder, config)
    with TrainingProgress(Console(stderr=True), iterations) as progress:
        async with open_trainer(run, progress) as trainer:
            await trainer.train()
    run.close()
    return run.history


def rate(value: float | None) -> str:
    """Return a share as a percentage."""
    return "    –" if value is None else f"{value:5.0%}"


def main(folder: Path, iterations: int) -> None:
    """Train both and print their curves side by side."""
    told = load_config(CONFIG).algorithm.step_rewards
    paid = asyncio.run(train(folder / "with", iterations, told))
    unpaid = asyncio.run(train(folder / "without", iterations, {}))
    print("pass rate       with milestones      without")
    print("iteration       train  held out      train  held out")
    for one, other in zip(paid, unpaid, strict=True):
        if one.get("evaluation_pass_rate") is None:
            continue
        shown = [
            rate(each.get(n))
            for each in (one, other)
            for n in ("pass_rate", "evaluation_pass_rate")
        ]
        print(
            f"{one['iteration']:9d}       {shown[0]}     {shown[1]}      {shown[2]}     {shown[3]}"
        )


if __name__ == "__main__":
    given = sys.argv[1:]
    main(Path(given[0] if given else mkdtemp()), int(given[1]) if len(given) > 1 else 40)
