"""Episodes for `GRPOTrainer` of TRL 1.16: its ``rollout_func`` and its ``environment_factory``.

Written against the published interface; TRL itself is not imported. A rollout function returns
token ids and log-probabilities. An environment factory offers tools as methods, and TRL encodes
their results.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.env.portal import portal
from agentgym.errors import ConfigError
from agentgym.gymnasium.registration import shared_provider
from agentgym.protocols.training import DialogueTemplate, TokenSampler
from agentgym.train.bridges.one_sequence import one_sequence
from agentgym.train.policy import TokenPolicy
from agentgym.train.rollouts import Assignment, Rollouts, Trajectory
from agentgym.train.samples import EpisodeTokens

SCORE: Final = "score"
"""The field in which reward functions find the scores."""


class EpisodeRollouts:
    """A ``rollout_func``: plays an episode for each prompt, with the weights being trained.

    A prompt is ``"TASK SEED"``; equal prompts of a call are a group. The tokens of an episode are
    those that the policy read and sampled, unchanged. An episode without a score has the score
    None, and no token of it counts.

    Args:
        tasks: Task ids, or paths of task folders.
        template: Turns episodes into tokens, such as a `ChatTemplate` of the tokenizer.
        completion_tokens: Largest number of tokens of one completion.
        context: Largest number of tokens of an episode.
        jobs: Largest number of episodes at a time.
        sandbox: Name of the sandbox provider.
        max_steps: Steps before an episode is cut off; None takes each task's own number.
        make_sampler: Given the trainer, returns what samples in a call, such as a `ServerSampler`
            of a server that holds the trainer's weights. None: the trainer's model samples, in
            this process.

    Attributes:
        missing: Why episodes that were played have no score.
    """

    def __init__(
        self,
        tasks: Sequence[str],
        template: DialogueTemplate,
        *,
        completion_tokens: int = 256,
        context: int = 4096,
        jobs: int = 32,
        sandbox: str = "bubblewrap",
        max_steps: int | None = None,
        make_sampler: Callable[[Any], TokenSampler] | None = None,
    ) -> None:
        provider = shared_provider(portal(), sandbox)
        made = [Environment(load_built(task), provider, max_steps=max_steps) for task in tasks]
        self._environments = {each.task.id: each for each in made}
        self._template, self._limit, self._context = template, completion_tokens, context
        self._jobs, self._played, self._make_sampler = jobs, 0, make_sampler
        self.missing: list[str] = []

    def rows(self, seeds: Sequence[int]) -> list[dict[str, str]]:
        """Return the rows of a data set: each task with each seed."""
        return [{"prompt": f"{task} {seed}"} for task in self._environments for seed in seeds]

    def __call__(self, prompts: Sequence[str], trainer: Any) -> dict[str, list[Any]]:
        """Play an episode for each prompt.

        Args:
            prompts: ``"TASK SEED"`` each.
            trainer: The `GRPOTrainer`.

        Returns:
            ``prompt_ids`` (up to the first sampled token), ``completion_ids`` (the rest),
            ``logprobs`` and ``env_mask`` (1 for sampled tokens) of equal length, and ``score``.

        Raises:
            ConfigError: A prompt names no task of these.
        """
        wanted = [self._read(prompt) for prompt in prompts]
        temperature = float(trainer.args.temperature)
        process = int(trainer.accelerator.process_index)
        if self._make_sampler is not None:
            playing = self._play(wanted, self._make_sampler(trainer), temperature, process)
            found = portal().run(playing)
        else:
            inner = trainer.accelerator.unwrap_model(trainer.model)
            training = inner.training
            try:
                playing = self._play_here(wanted, inner, temperature, process)
                found = portal().run(playing)
            finally:
                inner.train(training)
        rows = [self._row(found[each].pop()) for each in wanted]
        return {key: [row[key] for row in rows] for key in rows[0]} if rows else {}

    def close(self) -> None:
        """Close the environments."""
        for environment in self._environments.values():
            portal().run(environment.close())

    def _read(self, prompt: object) -> tuple[str, int]:
        task, _, seed = prompt.rpartition(" ") if isinstance(prompt, str) else ("", "", "")
        if task not in self._environments or not seed.isdecimal():
            raise ConfigError(
                f"expected a prompt such as '{next(iter(self._environments), 'TASK')} 7', "
                f"got {prompt!r}; make the data set of rows()"
            )
        return task, int(seed)

    async def _play_here(
        self,
        wanted: Sequence[tuple[str, int]],
        inner: Any,
        temperature: float,
        process: int,
    ) -> dict[tuple[str, int], list[Trajectory | None]]:
        """Sample from a model of transformers in this process."""
        from agentgym.train.models.huggingface import HuggingFaceModel
        from agentgym.train.sampling.sampler import Sampler

        sampler = Sampler(HuggingFaceModel(inner, context=self._context), rows=self._jobs)
        try:
            return await self._play(wanted, sampler, temperature, process)
        finally:
            await sampler.close()

    async def _play(
        self,
        wanted: Sequence[tuple[str, int]],
        sampler: TokenSampler,
        temperature: float,
        process: int,
    ) -> dict[tuple[str, int], list[Trajectory | None]]:
        """Return as many episodes as are wanted of each task and seed; None for a missing one."""

        def policy(assignment: Assignment, name: str) -> TokenPolicy:
            told = f"{process} {assignment.number} {name}"
            seed = int.from_bytes(hashlib.sha256(told.encode()).digest()[:8])
            return TokenPolicy(
                *(sampler, self._template),
                limit=self._limit,
                temperature=temperature,
                seed=seed,
            )

        rollouts = Rollouts(self._environments, policy, jobs=self._jobs)
        counted = Counter(wanted)
        groups = []
        for (task, seed), size in counted.items():
            self._played += 1
            groups.append(rollouts.group(Assignment(self._played, task, seed, size)))
        played = await asyncio.gather(*groups)
        self.missing += [why for group in played for why in group.missing]
        return {
            each: [*group.trajectories, *[None] * len(group.missing)]
            for each, group in zip(counted, played, strict=True)
        }

    def _row(self, played: Trajectory | None) -> dict[str, Any]:
        """Return the fields of an episode. TRL takes no completion without tokens."""
        stop = self._template.stop_ids[0]
        nothing: dict[str, Any] = {
            "prompt_ids": [stop],
            "completion_ids": [stop],
            "logprobs": [0.0],
            "env_mask": [0],
            SCORE: None,
        }
        if played is None:
            return nothing
        return {**nothing, **token_fields(played.tokens), SCORE: played.reward}


def token_fields(tokens: EpisodeTokens) -> dict[str, list[Any]]:
    """Return the tokens of an episode as TRL names them; empty if the policy sampled none.

    Raises:
        RecordError: They are not one sequence, because a prompt did not continue the one before.
    """
    found = one_sequence(tokens, "TRL")
    if found is None:
        return {}
    return {
        "prompt_ids": found.prompt_ids,
        "completion_ids": found.response_ids,
        "logprobs": found.logprobs,
        "env_mask": found.mask,
    }


def score_reward(
    prompts: Sequence[Any], completions: Sequence[Any], **fields: Any
) -> list[float | None]:
    """Return the score of each episode; None for one without a score, which TRL leaves out.

    Raises:
        ConfigError: The completions are not those of `EpisodeRollouts`.
    """
    found: Mapping[str, Any] = fields
    if SCORE not in found:
        raise ConfigError("there are no scores; give GRPOTrainer rollout_func=EpisodeRollouts(…)")
    return list(found[SCORE])
