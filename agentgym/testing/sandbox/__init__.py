"""The sandbox contract: requirements on every SandboxProvider, as checks for any test suite.

Each check is a coroutine function that takes a provider and a recipe; it raises AssertionError if
the contract is broken. With pytest::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_contract(check):
        provider = MyProvider()
        try:
            await check(provider, Recipe("mine"))
        finally:
            await provider.close()

If a provider does not declare a capability, its checks pass if a request raises UnsupportedError;
isolation checks then pass at once. docs/providers.md describes how to write a provider.
"""

from agentgym.testing.sandbox import (
    commands,
    files,
    isolation,
    life,
    look,
    shells,
    snapshots,
    state,
)
from agentgym.testing.sandbox.contract import Contract

CHECKS: list[Contract] = [
    check
    for topic in (commands, shells, files, state, look, snapshots, life, isolation)
    for check in topic.CHECKS
]

__all__ = ["CHECKS", "Contract"]
