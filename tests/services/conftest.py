import pytest

from agentgym.testing.service_contract import ServiceContract


@pytest.fixture(autouse=True)
def every_statement(request, full):
    """Let writes fail at each of their SQL statements in `make test-full`."""
    if isinstance(request.instance, ServiceContract):
        request.instance.every_statement = full
