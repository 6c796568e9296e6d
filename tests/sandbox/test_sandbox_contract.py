"""The shipped sandbox contract, over every provider this machine can run."""

import pytest

from agentgym.records import Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.testing.sandbox import CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_bubblewrap(check, tmp_path):
    provider = BubblewrapProvider(tmp_path / "store")
    try:
        await check(provider, Recipe("host"))
    finally:
        await provider.close()
    assert list((tmp_path / "store/live").iterdir()) == []
