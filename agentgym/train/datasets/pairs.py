"""Preference pairs: two replies to one prompt, of which the one led to better results.

Siblings of a tree begin in one state, so their results differ because of the replies after it. The
margin of a pair is the difference of the values of both branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from agentgym.errors import ConfigError, RecordError
from agentgym.protocols.training import EncodingTemplate
from agentgym.rollout.trust import NOTHING_NAMED, Named
from agentgym.train.datasets.branching import (
    Branch,
    ForkPoint,
    alike,
    find_forks,
    in_groups,
    in_trees,
)
from agentgym.train.datasets.conversations import Row, as_trl, tools_text
from agentgym.train.datasets.dialogues import Dialogue, Interfaces, briefing_of, dialogue_of
from agentgym.train.datasets.encoding import (
    NoTokensError,
    encoded_generations,
    recorded_generations,
    vocabulary_digest,
)
from agentgym.train.datasets.episodes import Episodes, RecordedEpisode
from agentgym.train.datasets.faults import replies
from agentgym.train.datasets.memory import MemoryBudget
from agentgym.train.datasets.native import PAIRS, TokenEpisode, TokenSet, write_tokens
from agentgym.train.datasets.pictures import PictureFiles
from agentgym.train.datasets.supervised import Form, Tell, Written
from agentgym.train.datasets.writing import whole_binary, whole_lines
from agentgym.train.samples import EpisodeTokens, TokenSequence, episode_tokens


class Span(StrEnum):
    """The part of an episode after a fork point that a pair holds."""

    REPLY = "reply"
    """The reply at the fork point."""
    REST = "rest"
    """All that follows: of the best episode of the one branch, and the worst of the other."""


@dataclass(frozen=True)
class PairOptions:
    """The options of a set of preference pairs.

    Attributes:
        form: Its form: messages, trl or native.
        groups: Whether attempts at one instance are compared, too, besides the forks of a tree.
        span: What a completion holds.
        per_fork: Largest number of pairs of one fork point.
        min_margin: Smallest difference of values; it is above 0 in any case.
        min_score: Smallest score of a chosen episode.
        similarity: Calls that are at least so similar are no pair, 0..1.
        pictures: Whether pictures are written as files; else episodes with one are left out.
        limit: Largest number of pairs; None: all.
        template: Encodes calls instead of the recorded ids, for the native form.
        named: Task folders that the user named.
    """

    form: Form = Form.TRL
    groups: bool = False
    span: Span = Span.REPLY
    per_fork: int = 4
    min_margin: float = 0.0
    min_score: float = 0.0
    similarity: float = 0.95
    pictures: bool = True
    limit: int | None = None
    template: EncodingTemplate | None = None
    named: Named = NOTHING_NAMED


@dataclass(frozen=True)
class Pair:
    """Two episodes that a fork point divides.

    Attributes:
        step: Number of steps that they share.
        chosen: The better episode.
        rejected: The worse one.
        margin: Difference of the values of both branches.
    """

    step: int
    chosen: RecordedEpisode
    rejected: RecordedEpisode
    margin: float


def write_pairs(
    episodes: Episodes, out: Path, options: PairOptions, tell: Tell | None = None
) -> Written:
    """Write preference pairs; the file appears once it is whole.

    Args:
        episodes: All scored episodes, those that failed included.
        out: The file.
        options: The options.
        tell: Shows progress.

    Raises:
        ConfigError: The form has no pairs.
        RecordError: No pair is left, the record is damaged, or the file cannot be written.
    """
    if options.form is Form.TRL_TOKENS:
        raise ConfigError("pairs have the forms messages, trl and native")
    if options.template is not None and options.form is not Form.NATIVE:
        raise ConfigError(f"form {options.form.value} holds no token ids, so it has no template")
    return _Pairs(episodes, out, options, tell).write()


def choose_pairs(fork: ForkPoint, options: PairOptions) -> tuple[list[Pair], int]:
    """Return the pairs of a fork point, the largest margin first, and how many were too alike."""
    candidates, pruned = list[tuple[float, Branch, Branch]](), 0
    for better in fork.branches:
        for worse in fork.branches:
            margin = better.value - worse.value
            if margin <= 0 or margin < options.min_margin:
                continue
            if alike(better.action, worse.action, options.similarity):
                pruned += 1
            else:
                candidates.append((margin, better, worse))
    candidates.sort(key=lambda each: -each[0])
    kept, taken = list[Pair](), list[tuple[Branch, Branch]]()
    for margin, better, worse in candidates:
        chosen = _best(better, options.min_score)
        if chosen is None or len(kept) == options.per_fork:
            continue
        if any(
            alike(better.action, b.action, options.similarity)
            and alike(worse.action, w.action, options.similarity)
            for b, w in taken
        ):
            pruned += 1
            continue
        rejected = min(worse.episodes, key=lambda episode: episode.score)
        kept.append(Pair(fork.step, chosen, rejected, margin))
        taken.append((better, worse))
    return kept, pruned


def _best(branch: Branch, min_score: float) -> RecordedEpisode | None:
    """Return the best episode of a branch that may be imitated."""
    safe = [
        episode
        for episode in branch.episodes
        if episode.row.verdict is not None
        and not episode.row.verdict.safety_violations
        and episode.score >= min_score
    ]
    return max(safe, key=lambda episode: episode.score, default=None)


class _Pairs:
    def __init__(
        self, episodes: Episodes, out: Path, options: PairOptions, tell: Tell | None
    ) -> None:
        self._episodes, self._out, self._options, self._tell = episodes, out, options, tell
        self._interfaces = Interfaces(options.named)
        self._pictures = PictureFiles(out)
        self._done = Written()
        self._used = set[str]()

    def write(self) -> Written:
        try:
            if self._options.form is Form.NATIVE:
                data = self._token_set()
                with whole_binary(self._out) as file:
                    write_tokens(file, data)
            else:
                with whole_lines(self._out) as write:
                    for pair in self._pairs():
                        if (row := self._row(pair)) is not None:
                            self._count(pair)
                            write(row)
                    if not self._done.examples:
                        raise self._nothing()
        except BaseException:
            self._pictures.discard()
            raise
        self._done.episodes = len(self._used)
        return self._done

    def _nothing(self) -> RecordError:
        error = self._episodes.nothing("preference pairs")
        if self._options.groups:
            return error
        return RecordError(
            f"{error}\npairs come from forks of one episode; add --groups to compare attempts at "
            "one task with one seed, too"
        )

    def _count(self, pair: Pair) -> None:
        self._done.examples += 1
        self._done.steps += 2
        self._used |= {pair.chosen.name, pair.rejected.name}

    def _pairs(self) -> Iterator[Pair]:
        """Yield the pairs of every fork point, up to the limit."""
        found, budget = list[RecordedEpisode](), MemoryBudget()
        for number, episode in enumerate(self._episodes, 1):
            if self._tell is not None:
                self._tell(number, self._episodes.total)
            budget.take_steps(episode)
            found.append(episode)
        sets = in_groups(found) if self._options.groups else in_trees(found)
        left_out, limit = self._episodes.left_out, self._options.limit
        for together in sets:
            for fork in find_forks(together):
                where = f"{together[0].name}, step {fork.step}"
                if len({branch.value for branch in fork.branches}) == 1:
                    left_out.note("fork points with equal results", where)
                pairs, pruned = choose_pairs(fork, self._options)
                if pruned:
                    left_out.note("pairs that are nearly the same", where, pruned)
                for pair in pairs:
                    if limit is not None and self._done.examples >= limit:
                        return
                    yield pair

    def _origin(self, pair: Pair) -> dict[str, object]:
        return {
            **{name: pair.chosen.origin[name] for name in ("task", "seed")},
            "step": pair.step,
            "margin": round(pair.margin, 6),
            "chosen": pair.chosen.origin,
            "rejected": pair.rejected.origin,
        }

    # --- rows ------------------------------------------------------------------------------

    def _row(self, pair: Pair) -> Row | None:
        """Return a pair as messages; None if it has no such form, with a note."""
        left_out, sides = self._episodes.left_out, list[tuple[Dialogue, int]]()
        interface = self._interfaces.find(pair.chosen)
        if interface.problem:
            left_out.note(f"pairs whose tools are unknown: {interface.problem}", pair.chosen.name)
            return None
        for episode in (pair.chosen, pair.rejected):
            seen = [episode.row.first, *(step.observation for step in episode.steps)]
            if not self._options.pictures and any(one and one.image is not None for one in seen):
                left_out.note("pairs with pictures", episode.name)
                return None
            briefing = briefing_of(episode, interface)
            told = (episode.row.first, episode.steps, self._pictures.part)
            dialogue = dialogue_of(briefing, *told)
            at = next(n for n, one in enumerate(dialogue.replies) if one.end > pair.step)
            sides.append((dialogue, at))
        (better, at), (worse, there) = sides
        if better.replies[at].first != worse.replies[there].first:
            left_out.note("pairs that begin in different replies", pair.chosen.name)
            return None
        prompt = better.before(at)
        chosen, rejected = (self._completion(*side) for side in sides)
        metadata = self._origin(pair)
        if self._options.form is Form.MESSAGES:
            told_tools = [tool.to_openai() for tool in interface.tools]
            return {
                "input": {
                    "messages": prompt,
                    "tools": told_tools,
                    "parallel_tool_calls": better.several,
                },
                "preferred_output": chosen,
                "non_preferred_output": rejected,
                "metadata": metadata,
            }
        parts = [as_trl(part) for part in (prompt, chosen, rejected)]
        images = [file for _, files in parts for file in files]
        return {
            **{
                name: part
                for name, (part, _) in zip(("prompt", "chosen", "rejected"), parts, strict=True)
            },
            "tools": tools_text(interface.tools),
            "margin": metadata["margin"],
            **({"images": images} if images else {}),
            "metadata": metadata,
        }

    def _completion(self, dialogue: Dialogue, at: int) -> list[Row]:
        if self._options.span is Span.REPLY:
            return [dialogue.replies[at].message]
        found = [m for reply in dialogue.replies[at:] for m in (reply.message, *reply.results)]
        return found[: len(found) - len(dialogue.replies[-1].results)]

    # --- token ids -------------------------------------------------------------------------

    def _token_set(self) -> TokenSet:
        found, template, budget = list[TokenEpisode](), self._options.template, MemoryBudget()
        for pair in self._pairs():
            try:
                both = tuple(self._sequence(each, pair) for each in (pair.chosen, pair.rejected))
                _check_prompts(*both)
            except NoTokensError as error:
                self._episodes.left_out.note(f"pairs {error}", pair.chosen.name)
                continue
            self._count(pair)
            tokens = EpisodeTokens(both, 0, None)
            budget.take_tokens(tokens)
            found.append(TokenEpisode(self._origin(pair), tokens))
        if not found:
            raise self._nothing()
        if template is None:
            return TokenSet(tuple(found), "recorded", "", PAIRS)
        return TokenSet(tuple(found), "encoded", vocabulary_digest(template.vocabulary), PAIRS)

    def _sequence(self, episode: RecordedEpisode, pair: Pair) -> TokenSequence:
        """Return the prompt and the completion of a side of a pair.

        Raises:
            NoTokensError: Its tokens are not known, or its prompts do not continue each other.
        """
        options = self._options
        if any(step.observation.image is not None for step in episode.steps):
            raise NoTokensError("with pictures, which this form cannot hold")
        if options.template is None:
            made = recorded_generations(episode.steps)
        else:
            interface = self._interfaces.find(episode)
            briefing = briefing_of(episode, interface)
            told = (episode.row.first, episode.steps, interface.tools)
            made = encoded_generations(options.template, briefing, *told)
        first, end = next(span for span in replies(episode.steps) if span[1] > pair.step)
        if options.span is Span.REST:
            end = len(episode.steps)
        own = [(index, one) for index, one in made if first <= index < end and not one.rejected]
        tokens = episode_tokens(own, unknown_logprobs=True)
        if len(tokens.sequences) != 1:
            raise NoTokensError("whose prompts do not continue each other")
        return tokens.sequences[0]


def _check_prompts(chosen: TokenSequence, rejected: TokenSequence) -> None:
    """Raise NoTokensError if the prompts of a pair differ."""
    prompts = [
        one.ids[: one.mask.index(True) if True in one.mask else 0] for one in (chosen, rejected)
    ]
    if not prompts[0] or prompts[0] != prompts[1]:
        raise NoTokensError("whose prompts have different tokens")
