import pytest
from offline_runs import write_refund

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Small tensors gain nothing from threads, which would fight with other workers of pytest."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A catalogue with the task of which the data sets are made, on the search path."""
    root = tmp_path_factory.mktemp("shop")
    write_refund(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_PATH", str(root))
        yield root
