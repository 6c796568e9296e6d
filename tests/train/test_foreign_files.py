"""Models and checkpoints of strangers: none stops this process, or fills it."""

import io
import json
import os
import zipfile
from pathlib import Path

import pytest
import torch

from agentgym.agents import registry
from agentgym.errors import ConfigError, RecordError
from agentgym.train import foreign_files
from agentgym.train.datasets.native import read_tokens
from agentgym.train.foreign_files import refuse_special_files
from agentgym.train.policies import TinyPolicy
from agentgym.train.templates.rendering import Renderer, RenderError
from agentgym.train.training_run import TrainingRun


@pytest.mark.parametrize("name", ["config.json", "deep/model.safetensors", "link"])
def test_a_folder_with_a_fifo_is_refused_at_once(tmp_path, name):
    folder = tmp_path / "model"
    (folder / "deep").mkdir(parents=True)
    (folder / "broken").symlink_to("nowhere")
    if name != "config.json":
        (folder / "config.json").write_text('{"model_type": "llama"}')
        refuse_special_files(folder)
    if name == "link":
        (folder / name).symlink_to("/dev/zero")
    else:
        os.mkfifo(folder / name)
    with pytest.raises(ConfigError, match="neither a file nor a folder|expected a regular file"):
        registry.create(f"checkpoint:{folder}")


def test_a_run_whose_files_are_fifos_is_refused(tmp_path):
    for name in ("config.json", "checkpoint.pt", "data.npz"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(RecordError, match="regular file"):
        TrainingRun.resume(tmp_path)
    with pytest.raises(RecordError, match="regular file"):
        TrainingRun.read_checkpoint(tmp_path)
    with pytest.raises(RecordError, match="regular file"):
        read_tokens(tmp_path / "data.npz")


@pytest.mark.timeout(20)
def test_a_fifo_that_another_process_puts_in_the_place_of_a_file_is_not_waited_for(
    tmp_path, monkeypatch
):
    for name in ("checkpoint.pt", "data.npz"):
        os.mkfifo(tmp_path / name)
    monkeypatch.setattr(Path, "is_file", lambda path: True)  # as it was a moment before
    with pytest.raises(RecordError, match="regular file"):
        TrainingRun.read_checkpoint(tmp_path)
    with pytest.raises(RecordError, match="regular file"):
        read_tokens(tmp_path / "data.npz")


def test_the_checkpoint_that_was_looked_at_is_the_one_that_is_loaded(tmp_path, monkeypatch):
    saved(tmp_path, {"iteration": 0, "history": []})
    (tmp_path / "other").mkdir()
    other = saved(tmp_path / "other", {"iteration": 9, "history": []})
    looked_at = foreign_files.refuse_bomb

    def then_exchanged(archive):
        looked_at(archive)
        other.replace(tmp_path / "checkpoint.pt")

    monkeypatch.setattr(foreign_files, "refuse_bomb", then_exchanged)
    assert TrainingRun.read_checkpoint(tmp_path)["iteration"] == 0


def saved(path, state):
    torch.save(state, path / "checkpoint.pt")
    return path / "checkpoint.pt"


def test_a_checkpoint_that_unpacks_to_more_than_its_size_is_refused(tmp_path):
    whole = saved(tmp_path, {"history": [], "model": {"a": torch.zeros(1_000)}})
    assert TrainingRun.read_checkpoint(tmp_path)["model"]["a"].shape == (1_000,)
    with zipfile.ZipFile(io.BytesIO(whole.read_bytes())) as archive:
        members = [(each.filename, archive.read(each)) for each in archive.infolist()]
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    with pytest.raises(RecordError, match="is compressed"):
        TrainingRun.read_checkpoint(tmp_path)
    whole.write_bytes(b"\x80\x02]q\x00.")
    with pytest.raises(RecordError, match="no checkpoint"):
        TrainingRun.read_checkpoint(tmp_path)


class Runs:
    def __reduce__(self):
        return os.mkdir, ("ran",)


def test_a_checkpoint_runs_no_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path, {"history": [], "model": Runs()})
    with pytest.raises(RecordError, match="no checkpoint"):
        TrainingRun.read_checkpoint(tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "size", [{"width": 10**5}, {"layers": 10**7}, {"width": 4, "context": 10**9}]
)
def test_a_tiny_policy_is_tiny(size):
    with pytest.raises(ValueError, match="weights|less than or equal to 256"):
        TinyPolicy(actions={"a": "ls"}, **size)
    assert TinyPolicy(actions={"a": "ls"}, width=512, layers=12, context=2_048)


def test_an_adapter_brings_no_other_model(tmp_path):
    loading = pytest.importorskip("agentgym.train.models.loading")
    from agentgym.train.policies import HuggingFacePolicy, PolicyKind

    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    about = {"base_model_name_or_path": "/elsewhere", "peft_type": "LORA"}
    (tmp_path / "adapter_config.json").write_text(json.dumps(about))
    policy = HuggingFacePolicy(kind=PolicyKind.HUGGINGFACE, path=str(tmp_path), device="cpu")
    with pytest.raises(ConfigError, match="adapter of another model"):
        loading.load_pretrained(policy)


ENDLESS = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    ("template", "why"),
    [
        # Both run into the limit on processor time.
        pytest.param(ENDLESS, "process that rendered it has ended", marks=pytest.mark.full),
        ("{{ 10 ** (10 ** 9) }}", "has ended|MemoryError"),
        ("{% set x = 'x' * 10 ** 11 %}", "MemoryError"),
        ("{{ 'x' * (7 * 10 ** 7) }}", "its text has 70000"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError"),
        ("{{ raise_exception('no tools') }}", "no tools"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{% for", "unexpected|Expected|end of template|expected"),
    ],
)
def test_a_chat_template_is_rendered_within_limits(renderer, template, why):
    with pytest.raises(RenderError, match=why):
        renderer.render(template, [{"role": "user", "content": "u"}], None, {}, prompt=True)
    honest = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    told = [{"role": "user", "content": "a\u2028b\ud800"}]
    assert renderer.render(honest, told, None, {"bos_token": "^"}, prompt=True) == (
        "^<user>a\u2028b\ud800"
    )


@pytest.fixture(scope="module")
def renderer():
    pytest.importorskip("transformers")
    made = Renderer(cpu_s=2.0)
    yield made
    made.close()
