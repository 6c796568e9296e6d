"""The tokens of recorded episodes: as they were sampled, or as a template writes them.

Recorded ids are never decoded and encoded again. An episode without ids (the oracle's, or that of a
server that returns none) is refused, unless the template of a training configuration is given: then
its calls are encoded, the log-probabilities are unknown, and the data set says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from agentgym.agents.batch import place
from agentgym.protocols.training import EncodingTemplate
from agentgym.records import Briefing, Generation, Observation, Step, TokenTrace, ToolSpec
from agentgym.train.datasets.faults import replies


class NoTokensError(ValueError):
    """The tokens of an episode are unknown; the message says which and why."""


def load_template(config: Path) -> EncodingTemplate:
    """Return the template of a training configuration.

    Raises:
        ConfigError: The configuration is missing or wrong.
        ModuleNotFoundError: The extra ``train``, or ``train-hf``, is not installed.
    """
    from agentgym.train.config import load_config
    from agentgym.train.policies import HuggingFacePolicy
    from agentgym.train.templates.words import WordTemplate

    policy = load_config(config).policy
    if isinstance(policy, HuggingFacePolicy):
        from agentgym.train.models.foreign_model import named
        from agentgym.train.models.loading import load_tokenizer
        from agentgym.train.templates.chat import ChatTemplate

        form = None if policy.tool_calls == "auto" else policy.tool_calls
        tokenizer = load_tokenizer(policy.path)
        with named(policy.path):
            return ChatTemplate(tokenizer, form=form)
    return WordTemplate(policy.calls(), policy.words)


def vocabulary_digest(vocabulary: Sequence[str]) -> str:
    """Return a digest that is equal for equal vocabularies: 16 hex digits."""
    return hashlib.sha256("\0".join(vocabulary).encode()).hexdigest()[:16]


def recorded_generations(steps: Sequence[Step]) -> list[tuple[int, Generation]]:
    """Return the completions of an episode, each with the index of its step.

    Raises:
        NoTokensError: The token ids of a step are unknown.
    """
    found = list[tuple[int, Generation]]()
    for step in steps:
        made = step.decision.generations
        if made is None or (not made and place(step) == 0):
            raise NoTokensError("without token ids (no completion is recorded)")
        for generation in made:
            tokens = generation.tokens
            if tokens.prompt_ids is None or tokens.completion_ids is None:
                raise NoTokensError("without token ids (its completions have none)")
            found.append((step.index, generation))
    return found


def encoded_generations(
    template: EncodingTemplate,
    briefing: Briefing,
    first: Observation | None,
    steps: Sequence[Step],
    tools: Sequence[ToolSpec],
) -> list[tuple[int, Generation]]:
    """Return completions that make the recorded calls, each with the index of its step.

    Args:
        template: Writes the prompts and the completions.
        briefing: The instruction.
        first: The observation after reset.
        steps: All steps.
        tools: Tools of the task.

    Raises:
        NoTokensError: A call has no completion, or a reply makes several.
    """
    found = list[tuple[int, Generation]]()
    prompt, seen = list[int](), first or Observation("")
    if any(end - begin > 1 for begin, end in replies(steps)):
        raise NoTokensError("that cannot be encoded (a reply makes several calls)")
    for step in steps:
        if not prompt:
            prompt = template.opening(briefing, seen, tools)
        else:
            prompt = [*prompt, *template.following(seen, stopped=True)]
        try:
            completion = template.encode(step.action)
        except ValueError as error:
            raise NoTokensError(f"that cannot be encoded ({error})") from None
        trace = TokenTrace(np.array(prompt, np.int32), np.array(completion, np.int32))
        found.append((step.index, Generation(trace, "stop")))
        prompt, seen = [*prompt, *completion], step.observation
    return found
