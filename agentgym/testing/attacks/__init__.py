"""The attack suite: attacks by hostile guests on a sandbox, as data for any test suite.

Every attack takes a provider and a recipe, whose guests need `python3`, and reports how it ended.
With pytest::

    @pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
    async def test_attack(attack):
        provider = MyProvider()
        try:
            outcome = await attack.run(provider, Recipe("mine"))
        finally:
            await provider.close()
        assert outcome.blocked, outcome.how

On the command line, for an installed provider: ``python -m agentgym.testing.attacks docker``.
docs/isolation.md lists the mechanism that stops each attack.
"""

from agentgym.testing.attacks import (  # noqa: F401 - they register themselves
    evidence,
    exhaustion,
    first_process,
    host_side,
    kernel_calls,
    kernel_files,
    mounts,
    privileges,
    sockets,
    transfers,
)
from agentgym.testing.attacks.attack import ATTACKS, Attack, Outcome, table, take_programs

__all__ = ["ATTACKS", "Attack", "Outcome", "table"]

take_programs()
