"""Health checks of foreign tasks: they end, whatever a task says."""

import pytest

from agentgym.errors import SandboxError
from agentgym.formats.sandboxed import health
from agentgym.formats.sandboxed.rules import Healthcheck
from agentgym.records import ExecResult


class Ill:
    """A sandbox that is never healthy."""

    def __init__(self):
        self.asked = 0

    async def exec(self, argv, **options):
        self.asked += 1
        return ExecResult(1, b"", b"ill", False)


async def test_a_health_check_ends(monkeypatch):
    sandbox = Ill()
    with pytest.raises(SandboxError, match="failed 2 times; it last said: ill"):
        await health.wait_for_health(sandbox, Healthcheck("false", interval_s=0.0, retries=2))
    assert sandbox.asked == 2
    monkeypatch.setattr(health, "HEALTHY_S", 0.1)
    with pytest.raises(SandboxError, match=r"did not pass within 0\.1 s"):
        await health.wait_for_health(sandbox, Healthcheck("false", interval_s=0.0, retries=10**9))
    await health.wait_for_health(sandbox, None)
