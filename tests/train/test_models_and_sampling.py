"""The tiny transformer, packing, and sampling for many dialogues at a time."""

from __future__ import annotations

import asyncio
import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.errors import AgentError
from agentgym.train.models.tiny import TinyShape, TinyTransformer
from agentgym.train.packing import PADDING, pack
from agentgym.train.sampling.draws import draw
from agentgym.train.sampling.sampler import Dialogue, Sampler

STOP = 1


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    model = TinyTransformer(TinyShape(13, width=16, heads=2, context=24))
    with torch.no_grad():  # Larger logits, so that another token is soon another text.
        model.embedding.weight.mul_(40)
    return model


def alone(model, ids):
    """Return the logits after each token of one sequence."""
    row = torch.tensor([ids])
    return model(row, torch.arange(len(ids))[None], torch.zeros_like(row))[0]


# --- the model and packed rows --------------------------------------------------------------------

sequences = st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=10), min_size=1, max_size=8)


@settings(max_examples=25)
@given(drawn=sequences)
def test_a_packed_sequence_does_not_see_its_neighbours(model, drawn):
    packed = pack(drawn, 12)
    logits = packed.unpacked(model(packed.ids, packed.positions, packed.segments))
    wanted = torch.cat([alone(model, ids) for ids in drawn])
    assert torch.allclose(logits, wanted, atol=1e-4)


@given(drawn=sequences)
def test_packing_keeps_every_token_and_wastes_little(drawn):
    packed = pack(drawn, 12)
    assert packed.unpacked(packed.ids).tolist() == [token for ids in drawn for token in ids]
    assert int((packed.segments != PADDING).sum()) == sum(map(len, drawn))
    fewest = -(-sum(map(len, drawn)) // 12)
    assert len(packed.ids) <= 2 * fewest


@pytest.mark.parametrize("bad", [[], [[]], [[1] * 13]])
def test_what_cannot_be_packed_is_refused(bad):
    with pytest.raises(
        ValueError, match=r"no sequence|sequence 0 has \d+ tokens; expected 1 to 12"
    ):
        pack(bad, 12)


@settings(max_examples=25)
@given(data=st.data())
def test_reading_piece_by_piece_gives_the_logits_of_the_whole(model, data):
    cache = model.start_cache(3)
    texts = [data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=24)) for _ in range(3)]
    read = [0, 0, 0]
    while any(done < len(text) for done, text in zip(read, texts, strict=True)):
        rows = [row for row in range(3) if read[row] < len(texts[row])]
        rows = data.draw(st.lists(st.sampled_from(rows), min_size=1, unique=True))
        ends = [data.draw(st.integers(read[row] + 1, len(texts[row]))) for row in rows]
        parts = [texts[row][read[row] : end] for row, end in zip(rows, ends, strict=True)]
        logits = model.extend(parts, rows, cache)
        for number, (row, end) in enumerate(zip(rows, ends, strict=True)):
            read[row] = end
            assert torch.allclose(logits[number], alone(model, texts[row][:end])[-1], atol=1e-4)


def test_the_context_is_a_bound(model):
    cache = model.start_cache(1)
    with pytest.raises(ValueError, match="25 tokens after 0 with a context of 24"):
        model.extend([[1] * 25], [0], cache)
    with pytest.raises(ValueError, match="width: expected a multiple of 8"):
        TinyShape(10, width=20, heads=4)


# --- drawing --------------------------------------------------------------------------------------


def test_tokens_are_drawn_as_often_as_their_probability_says():
    logits = torch.tensor([[0.0, 1.0, -torch.inf, 2.0]])
    for temperature in (1.0, 2.0):
        generators = [random.Random(n) for n in range(4000)]
        drawn, logprobs = draw(logits.expand(4000, -1), generators, [temperature] * 4000)
        wanted = (logits[0] / temperature).log_softmax(-1)
        assert logprobs == pytest.approx(wanted[drawn].tolist(), rel=1e-5)
        counts = [drawn.count(token) for token in range(4)]
        shares = [count / 4000 for count in counts]
        assert shares == pytest.approx(wanted.exp().tolist(), abs=0.03)
        assert counts[2] == 0


def test_without_temperature_the_likeliest_is_taken():
    assert draw(torch.tensor([[0.0, 3.0, 1.0]]), [random.Random(0)], [0.0]) == ([1], [0.0])


# --- the sampler ----------------------------------------------------------------------------------


def slowly(model, ids, limit, seed, temperature=1.0):
    """Sample one token after the other, without a cache."""
    generator, sampled, logprobs = random.Random(seed), [], []
    while len(sampled) < limit and len(ids) + len(sampled) < model.context:
        logits = alone(model, [*ids, *sampled])[-1:].detach()
        (token,), (logprob,) = draw(logits, [generator], [temperature])
        sampled.append(token)
        logprobs.append(logprob)
        if token == STOP:
            break
    return sampled, logprobs


