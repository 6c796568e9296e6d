"""An agent that samples its actions from a model that is being trained, token in and token out."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from agentgym.errors import AgentError, PolicyError, RecordError
from agentgym.protocols.training import DialogueTemplate, SampledTokens, TokenSampler
from agentgym.records import (
    Briefing,
    Decision,
    Generation,
    Observation,
    Step,
    TokenTrace,
    TokenUsage,
    ToolSpec,
)
from agentgym.rollout.policy import HeldAgent
from agentgym.threads import Threads
from agentgym.train.models.picture_layout import UnreadablePictureError
from agentgym.train.samples import EpisodeTokens, read_sequence
from agentgym.train.sampling.sampler import Dialogue

if TYPE_CHECKING:
    from agentgym.train.models.pictures import PictureTable, ShownPicture

_TEMPLATES: Final = Threads(4, "agentgym-template")


class TokenPolicy(HeldAgent):
    """Plays one episode; every decision holds its tokens, log-probabilities and policy version.

    A completion that makes no usable call ends the episode, which is judged as it stands. An
    episode that was begun before (a fork, or a resumed one) goes on with the recorded tokens.

    Args:
        sampler: Samples for all policies at once.
        template: Turns the episode into tokens.
        limit: Largest number of tokens of a completion.
        temperature: Of the draws; 0 takes the likeliest token.
        seed: Episodes of one seed and task differ by this seed.
        pictures: The pictures of the sampler's model; None: the policy sees text only.
        going: Each completion waits until it is set; None: it does not wait.
        suspend: Whether its episode keeps no computer while it waits.
    """

    def __init__(
        self,
        sampler: TokenSampler,
        template: DialogueTemplate,
        *,
        limit: int,
        temperature: float = 1.0,
        seed: int = 0,
        pictures: PictureTable | None = None,
        going: asyncio.Event | None = None,
        suspend: bool = False,
    ) -> None:
        self._pictures = pictures
        self._seen: list[ShownPicture] = []
        self._going, self._suspend = going, suspend
        self._sampler, self._template = sampler, template
        self._limit, self._temperature, self._seed = limit, temperature, seed
        self._dialogue = Dialogue()
        self._briefing: Briefing | None = None

    async def start(self, briefing: Briefing) -> None:
        """Take the instruction."""
        self._briefing = briefing

    async def act(
        self, observation: Observation, tools: Sequence[ToolSpec], history: Sequence[Step]
    ) -> Decision:
        """Sample a completion and return the call that it makes.

        Raises:
            PolicyError: It makes none, the context is full, or the model cannot read the picture.
            AgentError: The recorded steps have no tokens to go on from, or the template writes
                other placeholders than the picture has.
        """
        assert self._briefing is not None  # The engine starts an agent first.
        await self.ready()
        # The template and the tokenizer of a stranger's model may take seconds for a text.
        told = (self._briefing, observation, tools, history)
        try:
            new_ids = await _TEMPLATES.run(self._new_ids, *told)
        except UnreadablePictureError as error:
            raise PolicyError(f"the model cannot read {error}") from error
        except ValueError as error:
            raise AgentError(f"the template and the picture do not fit: {error}") from error
        before = [*self._dialogue.ids, *new_ids]
        done = await self._sampler.generate(
            self._dialogue,
            new_ids,
            limit=self._limit,
            stop_ids=self._template.stop_ids,
            temperature=self._temperature,
            seed=self._draws(len(history)),
        )
        generation = self._generation(before, done)
        usage = TokenUsage(len(before), len(done.ids))
        try:
            if done.finish_reason == "context":
                raise ValueError(f"the context of {len(self._dialogue.ids)} tokens is full")
            action = await _TEMPLATES.run(self._template.parse, done.ids, tools)
        except ValueError as error:
            failure = PolicyError(f"the completion makes no usable call: {error}")
            failure.usage, failure.generations = usage, (generation,)
            raise failure from None
        return Decision(action, usage=usage, generations=(generation,))

    @property
    def suspends(self) -> bool:
        """Whether it is held now, and its episode keeps no computer while it waits."""
        return self._suspend and self._going is not None and not self._going.is_set()

    async def ready(self) -> None:
        """Wait while it is held; that time does not count as the agent's."""
        if self._going is not None:
            await self._going.wait()

    async def close(self) -> None:
        """Free the dialogue's place in the model's cache."""
        self._sampler.end(self._dialogue)

    def _new_ids(
        self,
        briefing: Briefing,
        observation: Observation,
        tools: Sequence[ToolSpec],
        history: Sequence[Step],
    ) -> list[int]:
        """Return the tokens to read before the next completion, as the model reads them.

        Raises:
            UnreadablePictureError: The model cannot read the picture.
            ValueError: The template writes other placeholders than the picture has.
        """
        if not history:
            return self._shown(self._template.opening(briefing, observation, tools), observation)
        _, _, finish_reason = _tokens_of(history[-1])
        if not self._dialogue.ids:
            self._dialogue.ids = self._recorded(briefing, history)
        stopped = finish_reason == "stop"
        return self._shown(self._template.following(observation, stopped=stopped), observation)

    def _recorded(self, briefing: Briefing, history: Sequence[Step]) -> list[int]:
        """Return the tokens of recorded steps as the model reads them.

        Raises:
            AgentError: A step has no tokens, or other pictures than its tokens say.
        """
        if self._pictures is None:
            prompt, completion, _ = _tokens_of(history[-1])
            return [*prompt, *completion]
        ids, seen = list[int](), briefing.first
        for step in history:
            prompt, completion, _ = _tokens_of(step)
            try:
                ids += [*self._shown(prompt[len(ids) :], seen), *completion]
            except ValueError as error:
                told = f"the tokens before step {step.index} and its picture do not belong together"
                raise AgentError(f"{told}: {error}") from None
            seen = step.observation
        return ids

    def shown(self, tokens: EpisodeTokens) -> EpisodeTokens:
        """Return the tokens of its episode with the pictures of their placeholders.

        Args:
            tokens: The tokens as they are recorded.

        Raises:
            RecordError: They are not one sequence, or have other pictures.
        """
        if self._pictures is None or not tokens.sequences:
            return tokens
        try:
            (sequence,) = tokens.sequences
            sequence = replace(sequence, pictures=[each.image for each in self._seen])
            read_sequence(sequence, self._pictures)
        except ValueError as error:
            told = f"its tokens and its pictures do not belong together: {error}"
            raise RecordError(f"an episode of a policy that sees pictures: {told}") from None
        return replace(tokens, sequences=(sequence,))

    def _shown(self, new_ids: list[int], observation: Observation | None) -> list[int]:
        """Return new tokens as the model reads them.

        Raises:
            ValueError: They have other pictures than the observation.
        """
        if self._pictures is None:
            return new_ids
        image = None if observation is None else observation.image
        shown = self._pictures.shown(new_ids, [] if image is None else [image])
        self._seen += shown.pictures
        return shown.ids

    def _draws(self, step: int) -> int:
        assert self._briefing is not None
        told = f"{self._seed} {self._briefing.task} {self._briefing.seed} {step}"
        return int.from_bytes(hashlib.sha256(told.encode()).digest()[:8])

    def _generation(self, before: Sequence[int], done: SampledTokens) -> Generation:
        read = before if self._pictures is None else self._pictures.plain(before)
        tokens = TokenTrace(
            np.array(read, np.int32),
            np.array(done.ids, np.int32),
            np.array(done.logprobs, np.float32),
            np.ones(len(done.ids), np.bool_),
        )
        sampling = {"temperature": self._temperature, "max_tokens": self._limit}
        return Generation(tokens, done.finish_reason, str(done.version), sampling)


def _tokens_of(step: Step) -> tuple[list[int], list[int], str | None]:
    """Return the prompt and the completion of a recorded step, and why the completion ended.

    Raises:
        AgentError: It has no tokens.
    """
    for last in (step.decision.generations or ())[-1:]:
        prompt, completion = last.tokens.prompt_ids, last.tokens.completion_ids
        if prompt is not None and completion is not None:
            return prompt.tolist(), completion.tolist(), last.finish_reason
    raise AgentError(
        f"step {step.index} was recorded without token ids; "
        "a policy goes on only from steps that one like it took"
    )
