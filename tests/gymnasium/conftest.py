import pytest
from fake_environment import FakeEnvironment
from fake_lanes import LANES
from shop_task import write_shop

from agentgym.gymnasium import registration
from agentgym.gymnasium.vector import VectorEnvironment


@pytest.fixture
def shop_catalogue(tmp_path, monkeypatch):
    """A catalogue that holds the shop alone, without a user or a judge from the environment."""
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    monkeypatch.delenv("AGENTGYM_USER", raising=False)
    monkeypatch.delenv("AGENTGYM_JUDGE", raising=False)
    write_shop(tmp_path)
    registration.shared_provider.cache_clear()
    yield
    registration.shared_provider.cache_clear()


@pytest.fixture
def made():
    """Make vector environments that are closed in the end."""
    all_made = []

    def make(environments=None, num_envs=LANES, **options):
        chosen = FakeEnvironment(4) if environments is None else environments
        all_made.append(VectorEnvironment(chosen, num_envs, **options))
        return all_made[-1]

    yield make
    for envs in all_made:
        envs.close()
