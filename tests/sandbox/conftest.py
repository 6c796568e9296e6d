import pytest

from agentgym.records import Limits, Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider


@pytest.fixture
async def provider(tmp_path):
    provider = BubblewrapProvider(tmp_path / "store")
    yield provider
    await provider.close()
    assert list((tmp_path / "store/live").iterdir()) == []


@pytest.fixture
def recipe():
    """A host recipe with the given limits."""
    return lambda **limits: Recipe("host", limits=Limits(**limits))
