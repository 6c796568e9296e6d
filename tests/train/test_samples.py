"""Token sequences of episodes: sampled ids are kept as they were sampled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import RecordError
from agentgym.records import Generation, TokenTrace
from agentgym.train.samples import episode_tokens

ids = st.lists(st.integers(0, 99), max_size=6)


def generation(prompt, completion, *, version="3", mask=None, logprobs=True):
    tokens = TokenTrace(
        np.array(prompt, np.int32),
        np.array(completion, np.int32),
        np.arange(len(completion), dtype=np.float32) - 9 if logprobs else None,
        None if mask is None else np.array(mask, np.bool_),
    )
    return Generation(tokens, "stop", version, {})


@given(turns=st.lists(st.tuples(ids, ids.filter(bool)), min_size=1, max_size=6))
def test_prompts_that_go_on_become_one_sequence(turns):
    text, sampled, generations = [], [], []
    for added, completion in turns:
        text += added
        generations.append(generation(text, completion))
        sampled += [(len(text) + n, token) for n, token in enumerate(completion)]
        text = text + completion
    found = episode_tokens(enumerate(generations))
    assert (found.breaks, found.oldest) == (0, 3)
    (sequence,) = found.sequences
    assert sequence.ids == text
    assert [(n, sequence.ids[n]) for n, counts in enumerate(sequence.mask) if counts] == sampled
    assert len(sequence.logprobs) == len(sequence.completions) == len(text)
    for place, (number, logprob) in enumerate(
        zip(sequence.completions, sequence.logprobs, strict=True)
    ):
        assert (number >= 0) is sequence.mask[place]
        assert (logprob != 0) is sequence.mask[place]


@given(turns=st.lists(st.tuples(ids.filter(bool), ids.filter(bool)), min_size=1, max_size=6))
def test_every_sampled_token_is_trained_once_whatever_the_prompts_are(turns):
    found = episode_tokens((n, generation(*turn)) for n, turn in enumerate(turns))
    kept = [
        token
        for sequence in found.sequences
        for token, counts in zip(sequence.ids, sequence.mask, strict=True)
        if counts
    ]
    assert kept == [token for _, completion in turns for token in completion]
    assert found.breaks == len(found.sequences) - 1


def test_a_prompt_that_was_encoded_anew_is_a_break_and_not_an_edit():
    found = episode_tokens(
        enumerate([generation([1, 2], [3, 4]), generation([1, 2, 34, 5], [6], version="4")])
    )
    assert [sequence.ids for sequence in found.sequences] == [[1, 2, 3, 4], [1, 2, 34, 5, 6]]
    assert (found.breaks, found.oldest) == (1, 3)


def test_tokens_that_the_loss_leaves_out_stay_in_the_context():
    found = episode_tokens([(0, generation([1], [2, 3], mask=[True, False]))])
    assert found.sequences[0].ids == [1, 2, 3]
    assert found.sequences[0].mask == [False, True, False]
    assert found.sequences[0].completions == [-1, 0, -1]


def test_a_generation_without_log_probabilities_cannot_be_trained_on():
    with pytest.raises(RecordError, match="completion 7 has no token ids and log-probabilities"):
        episode_tokens([(7, generation([1], [2], logprobs=False))])


def test_an_episode_without_completions_has_no_sequence():
    found = episode_tokens([])
    assert (found.sequences, found.breaks, found.oldest) == ((), 0, None)


def test_a_version_of_thousands_of_digits_is_no_number():
    tokens = TokenTrace([1, 2], [3], [-0.1])
    made = [
        (n, Generation(tokens, policy_version=v)) for n, v in enumerate(("9" * 5_000, "7", "²"))
    ]
    assert episode_tokens(made).oldest == 7
