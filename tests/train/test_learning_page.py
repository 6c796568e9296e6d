"""docs/learning.md names what there is, and its examples run."""

import importlib.util
import re
from pathlib import Path

import pytest

import agentgym.train.advantages
import agentgym.train.losses

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/learning.md").read_text()


def test_the_example_gives_a_gradient_to_sampled_tokens_only():
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    names = {}
    exec(code, names)
    gradient = names["logprobs"].grad
    assert gradient[2] == 0 and (gradient[[0, 1]] < 0).all() and (gradient[[3, 4]] > 0).all()


def test_the_tables_name_every_public_function():
    named = set(re.findall(r"^\| `(\w+)`", PAGE, re.M))
    public = set(agentgym.train.advantages.__all__) | set(agentgym.train.losses.__all__)
    assert {name for name in public if name.islower()} <= named
    assert named <= public, named - public


def test_the_estimators_of_the_divergence_reach_the_figures_of_their_post():
    spec = importlib.util.spec_from_file_location("kl", ROOT / "examples/kl_estimators.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    rows = re.findall(r"^\| ([\d.]+) \| (k\d)" + r" \| (\S+)" * 4 + r" \|$", PAGE, re.M)
    assert len(rows) == len(example.THEIRS)
    for mean, estimator, bias, their_bias, deviation, their_deviation in rows:
        assert example.THEIRS[float(mean), estimator] == (their_bias, their_deviation)
        ours = example.measure(float(mean), example.Estimator(estimator), 200_000)
        noise = 4 * ours[1] / 200_000**0.5
        assert ours[0] == pytest.approx(float(bias), abs=noise + 0.001)
        assert float(bias) == pytest.approx(float(their_bias), abs=0.03)
        assert ours[1] == pytest.approx(float(their_deviation), rel=0.03)
        assert float(deviation) == pytest.approx(float(their_deviation), rel=0.01)
