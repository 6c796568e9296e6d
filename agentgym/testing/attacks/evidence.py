"""Misleading, trapping or altering files that a guest leaves for grading."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace

from agentgym.errors import (
    GuestFileError,
    SandboxEndedError,
    SandboxError,
    SandboxLimitError,
)
from agentgym.protocols import FileTree, SandboxProvider
from agentgym.records import Change, Recipe, Snapshot
from agentgym.testing.attacks.attack import Outcome, attack
from agentgym.testing.attacks.host_side import decoy
from agentgym.testing.attacks.probing import DONE

_PATIENCE_S = 60.0
_LINKS = """
import os, sys
os.chdir('/srv'); path = sys.argv[1]
os.symlink(path, 'absolute'); os.symlink('../' * 40 + path.lstrip('/'), 'upward')
os.symlink(os.path.dirname(path), 'folder'); os.symlink('/proc/1/root' + path, 'proc')
os.symlink('loop', 'loop'); os.symlink('/usr/../..' + path, 'dots')
os.mkfifo('pipe'); os.mkfifo('report.txt')
"""
_NAMES = [b"a\nb", b"\xff\xfe", b"-rf", b"..\n", b"\x1b[2J", b"n" * 255, b"\\", b"tab\tquote\"'"]
_HIDE = """
import os
os.makedirs('/srv/d'); open('/srv/d/inside', 'w').close(); open('/srv/plain', 'w').close()
done = []
for path in ('/srv', '/srv/d', '/etc', '/srv/plain', '/root'):
    for name, value in (('opaque', b'y'), ('whiteout', b'y'), ('redirect', b'/etc'),
                        ('metacopy', b''), ('origin', b'x'), ('opaque', b'x')):
        for space in ('user', 'trusted'):
            try:
                os.setxattr(path, f'{space}.overlay.{name}', value)
            except OSError:
                pass
for path in ('/srv/plain', '/etc/shells'):
    try:
        os.unlink(path); os.mknod(path, 0o020600, 0)
    except OSError:
        open(path, 'w').close()
"""
_BREAK = {
    "no programs": "rm /bin; mv /etc /was; chmod 000 /tmp",
    "no room in /run": "head -c 100M /dev/zero > /run/fill",
    "no folder for commands": "mv /run/agentgym /run/was; ln -s /proc /run/agentgym",
    "a folder for a command": "rm /run/agentgym/shell-1; mkdir -p /run/agentgym/shell-1/x",
    "no processes": "bomb() { bomb | bomb & }; bomb",
    "no home": "rm -rf /root; cd /srv; rmdir /srv",
    "stopped": "kill -STOP $$",
    "killed": "kill -9 -1; kill -9 $$",
    "nothing answers": "trap '' TERM INT; exec 0<&- 1>&- 2>&- 200>&-; while :; do :; done",
}
_SWAP = """
import os
os.chdir('/srv'); os.mkdir('d'); open('d/passwd', 'w').close()
for number in range(1200):
    os.makedirs(f'{number % 30}', exist_ok=True); open(f'{number % 30}/{number}', 'w').close()
os.symlink('/etc', 'link'); os.mkfifo('pipe'); open('/etc/shells', 'a').write('x')
os.link('/etc/shells', '/etc/keep')
while True:
    os.rename('d', 'was'); os.rename('link', 'd'); os.rename('d', 'link'); os.rename('was', 'd')
    os.rename('pipe', '/etc/shells'); os.rename('/etc/shells', 'pipe')
    os.link('/etc/keep', '/etc/shells')
"""


@attack("links are resolved inside the snapshot; only regular files are read")
async def links_in_evidence(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Lead the grader to the host's files, through links; put FIFOs where files belong."""
    with decoy() as (path, secret):
        box = await provider.start(recipe)
        await box.exec(["python3", "-c", _LINKS, str(path)])
        snapshot = await box.seal()
        tree = await provider.open_tree(snapshot)
        names = (
            "absolute",
            "upward",
            "folder/secret",
            "proc",
            "dots",
            "loop",
            "pipe",
            "report.txt",
        )
        attempts = {}
        for name in names:
            attempts[name] = await asyncio.to_thread(_read, tree, f"/srv/{name}", secret)
        walked = {name for name, _ in await asyncio.to_thread(lambda: list(tree.walk("/srv")))}
        attempts["walk"] = DONE if "/srv/folder/secret" in walked else "stays inside"
        await provider.discard(snapshot)
        return Outcome(attempts)


def _read(tree: FileTree, path: str, secret: str) -> str:
    try:
        return DONE if secret.encode() in tree.read(path) else "another file"
    except GuestFileError as error:
        return str(error).rpartition(": ")[2]


async def _deeper_than_paths(provider: SandboxProvider, recipe: Recipe, before: Snapshot) -> str:
    """Return what came of hiding a file below more folders than a path can name."""
    make = "import os\nos.chdir('/srv')\nfor _ in range(4096): os.mkdir('d'); os.chdir('d')\n"
    box = await provider.start(recipe, before)
    made = await box.exec(["python3", "-c", f"{make}open('hidden', 'w').close()"])
    assert made.exit_code == 0, made.stderr
    after = await box.seal()
    try:
        changes = await provider.compare(before, after)
        return "seen" if any(change.path.endswith("hidden") for change in changes) else DONE
    except SandboxLimitError as error:
        return str(error)
    finally:
        await provider.discard(after)


