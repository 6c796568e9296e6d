"""The measurement of language models, at a size that a CPU computes in a moment."""

from __future__ import annotations

import dataclasses
import importlib.util

import pytest

torch = pytest.importorskip("torch")
# Its import takes a second, and every worker collects this module.
if importlib.util.find_spec("transformers") is None:
    pytest.skip("transformers is not installed", allow_module_level=True)

from agentgym.bench import language_models, peak, run_bench  # noqa: E402
from agentgym.bench.series import Figures  # noqa: E402
from agentgym.errors import ConfigError  # noqa: E402

CPU = torch.device("cpu")
LOAD = dataclasses.replace(language_models.SMALL, rows=2, longest=8, sequences=4)


@pytest.mark.full
async def test_every_key_is_measured():
    figures = Figures(*language_models.model_figures(LOAD, CPU))
    await language_models.measure_models(figures, CPU, LOAD, 1)
    flat = figures.flat()
    assert set(flat) == {figure.key for figure in figures.all}
    assert {"sample.tokens_per_s", "train.tokens_per_s", "hf_generate.tokens_per_s"} <= set(flat)
    assert all(value > 0 for value in flat.values())
    assert flat["train.mfu"] < 100
    (note,) = figures.notes
    assert "float32 on cpu" in note


def test_operations_are_six_a_weight_and_token_and_those_of_attention():
    model = language_models._made(LOAD, CPU)
    weights = sum(each.numel() for each in model.parameters())
    assert model.inner.lm_head.weight is model.inner.get_input_embeddings().weight
    found = language_models._operations(model, LOAD, [10, 20])
    # Scores and mixing: 2 products of 2 operations, for half of all pairs, three passes.
    attention = LOAD.layers * 3 * 2 * 2 * LOAD.width * (10**2 + 20**2) / 2
    assert found == pytest.approx(6 * weights * 30 + attention)


@pytest.mark.parametrize(
    ("name", "tflops"),
    [
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA H100 PCIe", 756),
        ("NVIDIA A100-SXM4-80GB", 312),
        ("NVIDIA L4", 121),
        ("NVIDIA L40S", 362),
        ("NVIDIA GeForce RTX 4090", 165),
    ],
)
def test_the_peak_is_that_of_the_data_sheet(monkeypatch, name, tflops):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: name)
    found, source = peak.peak_flops(torch.device("cuda"), torch.bfloat16)
    assert found == tflops * 1e12
    assert source.startswith("data sheet of")


def test_the_option_belongs_to_one_measurement():
    with pytest.raises(ConfigError, match="bench tools takes no --models; it is for: rl"):
        run_bench("tools", None, True, models=True)
