"""The agent ``checkpoint:PATH`` with the tiny transformer, and the folders that it refuses."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import weakref
from types import SimpleNamespace

import pytest

from agentgym.agents import registry
from agentgym.errors import ConfigError
from agentgym.train.checkpoint import Options, _shared


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("checkpoint", "needs a model; write e.g.: checkpoint:runs"),
        ("checkpoint:{0}/none", "holds no policy .*; expected the folder of a training run"),
        ("checkpoint:{0}/list", "expected an object"),
        ("checkpoint:{0}/model?temperature=-1", "option temperature='-1'"),
        ("checkpoint:{0}/model?device=tpu", "option device='tpu'"),
        ("checkpoint:{0}/model?temprature=1", "did you mean 'temperature'"),
    ],
)
def test_what_is_no_policy_is_refused(tmp_path, spec, why):
    for name, text in (("list", "[]"), ("model", '{"model_type": "llama"}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(text)
    with pytest.raises(ConfigError, match=why):
        registry.create(spec.format(tmp_path))


class Model:
    def start_cache(self, rows):
        return None


class Loading:
    """Stands for the folder of a policy; loads when it is let, and counts."""

    def __init__(self):
        self.loads, self.released = 0, threading.Event()

    def load(self):
        self.loads += 1
        assert self.released.wait(10)
        return SimpleNamespace(model=Model())


def test_a_cancelled_episode_takes_the_model_from_no_other():
    folder = Loading()

    async def play():
        first, second = (asyncio.create_task(_shared("a", folder, Options())) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait({first})
        folder.released.set()
        return await second, await _shared("a", folder, Options())

    found, again = asyncio.run(play())
    assert found is again and folder.loads == 1


def test_the_model_of_an_event_loop_that_has_ended_is_freed():
    folder = Loading()
    folder.released.set()
    loaded, _ = asyncio.run(_shared("b", folder, Options()))
    before = weakref.ref(loaded.model)
    del loaded, _
    asyncio.run(_shared("b", folder, Options()))
    gc.collect()
    assert before() is None and folder.loads == 2


def test_a_folder_of_a_model_runs_no_code_of_its_own(tmp_path, monkeypatch):
    loading = pytest.importorskip("agentgym.train.models.loading")
    from agentgym.train.policies import HuggingFacePolicy, PolicyKind

    ran = tmp_path / "ran"
    about = {
        "model_type": "strange",
        "auto_map": {
            "AutoConfig": "strange.Config",
            "AutoModelForCausalLM": "strange.Model",
            "AutoTokenizer": ["strange.Tokenizer", None],
        },
    }
    (tmp_path / "config.json").write_text(json.dumps(about))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(about))
    (tmp_path / "strange.py").write_text(f"open({str(ran)!r}, 'w')")
    monkeypatch.setattr("builtins.input", lambda *asked: "y")
    policy = HuggingFacePolicy(kind=PolicyKind.HUGGINGFACE, path=str(tmp_path), device="cpu")
    monkeypatch.setattr(loading, "load_tokenizer", lambda path: None)
    with pytest.raises(ConfigError, match="policy.path"):
        loading.load_pretrained(policy)
    monkeypatch.undo()
    monkeypatch.setattr("builtins.input", lambda *asked: "y")
    with pytest.raises(ConfigError, match="policy.path"):
        loading.load_tokenizer(str(tmp_path))
    assert not ran.exists()
