"""The token of a server that its user chose."""

import pytest

from agentgym.cli.serving import choose_token
from agentgym.errors import ConfigError


@pytest.mark.parametrize("chosen", ["x", "fifteen letters"])
def test_a_token_that_can_be_guessed_is_refused(monkeypatch, chosen):
    monkeypatch.setenv("AGENTGYM_SERVE_TOKEN", chosen)
    with pytest.raises(ConfigError, match=f"has {len(chosen)} characters; expected at least 16"):
        choose_token(lambda line: None)


def test_a_token_that_cannot_be_guessed_is_taken(monkeypatch):
    monkeypatch.setenv("AGENTGYM_SERVE_TOKEN", "sixteen letters.")
    assert choose_token(lambda line: None) == "sixteen letters."
