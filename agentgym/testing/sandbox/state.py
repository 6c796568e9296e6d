"""The part of the sandbox contract about live state: changes, snapshots, forks, restores."""

from __future__ import annotations

from agentgym.protocols import SandboxProvider
from agentgym.records import Capability, ChangeKind, Recipe
from agentgym.testing.sandbox.contract import Contract, into, needs, output, running

CHECKS: list[Contract] = []
check = into(CHECKS)


@check
@needs(Capability.CHANGES)
async def changes_name_every_path(provider: SandboxProvider, recipe: Recipe) -> None:
    """Added, modified and deleted paths are listed; a file with only a new time is not."""
    async with running(provider, recipe) as box:
        assert list(await box.changes()) == []
        await output(
            box,
            "echo a > /srv/new; echo b >> /etc/hosts; chmod 600 /etc/passwd; touch /etc/group;"
            "rm /etc/shells; mkdir /opt/d; echo c > /opt/d/f",
        )
        seen = {change.path: change.kind for change in await box.changes()}
        assert seen == {
            "/srv/new": ChangeKind.ADDED,
            "/etc/hosts": ChangeKind.MODIFIED,
            "/etc/passwd": ChangeKind.MODIFIED,
            "/etc/shells": ChangeKind.DELETED,
            "/opt/d": ChangeKind.ADDED,
            "/opt/d/f": ChangeKind.ADDED,
        }, seen


@check
@needs(Capability.SNAPSHOT)
async def snapshot_freezes_files_and_nothing_else(
    provider: SandboxProvider, recipe: Recipe
) -> None:
    """Later writes do not reach a snapshot; processes continue; deletions and modes are kept."""
    async with running(provider, recipe) as box:
        await output(box, "echo one > /srv/f; rm /etc/shells; mkdir -m 2775 /srv/d; ln -s f /srv/l")
        shell = await box.open_shell()
        await shell.run("sleep 62 &")
        snapshot = await box.snapshot()
        await output(box, "echo two > /srv/f")
        assert any("62" in process.argv for process in await box.processes())
        other = await provider.start(recipe, snapshot)
        assert await other.read_file("/srv/f") == b"one\n"
        assert await output(other, "stat -c %a /srv/d; readlink /srv/l") == "2775\nf\n"
        assert (await other.exec(["test", "-e", "/etc/shells"])).exit_code == 1
        assert await box.read_file("/srv/f") == b"two\n"
        await other.close()
        await provider.discard(snapshot)


@check
@needs(Capability.FORK)
async def forks_do_not_see_each_other(provider: SandboxProvider, recipe: Recipe) -> None:
    """Parent and forks share only the past, also after the parent is closed."""
    async with running(provider, recipe) as box:
        await box.write_file("/srv/f", b"past")
        forks = [await box.fork() for _ in range(3)]
        await box.write_file("/srv/f", b"parent")
        for index, fork in enumerate(forks):
            assert await fork.read_file("/srv/f") == b"past"
            await fork.write_file("/srv/f", b"%d" % index)
        grandchild = await forks[1].fork()
        await box.close()
        await forks[1].close()
        assert await grandchild.read_file("/srv/f") == b"1"
        assert await forks[2].read_file("/srv/f") == b"2"
        for fork in (*forks, grandchild):
            await fork.close()


@check
@needs(Capability.RESTORE)
async def restore_goes_back(provider: SandboxProvider, recipe: Recipe) -> None:
    """After a restore the files are the snapshot's, old processes are gone, and commands work."""
    async with running(provider, recipe) as box:
        await box.write_file("/srv/f", b"before")
        snapshot = await box.snapshot()
        shell = await box.open_shell()
        await shell.run("echo after > /srv/f; rm /etc/shells; sleep 63 &")
        await box.restore(snapshot)
        assert await box.read_file("/srv/f") == b"before"
        assert await output(box, "test -e /etc/shells && echo there") == "there\n"
        assert not any("63" in process.argv for process in await box.processes())
        await provider.discard(snapshot)
