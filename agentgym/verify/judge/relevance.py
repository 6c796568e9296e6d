"""The selection of exhibits if not all of them fit.

For screenshots, the judge first scores each one's relevance to the criterion, 0 to 10, in batches,
and then sees the best k (as published for the Universal Verifier). Texts that share the fewest
words with the criterion are shortened first, until all fit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agentgym.records import Exhibit
from agentgym.verify.judge.exhibits import cut, shortened

BATCH = 8
STUB_CHARS = 300
_NOTE_CHARS = 40
_WORD = re.compile(r"[^\W_]{3,}")


def best(screens: Sequence[Exhibit], relevance: Mapping[str, int], k: int) -> list[Exhibit]:
    """Return the k most relevant screenshots in the order of the episode.

    Of equally relevant ones the later are kept, since they are closer to the final state.
    """
    places = range(len(screens))
    ranked = sorted(places, key=lambda i: (relevance[screens[i].id], i), reverse=True)
    return [screens[i] for i in sorted(ranked[:k])]


def overlap(criterion: str, text: str) -> float:
    """Return the share of a criterion's words that a text has, 0..1."""
    wanted = set(_WORD.findall(criterion.lower()))
    found = set(_WORD.findall(text.lower()))
    return len(wanted & found) / len(wanted) if wanted else 0.0


def fit(criterion: str, exhibits: Sequence[Exhibit], chars: int) -> list[Exhibit]:
    """Return the exhibits with their texts shortened to about `chars` in all.

    If even minimal texts are too long in all, every text stays minimal, and none is dropped.
    """
    kept = list(exhibits)
    size = sum(len(exhibit.text) for exhibit in kept)
    order = sorted(range(len(kept)), key=lambda i: (overlap(criterion, kept[i].text), i))
    for place in order:
        if size <= chars:
            break
        text = kept[place].text
        # The last shortened text loses only as much as is needed.
        shorter = cut(text, max(STUB_CHARS, len(text) - (size - chars) - _NOTE_CHARS))
        if len(shorter) < len(text):
            size -= len(text) - len(shorter)
            kept[place] = shortened(kept[place], shorter)
    return kept
