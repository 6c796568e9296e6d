"""The computer of an environment that has none: what it can do, and how it refuses the rest."""

import asyncio

import pytest

from agentgym.errors import GuestFileError, UnsupportedError
from agentgym.protocols import SandboxProvider
from agentgym.records import Capability, Recipe
from agentgym.sandbox.absent import NOTHING, NoSandboxProvider
from agentgym.testing.sandbox import CHECKS


@pytest.fixture
async def box():
    box = await NoSandboxProvider().start(Recipe("none"))
    yield box
    await box.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_whatever_of_the_contract_runs_or_writes_something_is_refused_at_once(check):
    with pytest.raises(UnsupportedError, match="no sandbox to .*; give it one with sandbox = "):
        await asyncio.wait_for(check(NoSandboxProvider(), Recipe("none")), 10)


async def test_it_is_a_provider_that_is_always_ready():
    provider = NoSandboxProvider()
    assert isinstance(provider, SandboxProvider)
    assert provider.problems() == () and Capability.LOOK in provider.capabilities
    first, second = [await provider.start(Recipe("none")) for _ in range(2)]
    assert first.id != second.id
    await provider.close()


async def test_its_one_state_can_be_kept_and_gone_back_to(box):
    provider = NoSandboxProvider()
    snapshot = await box.snapshot()
    assert snapshot == await (await box.fork()).snapshot() == await box.seal() == NOTHING
    assert await provider.find("any key") == await provider.keep("any key", snapshot) == snapshot
    assert list(await provider.compare(snapshot, await box.snapshot())) == []
    await box.restore(snapshot)
    assert list(await box.changes()) == []
    await provider.discard(snapshot)


async def test_there_is_nothing_to_see(box):
    assert list(await box.processes()) == []
    audit = await box.audit()
    assert (audit.processes, audit.connections, audit.killed_for_memory) == ((), (), None)
    usage = await box.usage()
    assert (usage.cpu_s, usage.memory_mb, usage.processes, usage.disk_mb) == (0, 0, 0, 0)
    async with box.look() as tree:
        live = tree
    for files in (live, await NoSandboxProvider().open_tree(NOTHING)):
        assert files.stat("/") is None and list(files.walk("/")) == []
        with pytest.raises(GuestFileError, match="no such file"):
            files.read("/etc/passwd")
        with pytest.raises(GuestFileError, match="no such folder"):
            files.list("/")


async def test_files_and_ports_are_refused(box, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(GuestFileError, match="/x: no such file"):
        await box.read_file("/x")
    with pytest.raises(GuestFileError):
        await box.download("/x", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    for refused in (
        box.write_file("/x", b""),
        box.upload(tmp_path / "file", "/x"),
        box.connect(80),
        box.listen(80),
        box.run_as_root(["true"]),
        box.open_shell(),
    ):
        with pytest.raises(UnsupportedError):
            await refused


async def test_closing_is_repeatable(box):
    await box.close()
    await box.close()
    box.begin()
