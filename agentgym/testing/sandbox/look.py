"""The part of the sandbox contract about looking into a running sandbox."""

from __future__ import annotations

import asyncio

from agentgym.errors import GuestFileError, SandboxError
from agentgym.protocols import Sandbox, SandboxProvider
from agentgym.records import Capability, Recipe
from agentgym.testing.sandbox.contract import Contract, into, needs, output, running

CHECKS: list[Contract] = []
check = into(CHECKS)

# Counts until it is ended; the present count is in a file.
# Renamed into place, since a file that is overwritten can be empty for a moment.
_COUNT = "i=0; while :; do i=$((i+1)); echo $i > /srv/next; mv /srv/next /srv/count; done"
# Swaps a folder with a link to another folder and back, as fast as it can.
_SWAP = (
    "cd /srv; mkdir -p mine other; echo mine > mine/f; echo other > other/f;"
    "while :; do mv mine away; ln -s other mine; rm mine; mv away mine; done"
)


@check
@needs(Capability.LOOK)
async def a_look_shows_the_files_as_they_are_now(provider: SandboxProvider, recipe: Recipe) -> None:
    """A look sees written, altered and deleted files, links and modes, also unreadable ones."""
    async with running(provider, recipe) as box:
        await output(
            box,
            "echo new > /srv/f; chmod 000 /srv/f; ln -s /srv /opt/s; rm /etc/shells;"
            "mkdir /srv/d; echo web-1 > /etc/hostname; ln -s ../../../../etc/hostname /srv/up",
        )
        async with box.look() as tree:
            assert tree.read("/opt/s/f") == b"new\n"
            stat = tree.stat("/srv/f")
            assert stat is not None and (stat.kind, stat.mode, stat.size) == ("file", 0, 4)
            assert tree.stat("/etc/shells") is None and "shells" not in tree.list("/etc")
            assert tree.read("/srv/up") == tree.read("/etc/hostname") == b"web-1\n"
            assert [path for path, _ in tree.walk("/srv")] == ["/srv/d", "/srv/f", "/srv/up"]
            try:
                tree.read("/absent")
            except GuestFileError:
                pass
            else:
                raise AssertionError("reading what is absent should be a GuestFileError")
        await output(box, "rm -f /srv/f; echo later > /srv/g")
        async with box.look() as tree:
            assert tree.stat("/srv/f") is None and tree.read("/srv/g") == b"later\n"


@check
@needs(Capability.LOOK)
async def nothing_moves_during_a_look(provider: SandboxProvider, recipe: Recipe) -> None:
    """A busy guest is paused during a look; it continues afterwards, and the tree is closed."""
    async with running(provider, recipe) as box:
        await _begin(box, _COUNT)
        while not await _counted(box):
            await asyncio.sleep(0.01)
        async with box.look() as tree:
            first = tree.read("/srv/count")
            await asyncio.sleep(0.05)
            assert tree.read("/srv/count") == first
        await _moves(box)
        try:
            tree.read("/srv/count")
        except SandboxError:
            pass
        else:
            raise AssertionError("a tree should refuse to be read after the look")


@check
@needs(Capability.LOOK)
async def a_look_ends_however_it_ends(provider: SandboxProvider, recipe: Recipe) -> None:
    """The reader may raise or be cancelled at any moment of a look; the guest continues."""
    async with running(provider, recipe) as box:
        await _begin(box, _COUNT)
        try:
            async with box.look():
                raise KeyError("looking")
        except KeyError:
            await _moves(box)

        async def look(inside: asyncio.Event) -> None:
            async with box.look():
                inside.set()
                await asyncio.Event().wait()

        for wait_inside in (True, False):
            inside = asyncio.Event()
            task = asyncio.ensure_future(look(inside))
            await (inside.wait() if wait_inside else asyncio.sleep(0))
            task.cancel()
            await asyncio.wait({task})
            assert task.cancelled()
            await _moves(box)


@check
@needs(Capability.LOOK)
async def a_look_is_never_led_astray(provider: SandboxProvider, recipe: Recipe) -> None:
    """If a guest swaps a folder for a link, one look sees either of them, complete."""
    async with running(provider, recipe) as box:
        await _begin(box, _SWAP)
        while (await box.exec(["test", "-e", "/srv/other/f"])).exit_code:
            await asyncio.sleep(0.01)
        for _ in range(20):
            async with box.look() as tree:
                stat = tree.stat("/srv/mine", follow=False)
                kind = stat.kind if stat is not None else "absent"
                expected = {"dir": [b"mine\n"], "link": [b"other\n"], "absent": []}[kind]
                found = [tree.read("/srv/mine/f")] if stat is not None else []
                assert found == expected, (kind, found)


async def _begin(box: Sandbox, script: str) -> None:
    shell = await box.open_shell()
    await shell.run(f"({script}) > /dev/null 2>&1 &")


async def _counted(box: Sandbox) -> bytes:
    done = await box.exec(["cat", "/srv/count"])
    return done.stdout


async def _moves(box: Sandbox) -> None:
    """Wait until the count has changed; it never does if the guest stays paused."""
    before = await _counted(box)
    async with asyncio.timeout(10):
        while not await _counted(box) or await _counted(box) == before:
            await asyncio.sleep(0.01)
