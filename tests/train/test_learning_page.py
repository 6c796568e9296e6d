"""docs/learning.md names what there is, and its example runs."""

import re
from pathlib import Path

import agentgym.train.advantages
import agentgym.train.losses

PAGE = (Path(__file__).parents[2] / "docs/learning.md").read_text()


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
