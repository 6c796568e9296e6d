"""Episodes whose files cannot be kept or compared: whose failure it is."""

from __future__ import annotations

import pytest

from agentgym.env.environment import Environment
from agentgym.env.opening import load_built
from agentgym.errors import SandboxError
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.guest import BubblewrapSandbox

SUBMIT = {"tool": "submit", "arguments": {}}
ODD = {"tool": "bash", "arguments": {"command": "echo odd > /root/odd"}}


class Daemon:
    """Refuses to keep or to compare files, as a daemon of containers may.

    Args:
        what: The call that it refuses.
        refuses: Which files: those with the agent's, those of any sandbox, or the first ones.
    """

    def __init__(self, what: str, refuses: str) -> None:
        self.what, self.refuses, self.calls = what, refuses, 0

    def look(self, what: str, is_odd: bool) -> None:
        if what != self.what:
            return
        self.calls += 1
        if {"odd": is_odd, "any": True, "first": self.calls == 1}[self.refuses]:
            raise SandboxError(f"cannot {what}: archive/tar: invalid header")


async def played(monkeypatch: pytest.MonkeyPatch, daemon: Daemon):
    provider = BubblewrapProvider()
    environment = Environment(load_built("terminal/log-forensics-v1"), provider)
    seal, compare = BubblewrapSandbox.seal, BubblewrapProvider.compare

    async def seal_or_refuse(box: BubblewrapSandbox):
        daemon.look("seal", (box._store.path(box._upper) / "u/root/odd").exists())
        return await seal(box)

    async def compare_or_refuse(self: BubblewrapProvider, before, after):
        tree = await self.open_tree(after)
        daemon.look("compare", tree.stat("/root/odd") is not None)
        return await compare(self, before, after)

    try:
        episode = await environment.start(0)
        await episode.step(ODD)
        monkeypatch.setattr(BubblewrapSandbox, "seal", seal_or_refuse)
        monkeypatch.setattr(BubblewrapProvider, "compare", compare_or_refuse)
        return (await episode.step(SUBMIT)).verdict
    finally:
        await environment.close()
        await provider.close()


@pytest.mark.parametrize("what", ["seal", "compare"])
async def test_files_that_only_an_agent_made_unfit_to_be_kept_fail(monkeypatch, what):
    verdict = await played(monkeypatch, Daemon(what, "odd"))
    assert (verdict.status, verdict.outcome, verdict.score) == ("scored", False, 0.0)
    assert "invalid header" in verdict.checkpoints[0].message


@pytest.mark.parametrize("what", ["seal", "compare"])
async def test_a_machine_that_keeps_nothing_is_an_error(monkeypatch, what):
    with pytest.raises(SandboxError, match="invalid header"):
        await played(monkeypatch, Daemon(what, "any"))


@pytest.mark.parametrize("what", ["seal", "compare"])
async def test_a_failure_that_does_not_come_again_is_not_held_against_the_agent(monkeypatch, what):
    verdict = await played(monkeypatch, Daemon(what, "first"))
    assert verdict.scored
    assert all("invalid header" not in each.message for each in verdict.checkpoints)