@attack("names are bytes that nothing interprets")
async def names_in_evidence(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Leave names that break readers: newlines, no UTF-8, escapes, 255 bytes, very deep folders."""
    make = f"import os\nfor name in {_NAMES!r}: open(b'/srv/' + name, 'w').close()\n"
    make += "os.chdir('/srv')\nfor _ in range(1800): os.mkdir('d'); os.chdir('d')"
    before = await (await provider.start(recipe)).seal()
    box = await provider.start(recipe, before)
    made = await box.exec(["python3", "-c", make])
    assert made.exit_code == 0, made.stderr
    after = await box.seal()
    async with asyncio.timeout(_PATIENCE_S):
        changes = {change.path for change in await provider.compare(before, after)}
    tree = await provider.open_tree(after)
    attempts = {}
    for name in _NAMES:
        path = "/srv/" + name.decode("utf-8", "surrogateescape")
        seen = path in changes and tree.read(path) == b"" and path[5:] in tree.list("/srv")
        attempts[ascii(path)[:20]] = "seen" if seen else DONE
    attempts["1800 folders"] = "seen" if "/srv/d/d/d" in changes else DONE
    attempts["4096 folders"] = await _deeper_than_paths(provider, recipe, before)
    await provider.discard(after)
    await provider.discard(before)
    return Outcome(attempts)


@attack("overlay attributes are escaped or not the mount's own")
async def hidden_evidence(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Hide files from the judge with the marks that overlayfs itself uses for what is deleted."""
    before = await (await provider.start(recipe)).seal()
    box = await provider.start(recipe, before)
    made = await box.exec(["python3", "-c", _HIDE])
    assert made.exit_code == 0, made.stderr
    inside = (await box.exec(["sh", "-c", "ls -A /srv /srv/d /etc"])).stdout.decode().split()
    after = await box.seal()
    tree = await provider.open_tree(after)
    outside = [name for path in ("/srv", "/srv/d", "/etc") for name in tree.list(path)]
    hidden = {name for name in inside if not name.endswith(":")} - set(outside)
    changes = {change.path for change in await provider.compare(before, after)}
    attempts = {"marks": f"hide {sorted(hidden)}" if hidden else "nothing is hidden"}
    if hidden or not {"/srv/d/inside", "/srv/plain"} <= changes:
        attempts["hidden"] = DONE
    await provider.discard(after)
    await provider.discard(before)
    return Outcome(attempts)


@attack("processes stand still while their files are read")
async def files_swapped_while_compared(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Swap folders for links and files for FIFOs, while the host lists what changed."""
    box = await provider.start(recipe)
    race = asyncio.ensure_future(box.exec(["python3", "-c", _SWAP], timeout_s=600))
    attempts = {}
    try:
        while (await box.exec(["test", "-p", "/srv/pipe"])).exit_code:
            continue
        for _ in range(30):
            async with asyncio.timeout(_PATIENCE_S):
                changes = await box.changes()
            if led := [change.path for change in changes if _leads_out(change)]:
                attempts[f"{led[0]} is listed"] = DONE
        attempts["30 lists"] = "stay inside"
        return Outcome(attempts)
    finally:
        race.cancel()
        await box.close()


def _leads_out(change: Change) -> bool:
    # The host's /etc has no place below a folder with one file.
    return change.path.startswith(("/srv/d/", "/srv/was/")) and change.path[-6:] != "passwd"


@attack("every process is gone before the files are sealed")
async def writing_after_the_end(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Go on writing after a limit or the host has ended the sandbox and sealed its files."""
    writers = (
        "for i in 1 2 3 4 5 6 7 8; do (trap '' TERM; while :; do echo x >> /srv/$i; done) & done"
    )
    attempts = {}
    for name, limits in (("sealed", recipe.limits), ("ended", replace(recipe.limits, wall_s=0.5))):
        box = await provider.start(replace(recipe, limits=limits))
        with contextlib.suppress(SandboxError):
            await box.exec(["sh", "-c", f"{writers}; sleep 1.5"], timeout_s=5)
        snapshot = await box.seal()
        tree = await provider.open_tree(snapshot)
        first = await asyncio.to_thread(_sizes, tree)
        until = time.monotonic() + 0.3
        same = True
        while time.monotonic() < until:
            same = same and first == await asyncio.to_thread(_sizes, tree)
        assert any(first), "nothing was written"
        attempts[name] = "quiet" if same else DONE
        await provider.discard(snapshot)
    return Outcome(attempts)


@attack("what a guest breaks is its own doing, and judged as such")
async def escaping_the_verdict(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Break what the supervisor needs, so that a bad end counts as a fault of the sandbox."""
    attempts = {}
    for name, script in _BREAK.items():
        box = await provider.start(replace(recipe, limits=replace(recipe.limits, pids=64)))
        try:
            shell = await box.open_shell()
            for command in (script, "echo 1", "exit", "echo 2"):
                with contextlib.suppress(GuestFileError, SandboxLimitError):
                    await shell.run(command, timeout_s=2)
            await box.audit()
            attempts[name] = "judged"
        except SandboxEndedError:
            attempts[name] = "ended, and judged"
        except SandboxError as error:
            attempts[name] = DONE
            attempts[f"{name} says"] = str(error)
        await provider.discard(await box.seal())
    return Outcome(attempts)


def _sizes(tree: FileTree) -> list[int]:
    return [stat.size for _, stat in tree.walk("/srv")]
