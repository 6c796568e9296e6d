"""The part of the sandbox contract about snapshots: sealed, read from outside, stored."""

from __future__ import annotations

from agentgym.errors import GuestFileError, SandboxError
from agentgym.protocols import SandboxProvider
from agentgym.records import Capability, ChangeKind, Recipe
from agentgym.testing.sandbox.contract import Contract, into, needs, output, running

CHECKS: list[Contract] = []
check = into(CHECKS)


@check
@needs(Capability.SNAPSHOT)
async def seal_keeps_the_files_and_closes(provider: SandboxProvider, recipe: Recipe) -> None:
    """Sealing ends the sandbox; the snapshot can be compared, read from outside and started."""
    base = await provider.start(recipe)
    before = await base.seal()
    box = await provider.start(recipe, before)
    await output(box, "echo sealed > /srv/f; chmod 000 /srv/f; ln -s /srv /opt/s; rm /etc/shells")
    after = await box.seal()
    await box.close()
    try:
        await box.read_file("/srv/f")
    except SandboxError:
        pass
    else:
        raise AssertionError("a sealed sandbox should be closed")
    changes = {change.path: change.kind for change in await provider.compare(before, after)}
    assert changes == {
        "/srv/f": ChangeKind.ADDED,
        "/opt/s": ChangeKind.ADDED,
        "/etc/shells": ChangeKind.DELETED,
    }
    tree = await provider.open_tree(after)
    assert tree.read("/opt/s/f") == b"sealed\n"
    stat = tree.stat("/srv/f")
    assert stat is not None and (stat.kind, stat.mode, stat.size) == ("file", 0, 7)
    assert tree.stat("/etc/shells") is None and "hosts" in tree.list("/etc")
    assert [path for path, _ in tree.walk("/srv")] == ["/srv/f"]
    again = await provider.start(recipe, after)
    assert await again.read_file("/srv/f") == b"sealed\n"
    await again.close()
    await provider.discard(after)
    await provider.discard(before)


@check
@needs(Capability.SNAPSHOT)
async def no_name_hides_a_file(provider: SandboxProvider, recipe: Recipe) -> None:
    """Names that mean a deletion in a format of layers are files like others."""
    base = await provider.start(recipe)
    before = await base.seal()
    box = await provider.start(recipe, before)
    await output(
        box, "cd /srv; mkdir .wh.d; echo a > .wh.d/x; echo b > .wh.f; echo c > .wh..wh..opq"
    )
    after = await box.seal()
    tree = await provider.open_tree(after)
    files = [path for path, stat in tree.walk("/srv") if stat.kind == "file"]
    assert {tree.read(path) for path in files} == {b"a\n", b"b\n", b"c\n"}, files
    changed = {change.path for change in await provider.compare(before, after)}
    assert changed >= set(files), (changed, files)
    await provider.discard(after)
    await provider.discard(before)


@check
@needs(Capability.SNAPSHOT)
async def times_of_files_survive(provider: SandboxProvider, recipe: Recipe) -> None:
    """A snapshot keeps times of 1970's first moments and far from now; those before may be cut."""
    times = ("0.000000001", "0.00001", "1700000000.123456789", "4400000000", "-0.5", "-2000000000")
    stat = "cd /srv; stat -c %.9Y *"
    box = await provider.start(recipe)
    for number, time in enumerate(times):
        await output(box, f"touch -d @{time} /srv/{number}")
    before = (await output(box, stat)).split()
    snapshot = await box.seal()
    again = await provider.start(recipe, snapshot)
    after = (await output(again, stat)).split()
    assert after[:4] == before[:4], (before, after)
    # Docker has no times before 1970.
    assert all(new in (old, "0.000000000") for old, new in zip(before, after, strict=True)), after
    await again.close()
    await provider.discard(snapshot)


@check
@needs(Capability.SNAPSHOT)
async def a_file_that_was_put_back_is_told(provider: SandboxProvider, recipe: Recipe) -> None:
    """The time of its last change is another one; that of a file that is only read is not."""
    ways = {
        "copied": "cp -p copied /tmp/c; rm copied; cp -p /tmp/c copied",
        "moved": "mv moved away; mv away moved",
        "linked": "ln linked other; rm linked; mv other linked",
        "below/file": "mv below away; mv away below",
        "read": "cat read > /dev/null; cp -p read /tmp/read",
    }
    base = await provider.start(recipe)
    await output(base, f"cd /srv; mkdir below; touch -d 2020-01-02 {' '.join(ways)}")
    before = await base.seal()
    box = await provider.start(recipe, before)
    for way in ways.values():
        await output(box, f"cd /srv; {way}")
    after = await box.seal()
    trees = [await provider.open_tree(snapshot) for snapshot in (before, after)]
    for name in ways:
        was, now = (tree.stat(f"/srv/{name}") for tree in trees)
        assert was is not None and now is not None and was.mtime_s == now.mtime_s
        assert (was.ctime_s == now.ctime_s) == (name == "read"), name
    await provider.discard(after)
    await provider.discard(before)


@check
@needs(Capability.SNAPSHOT)
async def trees_stay_inside_the_guest(provider: SandboxProvider, recipe: Recipe) -> None:
    """A link that points out of the root leads to the guest's own files, or to nothing."""
    async with running(provider, recipe) as box:
        await output(box, "ln -s ../../../../../../etc/hostname /srv/up; ln -s /srv/loop /srv/loop")
        snapshot = await box.snapshot()
        tree = await provider.open_tree(snapshot)
        assert tree.read("/srv/up") == await box.read_file("/etc/hostname")
        for path in ("/srv/loop", "/absent", "/etc"):
            try:
                tree.read(path)
            except GuestFileError:
                continue
            raise AssertionError(f"reading {path} should fail")
        await provider.discard(snapshot)


@check
@needs(Capability.SNAPSHOT)
async def kept_snapshots_are_found(provider: SandboxProvider, recipe: Recipe) -> None:
    """A stored snapshot is found under its key, the first one stored wins, others are not found."""
    box = await provider.start(recipe)
    await box.write_file("/srv/f", b"kept")
    key = f"contract {box.id}"
    assert await provider.find(key) is None
    kept = await provider.keep(key, await box.seal())
    found = await provider.find(key)
    assert found == kept
    other = await provider.start(recipe, found)
    assert await other.read_file("/srv/f") == b"kept"
    await other.close()
