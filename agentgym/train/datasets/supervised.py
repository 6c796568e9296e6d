"""Supervised fine-tuning sets from recorded episodes, filtered by episode and by step.

A step that is left out stays in the context of the later ones and is not trained. A step that
several forks share is trained once, in the first of them that is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from agentgym.errors import ConfigError, RecordError
from agentgym.protocols.training import EncodingTemplate
from agentgym.records import Generation, Step
from agentgym.rollout.trust import NOTHING_NAMED, Named
from agentgym.train.datasets.conversations import Row, messages_row, trl_rows
from agentgym.train.datasets.dialogues import Interface, Interfaces, briefing_of, dialogue_of
from agentgym.train.datasets.encoding import (
    NoTokensError,
    encoded_generations,
    recorded_generations,
    vocabulary_digest,
)
from agentgym.train.datasets.episodes import Episodes, RecordedEpisode, owners
from agentgym.train.datasets.faults import DEFAULT_FAULTS, StepFault, trained_steps
from agentgym.train.datasets.memory import MemoryBudget
from agentgym.train.datasets.native import TokenEpisode, TokenSet, write_tokens
from agentgym.train.datasets.pictures import PictureFiles
from agentgym.train.datasets.writing import whole_binary, whole_lines
from agentgym.train.samples import EpisodeTokens, episode_tokens

Tell = Callable[[int, int], None]
"""Called with the number of episodes that were read, and with all of them."""


class Form(StrEnum):
    """The forms of a supervised data set."""

    MESSAGES = "messages"
    TRL = "trl"
    TRL_TOKENS = "trl-tokens"
    NATIVE = "native"

    @property
    def of_tokens(self) -> bool:
        """Whether it holds token ids."""
        return self in (Form.TRL_TOKENS, Form.NATIVE)


@dataclass(frozen=True)
class Rewritten:
    """Steps that replace the recorded ones.

    Attributes:
        steps: The steps of the data set.
        trained: For each step whether it is trained.
        told: Fields that tell what was changed.
    """

    steps: tuple[Step, ...]
    trained: list[bool]
    told: dict[str, object]


@dataclass(frozen=True)
class SupervisedOptions:
    """The options of a supervised data set.

    Attributes:
        form: Its form.
        dropped: Faults of steps that are not trained.
        graders: Step graders whose failed grades count; empty: all that graded.
        pictures: Whether pictures are written as files; else episodes with one are left out.
        limit: Largest number of examples; None: all.
        template: Encodes calls instead of the recorded ids, for the forms with token ids.
        named: Task folders that the user named.
        rewrite: Replaces the steps of an episode; None if it is left out. It notes the reason.
    """

    form: Form = Form.MESSAGES
    dropped: Collection[StepFault] = DEFAULT_FAULTS
    graders: Sequence[str] = ()
    pictures: bool = True
    limit: int | None = None
    template: EncodingTemplate | None = None
    named: Named = NOTHING_NAMED
    rewrite: Callable[[RecordedEpisode, Interface, list[bool]], Rewritten | None] | None = None


@dataclass
class Written:
    """The size of a data set that was written.

    Attributes:
        examples: Lines of a file of JSON lines; episodes of a native one.
        episodes: Number of episodes that it holds.
        steps: Number of steps that are trained.
        notes: Remarks for the user.
    """

    examples: int = 0
    episodes: int = 0
    steps: int = 0
    notes: list[str] = field(default_factory=list)


def write_supervised(
    episodes: Episodes, out: Path, options: SupervisedOptions, tell: Tell | None = None
) -> Written:
    """Write a supervised data set; the file appears once it is whole.

    Args:
        episodes: The chosen episodes; `Episodes.left_out` counts what is not written.
        out: The file.
        options: How it is made.
        tell: Shows progress.

    Raises:
        RecordError: Nothing is left to write, the record is damaged or lacks a grade, or the file
            cannot be written.
    """
    if options.template is not None and not options.form.of_tokens:
        raise ConfigError(f"form {options.form.value} holds no token ids, so it has no template")
    return _Supervised(episodes, out, options, tell).write()


@dataclass(frozen=True)
class _Example:
    episode: RecordedEpisode
    steps: tuple[Step, ...]
    trained: list[bool]
    origin: dict[str, object]
    interface: Interface
    new: set[tuple[int, int, int]]


class _Supervised:
    def __init__(
        self, episodes: Episodes, out: Path, options: SupervisedOptions, tell: Tell | None
    ) -> None:
        self._episodes, self._out, self._options, self._tell = episodes, out, options, tell
        self._interfaces = Interfaces(options.named)
        self._pictures = PictureFiles(out)
        self._known = set[tuple[int, int, int]]()
        self._done = Written()

    def write(self) -> Written:
        try:
            if self._options.form is Form.NATIVE:
                data = TokenSet(*self._token_set())
                with whole_binary(self._out) as file:
                    write_tokens(file, data)
            else:
                with whole_lines(self._out) as write:
                    for row in self._rows():
                        write(row)
                    if not self._done.examples:
                        raise self._nothing()
        except BaseException:
            self._pictures.discard()
            raise
        return self._done

    def _nothing(self) -> RecordError:
        error = self._episodes.nothing("examples to train on")
        lacking = any("token ids" in reason for reason in self._episodes.left_out.reasons)
        hint = (
            "\nrecord with a policy that gives token ids (docs/record.md), or name a training "
            "configuration whose template encodes the calls: --template CONFIG"
        )
        return RecordError(f"{error}{hint}") if lacking else error

    def _full(self) -> bool:
        return self._options.limit is not None and self._done.examples >= self._options.limit

    def _examples(self) -> Iterator[_Example]:
        """Yield the episodes with something to train on."""
        for number, episode in enumerate(self._episodes, 1):
            if self._tell is not None:
                self._tell(number, self._episodes.total)
            if (example := self._example(episode)) is not None:
                yield example
            if self._full():
                return

    def _example(self, episode: RecordedEpisode) -> _Example | None:
        options, left_out = self._options, self._episodes.left_out
        pictured = any(_has_picture(step) for step in episode.steps) or (
            episode.row.first is not None and episode.row.first.image is not None
        )
        if pictured and (options.form.of_tokens or not options.pictures):
            left_out.note("with pictures, which this form cannot hold", episode.name)
            return None
        interface = Interface()
        if not options.form.of_tokens or options.template or options.rewrite:
            interface = self._interfaces.find(episode)
            if interface.problem:
                reason = f"whose tools are unknown: {interface.problem}"
                left_out.note(reason, episode.name)
                return None
        keys = self._keys(episode)
        trained = [
            wanted and key not in self._known
            for wanted, key in zip(
                trained_steps(episode, options.dropped, options.graders), keys, strict=True
            )
        ]
        new = {key for key, wanted in zip(keys, trained, strict=True) if wanted}
        steps, origin = episode.steps, episode.origin
        if options.rewrite is not None:
            changed = options.rewrite(episode, interface, trained)
            if changed is None:
                return None
            steps, trained, origin = changed.steps, changed.trained, origin | changed.told
        if not any(trained):
            left_out.note("without a step to train on", episode.name)
            return None
        self._known |= new
        origin["steps"], origin["trained_steps"] = len(steps), sum(trained)
        return _Example(episode, steps, trained, origin, interface, new)

    def _keys(self, episode: RecordedEpisode) -> list[tuple[int, int, int]]:
        """Return a key for each step that is equal where forks share the step."""
        place = self._episodes.stores.index(episode.store)
        return [(place, owner, index) for index, owner in enumerate(owners(episode))]

    def _count(self, steps: int, examples: int = 1) -> None:
        self._done.examples += examples
        self._done.steps += steps

    # --- rows ------------------------------------------------------------------------------

    def _rows(self) -> Iterator[Row]:
        form = self._options.form
        for example in self._examples():
            before = self._done.examples
            if form is Form.TRL_TOKENS:
                yield from self._token_rows(example)
            else:
                yield from self._text_rows(example)
            self._done.episodes += self._done.examples > before

    def _text_rows(self, example: _Example) -> Iterator[Row]:
        briefing = briefing_of(example.episode, example.interface)
        first, tools = example.episode.row.first, example.interface.tools
        dialogue = dialogue_of(briefing, first, example.steps, self._pictures.part)
        if self._options.form is Form.MESSAGES:
            self._count(sum(example.trained))
            yield {**messages_row(dialogue, tools, example.trained), "metadata": example.origin}
            return
        for step, row in trl_rows(dialogue, tools, example.trained):
            if self._full():
                return
            self._count(1)
            yield {**row, "metadata": {**example.origin, "step": step}}

    def _token_rows(self, example: _Example) -> Iterator[Row]:
        tokens = self._tokens(example)
        for sequence in () if tokens is None else tokens.sequences:
            if self._full():
                return
            self._count(len({n for n in sequence.completions if n >= 0}))
            yield {
                "input_ids": sequence.ids,
                "assistant_masks": [int(counts) for counts in sequence.mask],
                "metadata": example.origin,
            }

    # --- token ids -------------------------------------------------------------------------

    def _token_set(self) -> tuple[tuple[TokenEpisode, ...], str, str]:
        found, budget = list[TokenEpisode](), MemoryBudget()
        for example in self._examples():
            if (tokens := self._tokens(example)) is not None:
                budget.take_tokens(tokens)
                found.append(TokenEpisode(example.origin, tokens))
                self._count(sum(example.trained))
                self._done.episodes += 1
        if not found:
            raise self._nothing()
        template = self._options.template
        if template is None:
            return tuple(found), "recorded", ""
        return tuple(found), "encoded", vocabulary_digest(template.vocabulary)

    def _tokens(self, example: _Example) -> EpisodeTokens | None:
        """Return the sequences of an episode with the masks of its trained steps."""
        episode, template = example.episode, self._options.template
        try:
            if template is None:
                made = recorded_generations(example.steps)
            else:
                briefing = briefing_of(episode, example.interface)
                told = (episode.row.first, example.steps, example.interface.tools)
                made = encoded_generations(template, briefing, *told)
        except NoTokensError as error:
            self._episodes.left_out.note(str(error), episode.name)
            self._known -= example.new  # Another fork may train what they share.
            return None
        drop_rejected = StepFault.REJECTED in self._options.dropped
        counted = [
            (index, _masked(one, example.trained[index] and not (drop_rejected and one.rejected)))
            for index, one in made
        ]
        tokens = episode_tokens(counted, unknown_logprobs=True)
        kept = tuple(sequence for sequence in tokens.sequences if any(sequence.mask))
        if not kept:
            self._episodes.left_out.note("without a token to train on", episode.name)
            self._known -= example.new
            return None
        return replace(tokens, sequences=kept)


def _has_picture(step: Step) -> bool:
    return step.observation.image is not None


def _masked(generation: Generation, counts: bool) -> Generation:
    """Return a generation of which no token is trained, unless it counts."""
    ids = generation.tokens.completion_ids
    if counts or ids is None:
        return generation
    tokens = replace(generation.tokens, loss_mask=np.zeros(len(ids), np.bool_))
    return replace(generation, tokens=tokens)
