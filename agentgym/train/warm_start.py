"""The stages before the first episode of a training run: supervised data, then preferences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentgym.errors import ConfigError
from agentgym.protocols.training import CausalModel
from agentgym.train.config import TrainConfig
from agentgym.train.datasets.native import TokenEpisode
from agentgym.train.offline import Bounds, fit_preferences, fit_supervised, load_data


@dataclass(frozen=True)
class WarmStart:
    """The data sets of a training run.

    Attributes:
        config: The configuration of the run.
        bounds: The limits on sequences.
        episodes: Recorded episodes; empty without supervised data.
        pairs: Preference pairs; empty without them.
        held_out: Number of episodes and pairs that are left out, because their instance measures
            the policy.
    """

    config: TrainConfig
    bounds: Bounds
    episodes: Sequence[TokenEpisode]
    pairs: Sequence[TokenEpisode]
    held_out: int

    def learn(self, model: CausalModel) -> dict[str, float | int | None]:
        """Change the weights of a policy; returns the figures of both stages."""
        config, figures = self.config, dict[str, float | int | None]()
        figures["warm_held_out"] = self.held_out
        if config.supervised is not None:
            told = (config.supervised, self.bounds)
            figures |= fit_supervised(model, self.episodes, *told, seed=config.seed)
        if config.preference is not None:
            chosen = (config.preference, self.bounds)
            figures |= fit_preferences(model, self.pairs, *chosen, seed=config.seed)
        return figures


def open_warm_start(
    config: TrainConfig,
    vocabulary: Sequence[str] | None,
    tokens: int,
    is_held_out: Callable[[str, int], bool],
) -> WarmStart | None:
    """Read the data sets of a training run; None if the configuration names none.

    Args:
        config: The configuration of the run.
        vocabulary: The text of each token of the policy, None if it is not known.
        tokens: Number of tokens that the policy knows.
        is_held_out: Whether a task and a seed give an instance that measures the policy.

    Raises:
        RecordError: A file is missing or damaged.
        ConfigError: A file was made for another vocabulary, or all of it is held out.
    """
    if config.supervised is None and config.preference is None:
        return None
    algorithm = config.algorithm
    bounds = Bounds(
        *(config.policy.context, algorithm.row_tokens, algorithm.rows),
        config.rollouts.temperature,
        algorithm.gradient_norm,
    )
    kept, left_out = list[list[TokenEpisode]](), 0
    for stage, pairs in ((config.supervised, False), (config.preference, True)):
        if stage is None:
            kept.append([])
            continue
        data = load_data(stage.data, vocabulary, bounds, tokens=tokens, pairs=pairs).episodes
        kept.append(
            [each for each in data if not is_held_out(each.origin["task"], each.origin["seed"])]
        )
        left_out += len(data) - len(kept[-1])
        if not kept[-1]:
            raise ConfigError(
                f"{stage.data}: every instance in it is one of the evaluation's; record other "
                "seeds, or name other evaluation.seeds"
            )
    return WarmStart(config, bounds, kept[0], kept[1], left_out)
