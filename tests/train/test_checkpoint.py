"""The agent ``checkpoint:PATH`` with the tiny transformer, and the folders that it refuses."""

from __future__ import annotations

import pytest

from agentgym.agents import registry
from agentgym.errors import ConfigError


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
