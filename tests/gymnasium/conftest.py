import pytest
from shop_task import write_shop

from agentgym.gymnasium import registration


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
