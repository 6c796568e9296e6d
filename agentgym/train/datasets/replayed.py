"""Writes semi-online rollouts: each reply of the policy with its reward and its return."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentgym.errors import AgentError, ConfigError
from agentgym.rollout.trust import NOTHING_NAMED, Named
from agentgym.train.datasets.conversations import Row, as_trl, tools_text
from agentgym.train.datasets.dialogues import Interface, Interfaces, briefing_of, dialogue_of
from agentgym.train.datasets.episodes import Episodes, RecordedEpisode
from agentgym.train.datasets.memory import MemoryBudget
from agentgym.train.datasets.native import ROLLOUTS, TokenEpisode, TokenSet, write_tokens
from agentgym.train.datasets.pictures import PictureFiles
from agentgym.train.datasets.semi_online import SemiOnlineReplay, SemiOnlineRollout
from agentgym.train.datasets.supervised import Form, Tell, Written
from agentgym.train.datasets.writing import whole_binary, whole_lines
from agentgym.train.samples import episode_tokens


@dataclass(frozen=True)
class ReplayOptions:
    """The options of a semi-online data set.

    Attributes:
        form: Its form: trl or native.
        rollouts: Rollouts of each expert episode.
        jobs: Largest number of rollouts at a time.
        seed: Seed of all rollouts.
        limit: Largest number of expert episodes; None: all.
        named: Task folders that the user named.
    """

    form: Form = Form.TRL
    rollouts: int = 1
    jobs: int = 1
    seed: int = 0
    limit: int | None = None
    named: Named = NOTHING_NAMED


async def write_semi_online(
    episodes: Episodes,
    out: Path,
    replay: SemiOnlineReplay,
    options: ReplayOptions,
    tell: Tell | None = None,
) -> Written:
    """Let a policy act along expert episodes and write its rollouts.

    A rollout whose policy cannot be asked is missing data: it is left out and counted.

    Args:
        episodes: The expert episodes.
        out: The file, which appears once it is whole.
        replay: The policy and the rules.
        options: The options.
        tell: Shows progress.

    Raises:
        ConfigError: There is no such form of it.
        RecordError: No rollout is left, the record is damaged, or the file cannot be written.
    """
    if options.form not in (Form.TRL, Form.NATIVE):
        raise ConfigError("semi-online rollouts have the forms trl and native")
    pictures, done = PictureFiles(out), Written()
    try:
        if options.form is Form.NATIVE:
            found, budget = list[TokenEpisode](), MemoryBudget()
            async for rollout, _ in _played(episodes, replay, options, tell):
                if (one := _token_episode(rollout, episodes)) is not None:
                    budget.take_tokens(one.tokens)
                    found.append(one)
                    _count(done, rollout)
                    done.examples += 1
            if not found:
                raise episodes.nothing("semi-online rollouts")
            with whole_binary(out) as file:
                write_tokens(file, TokenSet(tuple(found), "recorded", schema=ROLLOUTS))
        else:
            with whole_lines(out) as write:
                async for rollout, interface in _played(episodes, replay, options, tell):
                    _count(done, rollout)
                    for row in _rows(rollout, interface, pictures, episodes):
                        write(row)
                        done.examples += 1
                if not done.examples:
                    raise episodes.nothing("semi-online rollouts")
    except BaseException:
        pictures.discard()
        raise
    return done


async def _played(
    episodes: Episodes, replay: SemiOnlineReplay, options: ReplayOptions, tell: Tell | None
) -> AsyncIterator[tuple[SemiOnlineRollout, Interface]]:
    """Yield the rollouts in their order; up to `jobs` are played at a time."""
    interfaces, waiting = Interfaces(options.named), list[_Planned]()
    for number, expert in enumerate(episodes, 1):
        if tell is not None:
            tell(number, episodes.total)
        interface = interfaces.find(expert)
        if interface.problem:
            reason = f"whose tools are unknown: {interface.problem}"
            episodes.left_out.note(reason, expert.name)
            continue
        waiting += [_Planned(expert, interface, n) for n in range(options.rollouts)]
        while len(waiting) >= options.jobs:
            now, waiting = waiting[: options.jobs], waiting[options.jobs :]
            for each in await _gathered(now, episodes, replay, options):
                yield each
        if number == options.limit:
            break
    for each in await _gathered(waiting, episodes, replay, options):
        yield each


@dataclass(frozen=True)
class _Planned:
    expert: RecordedEpisode
    interface: Interface
    number: int


async def _gathered(
    planned: Sequence[_Planned],
    episodes: Episodes,
    replay: SemiOnlineReplay,
    options: ReplayOptions,
) -> list[tuple[SemiOnlineRollout, Interface]]:
    async def played(one: _Planned) -> SemiOnlineRollout | str:
        try:
            return await replay.rollout(one.expert, one.interface, one.number, options.seed)
        except AgentError as error:
            return str(error)

    found = list[tuple[SemiOnlineRollout, Interface]]()
    results = await asyncio.gather(*map(played, planned))
    for one, result in zip(planned, results, strict=True):
        if isinstance(result, str):
            where = f"{one.expert.name}, rollout {one.number}: {result}"
            episodes.left_out.note("rollouts whose policy could not be asked", where)
        else:
            found.append((result, one.interface))
    return found


def _count(done: Written, rollout: SemiOnlineRollout) -> None:
    done.episodes += 1
    done.steps += len(rollout.steps)


def _origin(rollout: SemiOnlineRollout) -> Row:
    expert = {name: value for name, value in rollout.expert.origin.items() if name != "score"}
    return {
        **expert,
        "rollout": rollout.number,
        "episode_reward": round(rollout.reward, 6),
        "finished": rollout.finished,
    }


def _rows(
    rollout: SemiOnlineRollout, interface: Interface, pictures: PictureFiles, episodes: Episodes
) -> Iterator[Row]:
    """Yield a line for each reply: all that the policy had read, its reply and its reward."""
    expert, tools = rollout.expert, tools_text(interface.tools)
    briefing = briefing_of(expert, interface)
    for number, step in enumerate(rollout.steps):
        if step.decision is None:
            where = f"{expert.name}, step {number}"
            episodes.left_out.note("replies without a usable call, whose text is unknown", where)
            continue
        # The reply stands for the step itself; what followed it is not part of the line.
        history = rollout.history[:number]
        last = expert.steps[number]
        steps = [*history, type(last)(number, step.decision, last.observation)]
        dialogue = dialogue_of(briefing, expert.row.first, steps, pictures.part)
        prompt, shown = as_trl(dialogue.before(len(dialogue.replies) - 1))
        completion, _ = as_trl([dialogue.replies[-1].message])
        yield {
            "prompt": prompt,
            "completion": completion,
            "tools": tools,
            "reward": step.reward,
            "return": round(step.ret, 6),
            **({"images": shown} if shown else {}),
            "metadata": {
                **_origin(rollout),
                "step": number,
                "matched": step.matched,
                "patched": step.patched,
                "expert": step.expert.to_json(),
            },
        }


def _token_episode(rollout: SemiOnlineRollout, episodes: Episodes) -> TokenEpisode | None:
    """Return what the policy sampled; None if its token ids are unknown, with a note."""
    made = [(n, one) for n, step in enumerate(rollout.steps) for one in step.generations or ()]
    known = {n for n, one in made if one.tokens.completion_ids is not None}
    if known != set(range(len(rollout.steps))) or any(
        one.tokens.prompt_ids is None or one.tokens.completion_ids is None for _, one in made
    ):
        episodes.left_out.note("rollouts without token ids", rollout.expert.name)
        return None
    told = {
        "rewards": [step.reward for step in rollout.steps],
        "returns": [round(step.ret, 6) for step in rollout.steps],
        "matched": [step.matched for step in rollout.steps],
        "patched": [step.patched for step in rollout.steps],
    }
    return TokenEpisode(_origin(rollout) | told, episode_tokens(made, unknown_logprobs=True))
