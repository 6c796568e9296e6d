"""The native form of a data set: token ids as arrays in one ``.npz`` file.

Format ``agentgym.tokens/1``; in ``agentgym.token-pairs/1``, each episode is a preference pair with
two sequences, the chosen one first; in ``agentgym.token-rollouts/1``, the tokens are those of a
policy beside an expert, and not all of them are to be imitated. N tokens in S sequences of E
episodes. A log-probability that is not known is NaN, which differs from 0.

- ``ids`` int32[N], ``loss_mask`` bool[N], ``logprobs`` float32[N]
- ``completions`` int32[N], the index of the step that a token belongs to, -1 for what was read
- ``lengths`` int64[S], tokens of each sequence; ``episodes`` int64[S], its episode
- ``about`` uint8[…], JSON in UTF-8: ``schema``, ``source`` (``recorded`` or ``encoded``),
  ``vocabulary`` (a digest, empty if it is not known) and ``episodes``, an object each
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from agentgym.env.seeds import is_seed
from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.regular_file import open_regular
from agentgym.train.foreign_files import refuse_bomb
from agentgym.train.samples import EpisodeTokens, TokenSequence

SEQUENCES: Final = "agentgym.tokens/1"
"""Schema of a supervised data set."""
PAIRS: Final = "agentgym.token-pairs/1"
"""Schema of preference pairs."""
ROLLOUTS: Final = "agentgym.token-rollouts/1"
"""Schema of semi-online rollouts."""

_MADE_BY: Final = {SEQUENCES: "sft", PAIRS: "pairs", ROLLOUTS: "semi-online"}
_UNREADABLE: Final = (
    *(OSError, ValueError, KeyError, EOFError, MemoryError, OverflowError),
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, RecursionError),
)
"""NumPy and zipfile raise these for a damaged file, and for one that is no archive of arrays."""

_ARRAYS: Final = {
    "ids": "<i4",
    "loss_mask": "|b1",
    "logprobs": "<f4",
    "completions": "<i4",
    "lengths": "<i8",
    "episodes": "<i8",
    "about": "|u1",
}


@dataclass(frozen=True)
class TokenEpisode:
    """An episode of a data set.

    Attributes:
        origin: Run, episode, task, seed, agent, score and digest.
        tokens: Its sequences. `TokenSequence.completions` are indices of steps.
    """

    origin: Mapping[str, Any]
    tokens: EpisodeTokens


@dataclass(frozen=True)
class TokenSet:
    """A data set with token ids.

    Attributes:
        episodes: The episodes or pairs in order.
        source: ``"recorded"`` if the ids were sampled, ``"encoded"`` if a template wrote them.
        vocabulary: Digest of the vocabulary; empty if it is not known.
        schema: `SEQUENCES`, `PAIRS` or `ROLLOUTS`.
    """

    episodes: tuple[TokenEpisode, ...]
    source: str
    vocabulary: str = ""
    schema: str = SEQUENCES


def write_tokens(file: BinaryIO, data: TokenSet) -> None:
    """Write a data set; equal data give equal bytes."""
    sequences = [one for episode in data.episodes for one in episode.tokens.sequences]
    owners = [n for n, each in enumerate(data.episodes) for _ in each.tokens.sequences]
    mask = _joined([one.mask for one in sequences], np.bool_)
    logprobs = _joined([one.logprobs for one in sequences], np.float32)
    about = {
        "schema": data.schema,
        "source": data.source,
        "vocabulary": data.vocabulary,
        "episodes": [
            {**each.origin, "breaks": each.tokens.breaks, "oldest": each.tokens.oldest}
            for each in data.episodes
        ],
    }
    np.savez(
        file,
        ids=_joined([one.ids for one in sequences], np.int32),
        loss_mask=mask,
        logprobs=np.where(mask, logprobs, np.float32(np.nan)),
        completions=_joined([one.completions for one in sequences], np.int32),
        lengths=np.array([len(one.ids) for one in sequences], np.int64),
        episodes=np.array(owners, np.int64),
        about=np.frombuffer(codec.dumps(about).encode(), np.uint8),
    )


def read_tokens(path: Path, schema: str = SEQUENCES) -> TokenSet:
    """Read a data set that `write_tokens` wrote, as samples for `agentgym.train`.

    Args:
        path: The file.
        schema: The expected schema.

    Raises:
        RecordError: The file is missing, is damaged, or has another format.
    """
    arrays = _read_arrays(path, f"make it with: agentgym dataset {_MADE_BY[schema]} --form native")
    try:
        return _token_set(arrays, schema)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RecordError(f"{path}: damaged data set: {error}") from error


def _read_arrays(path: Path, how: str) -> dict[str, Any]:
    try:
        with open_regular(path) as opened:
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it holds one array")
            with file:
                assert file.zip is not None, "it is open"
                refuse_bomb(file.zip)
                found = {name: file[name] for name in _ARRAYS}
    except FileNotFoundError:
        raise RecordError(f"{path}: no such file; {how}") from None
    except _UNREADABLE as error:
        raise RecordError(f"{path}: no data set with token ids ({error}); {how}") from error
    for name, dtype in _ARRAYS.items():
        if found[name].ndim != 1 or found[name].dtype.str != dtype:
            raise RecordError(
                f"{path}: {name}: expected a vector of {dtype}, got {found[name].dtype.str} of "
                f"shape {found[name].shape}"
            )
    return found


def _joined(parts: Sequence[Sequence[Any]], dtype: Any) -> Any:
    return np.concatenate([np.array(part, dtype) for part in parts] or [np.array([], dtype)])


def _token_set(arrays: Mapping[str, Any], schema: str) -> TokenSet:
    about = json.loads(arrays["about"].tobytes())
    if about["schema"] != schema:
        raise ValueError(
            f"expected the format {schema} of agentgym dataset {_MADE_BY[schema]}, "
            f"got {about['schema']!r:.60}"
        )
    ids, lengths, owners = (arrays[name] for name in ("ids", "lengths", "episodes"))
    per_token = ("loss_mask", "logprobs", "completions")
    if any(len(arrays[name]) != len(ids) for name in per_token) or len(lengths) != len(owners):
        raise ValueError("arrays have different lengths")
    # Lengths of 2^62 would add up to any sum, and each sequence would hold all tokens.
    fit = ((lengths >= 1) & (lengths <= len(ids))).all()
    if not fit or lengths.sum() != len(ids) or (ids < 0).any():
        raise ValueError("lengths of sequences or token ids are out of range")
    if ((arrays["completions"] >= 0) != arrays["loss_mask"]).any():
        raise ValueError("loss_mask and completions contradict each other")
    count = len(about["episodes"])
    if ((owners < 0) | (owners >= count)).any() or (np.diff(owners) < 0).any():
        raise ValueError("a sequence belongs to no episode")
    parts: list[list[TokenSequence]] = [[] for _ in range(count)]
    ends = np.cumsum(lengths)
    for end, length, owner in zip(ends.tolist(), lengths.tolist(), owners.tolist(), strict=True):
        part = slice(end - length, end)
        mask = arrays["loss_mask"][part]
        logprobs = np.where(mask, arrays["logprobs"][part], np.float32(0))
        columns = (ids[part], mask, logprobs, arrays["completions"][part])
        parts[owner].append(TokenSequence(*(column.tolist() for column in columns)))
    episodes = []
    for told, own in zip(about["episodes"], parts, strict=True):
        origin = {name: value for name, value in told.items() if name not in ("breaks", "oldest")}
        if not isinstance(origin["task"], str) or not is_seed(origin["seed"]):
            raise ValueError("an episode names no task or no seed")
        if not own or type(told["breaks"]) is not int or not _is_version(told["oldest"]):
            raise ValueError("an episode has no sequence, or odd counts")
        tokens = EpisodeTokens(tuple(own), told["breaks"], told["oldest"])
        episodes.append(TokenEpisode(origin, tokens))
    if schema == PAIRS and any(len(each.tokens.sequences) != 2 for each in episodes):
        raise ValueError("a pair does not have two sequences")
    return TokenSet(tuple(episodes), str(about["source"]), str(about["vocabulary"]), schema)


def _is_version(value: object) -> bool:
    return value is None or type(value) is int
