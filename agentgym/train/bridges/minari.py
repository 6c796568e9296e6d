"""Recorded episodes as the fields of Minari 0.5's `EpisodeBuffer`.

Minari itself is not imported. Observations are texts and actions are tool calls as JSON text,
because a space of Minari's has a fixed shape. Pictures are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymnasium.spaces import Text

from agentgym.train.datasets.episodes import Criteria, Episodes, RecordedEpisode
from agentgym.train.datasets.memory import MemoryBudget


@dataclass(frozen=True)
class MinariEpisodes:
    """Episodes for ``minari.create_dataset_from_buffers``.

    Attributes:
        buffers: The fields of an `EpisodeBuffer` each.
        metadata: For each episode its run, id, task, agent and score.
        observation_space: Holds every observation.
        action_space: Holds every action.
        left_out: Why other episodes are left out; one line for each reason.
    """

    buffers: tuple[dict[str, Any], ...]
    metadata: tuple[dict[str, Any], ...]
    observation_space: Text
    action_space: Text
    left_out: tuple[str, ...]


def recorded_episodes(
    runs: Sequence[str | Path], criteria: Criteria | None = None
) -> MinariEpisodes:
    """Return the scored episodes of recorded runs. An episode without a score is missing data.

    Args:
        runs: Run folders.
        criteria: The episodes that are wanted; None: all that have a score, equal ones included.

    Raises:
        RecordError: A run is damaged or has no such episode, or the episodes take half of this
            machine's memory.
    """
    chosen = criteria or Criteria(repeats=True)
    with Episodes([Path(run) for run in runs], chosen) as episodes:
        buffers, metadata = list[dict[str, Any]](), list[dict[str, Any]]()
        budget = MemoryBudget()
        for episode in episodes:
            if not episode.steps:
                episodes.left_out.note("no steps", episode.name)
                continue
            budget.take_steps(episode)
            buffers.append(buffer_fields(episode))
            metadata.append(dict(episode.origin))
        if not buffers:
            raise episodes.nothing("episodes with steps")
        left_out = tuple(episodes.left_out.lines())
    seen = (text for buffer in buffers for text in buffer["observations"])
    done = (text for buffer in buffers for text in buffer["actions"])
    return MinariEpisodes(
        tuple(buffers), tuple(metadata), text_space(seen), text_space(done), left_out
    )


def buffer_fields(episode: RecordedEpisode) -> dict[str, Any]:
    """Return an episode with at least one step as the fields of an `EpisodeBuffer`.

    The last step is terminal and has the score, which is final even if a limit ended the episode.
    """
    first = episode.row.first
    texts = [first.text if first is not None else episode.row.instruction]
    texts += [step.observation.text for step in episode.steps]
    last = len(episode.steps) - 1
    return {
        "seed": episode.row.plan.seed,
        # HDF5 ends a text at NUL.
        "observations": [text.replace("\0", "\u2400") for text in texts],
        "actions": [json.dumps(step.action.to_json()) for step in episode.steps],
        "rewards": [episode.score if index == last else 0.0 for index in range(last + 1)],
        "terminations": [index == last for index in range(last + 1)],
        "truncations": [False] * (last + 1),
    }


def text_space(texts: Iterable[str]) -> Text:
    """Return the smallest space of texts that holds the given ones."""
    longest, characters = 1, set[str]()
    for text in texts:
        longest = max(longest, len(text))
        characters.update(text)
    return Text(longest, min_length=0, charset="".join(sorted(characters)) or " ")