async def talk(sampler, prompts, seed, limit=5):
    """Play a dialogue of several turns; returns its tokens and all log-probabilities."""
    dialogue, logprobs = Dialogue(), []
    for turn, prompt in enumerate(prompts):
        done = await sampler.generate(
            dialogue, prompt, limit=limit, stop_ids=[STOP], seed=seed + turn
        )
        logprobs += done.logprobs
        await asyncio.sleep(0)
    sampler.end(dialogue)
    return dialogue.ids, logprobs


@pytest.mark.parametrize("rows", [2, 8])
async def test_many_dialogues_are_sampled_as_if_each_were_alone(model, rows):
    sampler = Sampler(model, rows=rows)
    plays = [[[2 + n % 5, 3], [n % 13], [4]] for n in range(8)]
    found = await asyncio.gather(*(talk(sampler, play, 100 * n) for n, play in enumerate(plays)))
    await sampler.close()
    for n, (ids, logprobs) in enumerate(found):
        wanted, told = [], []
        for turn, prompt in enumerate(plays[n]):
            wanted += prompt
            sampled, logs = slowly(model, wanted, 5, 100 * n + turn)
            wanted += sampled
            told += logs
        assert ids == wanted
        assert logprobs == pytest.approx(told, abs=1e-3)


async def test_alone_or_in_company_every_bit_is_the_same_if_asked_for(model):
    async def first(company):
        sampler = Sampler(model, rows=8, batch_invariant=True)
        plays = [[[5, 6, 7], [8, 9]], *[[[n], [n, n]] for n in range(company)]]
        found = await asyncio.gather(*(talk(sampler, play, 40 + n) for n, play in enumerate(plays)))
        await sampler.close()
        return found[0]

    assert await first(0) == await first(6)


async def test_a_full_context_ends_a_completion(model):
    sampler, dialogue = Sampler(model), Dialogue()
    done = await sampler.generate(dialogue, [3] * 20, limit=50, stop_ids=[], seed=1)
    assert (len(done.ids), done.finish_reason) == (4, "context")
    done = await sampler.generate(dialogue, [3], limit=50, stop_ids=[])
    assert (done.ids, done.finish_reason) == ((), "context")
    await sampler.close()


async def test_weights_change_between_completions_only_and_dialogues_are_read_again(model):
    sampler, dialogue = Sampler(model, rows=2), Dialogue()
    before = await sampler.generate(dialogue, [3, 4], limit=6, stop_ids=[STOP], seed=1)
    running = asyncio.create_task(
        sampler.generate(Dialogue(), [3, 4], limit=15, stop_ids=[], seed=1)
    )
    await asyncio.sleep(0)
    old = {name: value.clone() for name, value in model.state_dict().items()}
    try:
        async with sampler.updating():
            assert running.done() or not sampler._running
            waiting = asyncio.create_task(
                sampler.generate(Dialogue(), [3, 4], limit=3, stop_ids=[STOP], seed=1)
            )
            await asyncio.sleep(0.02)
            assert not waiting.done()
            with torch.no_grad():
                for value in model.parameters():
                    value.mul_(0.5)
        assert (before.version, (await running).version, (await waiting).version) == (0, 0, 1)
        held = [*dialogue.ids, 5]
        after = await sampler.generate(dialogue, [5], limit=4, stop_ids=[STOP], seed=9)
        assert list(after.ids) == slowly(model, held, 4, 9)[0]
    finally:
        model.load_state_dict(old)
        await sampler.close()


async def test_who_stops_waiting_frees_the_row(model):
    sampler, dialogue = Sampler(model, rows=1), Dialogue()
    task = asyncio.create_task(sampler.generate(dialogue, [3], limit=20, stop_ids=[], seed=1))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    done = await asyncio.wait_for(
        sampler.generate(Dialogue(), [3], limit=20, stop_ids=[], seed=1), timeout=10
    )
    assert list(done.ids) == slowly(model, [3], 20, 1)[0][:20] or len(done.ids) == 20
    await sampler.close()


async def test_a_broken_model_is_told_to_all_who_wait(model):
    class Broken(TinyTransformer):
        def extend(self, *arguments):
            raise RuntimeError("out of memory")

    sampler = Sampler(Broken(model.shape), rows=1)
    waiting = [sampler.generate(Dialogue(), [3], limit=2, stop_ids=[]) for _ in range(3)]
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert [str(each) for each in found] == ["the model failed: RuntimeError: out of memory"] * 3
    assert all(isinstance(each, AgentError) for each in found)
    await sampler.close()


@pytest.mark.parametrize("bad", [{"limit": 0}, {"temperature": -1.0}, {"new_ids": []}])
async def test_bad_requests_are_refused(model, bad):
    sampler = Sampler(model)
    arguments = {"new_ids": [3], "limit": 2, "stop_ids": [], **bad}
    with pytest.raises(ValueError, match=r"out of range|needs at least one token"):
        await sampler.generate(Dialogue(), **arguments)
    await sampler.close()
