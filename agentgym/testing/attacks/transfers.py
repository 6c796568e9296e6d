"""Transfers between guest and host: traps that a guest plants where the host reads or writes."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable
from pathlib import Path

from agentgym.errors import SandboxError
from agentgym.protocols import SandboxProvider
from agentgym.records import Recipe
from agentgym.testing.attacks.attack import Outcome, attack
from agentgym.testing.attacks.host_side import decoy
from agentgym.testing.attacks.probing import DONE

_PATIENCE_S = 60.0
_PLANT = """
import os, socket, sys
os.makedirs('/srv/d/sub'); os.chdir('/srv/d')
secret, folder = sys.argv[1], os.path.dirname(sys.argv[1])
os.symlink(secret, 'link'); os.symlink(folder, 'folder link'); os.symlink('/', 'root')
os.symlink('../' * 40 + secret, 'upward link'); os.symlink('/proc/self', 'proc')
os.symlink(secret, 'sub/link'); os.mkfifo('pipe'); os.mkfifo('sub/pipe')
socket.socket(socket.AF_UNIX).bind('socket')
for name in (b'a\\nb', b'\\xff\\xfe', b'-rf', b'..\\n', b'\\x1b[2J', b'n' * 255, b'.wh.x', b'\\\\'):
    open(name, 'w').close()
"""
_RACE = """
import os
os.makedirs('/srv/r/d/e'); open('/srv/r/d/e/secret', 'w').close()
os.symlink('/proc/1/root', '/srv/l')
while True:
    os.rename('/srv/r/d', '/srv/was'); os.rename('/srv/l', '/srv/r/d')
    os.rename('/srv/r/d', '/srv/l'); os.rename('/srv/was', '/srv/r/d')
"""


def _what_came(target: Path, secret: str) -> dict[str, str]:
    """Return the forbidden things that a download left: links, special files, the secret."""
    found = {}
    for folder, folders, names in os.walk(target):
        for name in (*folders, *names):
            path = Path(folder, name)
            odd = path.is_symlink() or not (path.is_file() or path.is_dir())
            if odd or (path.is_file() and secret in path.read_text(errors="replace")):
                found[f"{name!r} came along"] = DONE
    return found


@attack("links and odd files are left out; the guest's names are checked")
async def links_in_a_download(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Plant links, FIFOs, sockets and hostile names in a folder that the host downloads."""
    box = await provider.start(recipe)
    try:
        with decoy() as (path, secret), tempfile.TemporaryDirectory() as temporary:
            planted = await box.exec(["python3", "-c", _PLANT, str(path)])
            assert planted.exit_code == 0, planted.stderr
            target = Path(temporary, "sub", "target")
            async with asyncio.timeout(_PATIENCE_S):
                await box.download("/srv/d", target)
            names = {os.fsencode(name) for name in os.listdir(target)}
            assert {b"a\nb", b"\xff\xfe", b"-rf", b"..\n"} <= names, names
            beside = sorted(os.listdir(temporary)) + sorted(os.listdir(target.parent))
            escaped = {} if beside == ["sub", "target"] else {f"{beside} was written": DONE}
            attempts = dict.fromkeys(("links", "FIFOs", "sockets"), "left out")
            attempts["names"] = "taken as they are"
            return Outcome({**attempts, **escaped, **_what_came(target, secret)})
    finally:
        await box.close()


@attack("paths are resolved inside the guest alone")
async def a_folder_swapped_in_a_download(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Swap a folder for a link to the root again and again, while the host downloads it."""
    box = await provider.start(recipe)
    race = asyncio.ensure_future(box.exec(["python3", "-c", _RACE]))
    refused = found = 0
    try:
        with decoy() as (_, secret), tempfile.TemporaryDirectory() as temporary:
            for index in range(20):
                target = Path(temporary, str(index))
                try:
                    async with asyncio.timeout(_PATIENCE_S):
                        await box.download("/srv/r/d/e", target)
                    found += 1
                except SandboxError:
                    refused += 1
                if came := _what_came(target, secret):
                    return Outcome(came)
        return Outcome({f"{found + refused} downloads": "stay inside"})
    finally:
        race.cancel()
        await box.close()


@attack("size and number of what is downloaded are limited")
async def endless_downloads(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Have the host download terabytes of holes, folders without a bottom, an endless file."""
    deep = "import os\nos.chdir('/srv')\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')"
    holes = "mkdir /srv/h; for i in $(seq 40); do truncate -s 60M /srv/h/$i; done"
    box = await provider.start(recipe)
    try:
        await box.exec(["python3", "-c", deep])
        await box.exec(["sh", "-c", holes])
        await box.exec(["sh", "-c", "ln -s /dev/zero /srv/zero; mkfifo /srv/pipe"])
        with tempfile.TemporaryDirectory() as temporary:
            attempts = {}
            for path in ("/srv/h", "/srv/d", "/srv/zero", "/srv/pipe"):
                attempts[path] = await _refused(box.download(path, Path(temporary, "t")))
            attempts["read /srv/zero"] = await _refused(box.read_file("/srv/zero"))
            return Outcome(attempts)
    finally:
        await box.close()


async def _refused(action: Awaitable[object]) -> str:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await action
    except SandboxError as error:
        return type(error).__name__
    return DONE


@attack("paths are resolved inside the guest alone; read-only mounts")
async def links_under_an_upload(provider: SandboxProvider, recipe: Recipe) -> Outcome:
    """Plant links and FIFOs where the host writes: to its own files, to /usr, to PID 1's memory."""
    box = await provider.start(recipe)
    try:
        with decoy() as (path, secret), tempfile.TemporaryDirectory() as temporary:
            source = Path(temporary, "source")
            source.mkdir()
            (source / path.name).write_text("uploaded")
            for name, link in (
                ("file", str(path)),
                ("folder", str(path.parent)),
                ("program", "/usr/bin/env"),
                ("memory", "/proc/1/mem"),
                ("upward", "../" * 40 + str(path).lstrip("/")),
            ):
                await box.exec(["ln", "-s", link, f"/srv/{name}"])
            await box.exec(["mkfifo", "/srv/pipe"])
            attempts = {}
            for name in ("program", "memory", "pipe"):
                attempts[name] = await _refused(box.write_file(f"/srv/{name}", b"evil"))
            for name in ("file", "upward"):
                await _refused(box.write_file(f"/srv/{name}", b"evil"))
            await _refused(box.upload(source, "/srv/folder"))
            kept = path.read_text() == secret and sorted(os.listdir(path.parent)) == [path.name]
            attempts["files of the host"] = "unchanged" if kept else DONE
            return Outcome(attempts)
    finally:
        await box.close()
