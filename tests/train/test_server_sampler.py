"""Sampling from a real HTTP server of the test's own, which the tiny transformer drives."""

from __future__ import annotations

import contextlib
import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch

from agentgym.chat.address import Address
from agentgym.errors import AgentError
from agentgym.train.models.tiny import TinyShape, TinyTransformer
from agentgym.train.sampling.draws import draw
from agentgym.train.sampling.sampler import Dialogue, Sampler
from agentgym.train.sampling.server import ServerSampler

STOP, CONTEXT = 1, 24


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    model = TinyTransformer(TinyShape(13, width=16, heads=2, context=CONTEXT))
    with torch.no_grad():
        model.embedding.weight.mul_(40)
    return model


def complete(model, request):
    """Sample one token after the other; returns the answer of a server with token ids."""
    ids, generator = list(request["prompt"]), random.Random(request["seed"])
    sampled, logprobs = [], []
    while len(sampled) < request["max_tokens"]:
        row = torch.tensor([[*ids, *sampled]])
        with torch.no_grad():
            logits = model(row, torch.arange(row.shape[1])[None], torch.zeros_like(row))
        (token,), (logprob,) = draw(logits[0, -1:], [generator], [request["temperature"]])
        sampled.append(token)
        logprobs.append(logprob)
        if token in request["stop_token_ids"]:
            break
    choice = {"token_ids": sampled, "logprobs": {"token_logprobs": logprobs}, "text": "?"}
    return {"choices": [choice], "prompt_token_ids": ids}


@contextlib.contextmanager
def serving(answer):
    """Serve ``POST /v1/completions`` with what a function of the request returns."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, self.headers["Authorization"], body))
            status, told = answer(body, len(seen))
            data = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            with contextlib.suppress(ConnectionError):  # Who asked may have left.
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def talk(sampler):
    """Play a dialogue of three turns; the last one meets the bound of the context."""
    dialogue, found = Dialogue(), []
    for turn, (read, limit) in enumerate((([3, 4, 5], 4), ([6], 3), ([7, 8], 50), ([9], 5))):
        told = {"limit": limit, "stop_ids": [STOP], "temperature": 0.8, "seed": 50 + turn}
        found.append(await sampler.generate(dialogue, read, **told))
        if len(dialogue.ids) >= CONTEXT:
            break
    sampler.end(dialogue)
    await sampler.close()
    return dialogue.ids, found


async def test_a_server_samples_what_the_model_would_in_this_process(model):
    with serving(lambda body, _: (200, complete(model, body))) as (url, seen):
        address = Address(url, "secret")
        ids, found = await talk(ServerSampler(address, "tiny", context=CONTEXT))
    wanted_ids, wanted = await talk(Sampler(model))
    assert ids == wanted_ids
    assert [each.ids for each in found] == [each.ids for each in wanted]
    assert [each.finish_reason for each in found] == [each.finish_reason for each in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
    path, key, body = seen[-1]
    assert (path, key) == ("/v1/completions", "Bearer secret")
    assert body["prompt"] == ids[: len(body["prompt"])]
    assert body["return_token_ids"] is True


GOOD = {"choices": [{"token_ids": [4, 5], "logprobs": {"token_logprobs": [-1.0, -2.0]}}]}


def changed(**changes):
    return {"choices": [{**GOOD["choices"][0], **changes}]}


async def ask(answer, **options):
    with serving(answer) as (url, seen):
        sampler = ServerSampler(Address(url, "k"), "m", context=99, **options)
        try:
            dialogue = Dialogue()
            done = await sampler.generate(dialogue, [3], limit=5, stop_ids=[STOP])
            return done, dialogue.ids, len(seen)
        finally:
            await sampler.close()


async def test_a_stop_token_that_the_server_leaves_out_is_not_taken_for_given():
    done, ids, _ = await ask(lambda *_: (200, GOOD))
    assert (done.ids, done.finish_reason, ids) == ((4, 5), "length", [3, 4, 5])


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"choices": [{"text": "hi"}]}, "no token ids and log-probabilities .* return_token_ids"),
        ({"choices": []}, "no token ids"),
        ([], "no token ids"),
        (b"<html>", "its answer is not JSON"),
        (changed(token_ids=[4]), "as many token ids as log-probabilities"),
        (changed(token_ids=[4, "5"]), "as many token ids as log-probabilities"),
        (changed(token_ids=[4, True]), "as many token ids as log-probabilities"),
        (changed(logprobs={"token_logprobs": [-1.0, 0.5]}), "as many token ids"),
        (changed(logprobs={"token_logprobs": [-1.0, None]}), "as many token ids"),
        (changed(logprobs={"token_logprobs": [-1.0, float("-inf")]}), "as many token ids"),
        (changed(logprobs={"token_logprobs": [-1.0, -1e308]}), "as many token ids"),
        (changed(logprobs={"token_logprobs": [-1.0, -(10**400)]}), "as many token ids"),
        (changed(token_ids=[4, 2**31]), "as many token ids as log-probabilities"),
        (changed(token_ids=[4] * 6, logprobs={"token_logprobs": [-1.0] * 6}), "5 were asked for"),
        (changed(token_ids=[STOP, 5]), "it went on after a token of stop_token_ids"),
        (b"[" * 100_000, "its answer is not JSON"),
        (changed(logprobs=None), "no token ids"),
        ({**GOOD, "prompt_token_ids": [2]}, "the server read other tokens than were sent"),
        ({**GOOD, "prompt_token_ids": 3}, "the server read other tokens than were sent"),
    ],
)
async def test_an_answer_without_faithful_tokens_is_refused(answer, why):
    with pytest.raises(AgentError, match=why):
        await ask(lambda *_: (200, answer))


async def test_a_busy_server_is_asked_again_and_a_refusal_is_not(monkeypatch):
    monkeypatch.setattr("agentgym.train.sampling.server._FIRST_WAIT_S", 0.01)
    done, _, asked = await ask(lambda _, n: (503, {}) if n < 3 else (200, GOOD))
    assert (done.ids, asked) == ((4, 5), 3)
    with pytest.raises(AgentError, match="answered 400"):
        await ask(lambda *_: (400, {"error": "no such model"}))
    with pytest.raises(AgentError, match="answered 503"):
        await ask(lambda *_: (503, {}), retries=1)


async def test_a_server_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr("agentgym.train.sampling.server._FIRST_WAIT_S", 0.01)
    sampler = ServerSampler(Address("http://127.0.0.1:9/v1", "k"), "m", context=9, retries=1)
    with pytest.raises(AgentError, match=r"127.0.0.1:9/v1/completions: the connection failed"):
        await sampler.generate(Dialogue(), [3], limit=5, stop_ids=[])
    await sampler.close()


async def test_a_completion_has_a_deadline():
    release = threading.Event()

    def slow(*_):
        release.wait(5)
        return 200, GOOD

    with serving(slow) as (url, _):
        address = Address(url.replace("//", "//me:secret@"), "k")
        sampler, dialogue = ServerSampler(address, "m", context=9, timeout_s=0.2), Dialogue([3])
        try:
            with pytest.raises(AgentError, match="no completion within 0.2 s") as refused:
                await sampler.generate(dialogue, [4], limit=5, stop_ids=[])
        finally:
            release.set()
            await sampler.close()
    assert "secret" not in str(refused.value)
    assert dialogue.ids == [3]
