"""The `local` sandbox provider: for debugging, without isolation, and never chosen automatically.

Layers, limits and supervisor are those of bubblewrap, so tasks, snapshots and verdicts mean the
same. The isolation of a guest from this machine is left out: see `Launch.isolated`.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from agentgym.records import Capability, Recipe, Snapshot
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.guest import BubblewrapSandbox
from agentgym.sandbox.store import LayerStore

_log = logging.getLogger(__name__)


class LocalProvider(BubblewrapProvider):
    """Starts sandboxes that reach the host's network and read its files, below ``/mnt``.

    Their writes stay separate as in any sandbox. The provider warns that it isolates nothing; the
    warning appears on standard error unless the program has set up its own logging.
    """

    name = "local"
    capabilities = frozenset(Capability) - {Capability.ISOLATION}
    folder = "local"

    async def start(self, recipe: Recipe, snapshot: Snapshot | None = None) -> BubblewrapSandbox:
        """Start a sandbox; the host's network is open to it, whatever the recipe says."""
        # All proxies would need the same port of the host.
        return await super().start(replace(recipe, network="none", allow=()), snapshot)

    def _open_store(self) -> LayerStore:
        _log.warning(
            "warning: sandbox 'local' isolates nothing: what runs in it reads this machine's "
            "files and uses its network; it is for debugging your own commands"
        )
        return super()._open_store()
