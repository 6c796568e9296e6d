"""What must survive in a snapshot, where providers store it in different ways."""

import asyncio
import fcntl
import re
import shutil
import sys

import pytest

from agentgym.claim import noted
from agentgym.errors import MissingExtraError, SandboxLimitError
from agentgym.installation import install_line
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.sandbox.layers import size


async def run(box, script):
    done = await box.exec(["/bin/bash", "-c", script])
    assert done.exit_code == 0, done.stderr
    return done.stdout


async def test_a_snapshot_keeps_every_property_of_a_file(provider, recipe):
    box = await provider.start(recipe())
    await run(
        box,
        "mkdir /srv/d; cd /srv/d; echo x > acl; setfacl -m u:www-data:rw acl;"
        "setfacl -d -m g:adm:r .; touch -d '2001-02-03 04:05:06.789012 UTC' old;"
        "echo y > $'odd \\xff\\n name'; chmod 4755 old; ln -s /nowhere 'dangling é'; mkfifo pipe",
    )
    show = (
        "cd /srv/d; getfacl -n . acl; stat -c '%n %a %s %F' -- *; stat -c %Y.%y old;"
        "readlink dangling*; cat odd*"
    )
    before = await run(box, show)
    fork = await box.fork()
    assert await run(fork, show) == before
    assert list(await fork.changes()) == []
    sealed = await fork.seal()
    again = await provider.start(recipe(), sealed)
    assert await run(again, show) == before


async def test_a_folder_made_anew_hides_what_was_in_it(provider, recipe):
    box = await provider.start(recipe())
    await run(box, "mkdir -p /srv/d/sub; touch /srv/d/a /srv/d/sub/b")
    before = await box.snapshot()
    child = await provider.start(recipe(), before)
    await run(child, "rm -r /srv/d; mkdir /srv/d; touch /srv/d/new")
    expected = {
        "/srv/d/a": "deleted",
        "/srv/d/sub": "deleted",
        "/srv/d/sub/b": "deleted",
        "/srv/d/new": "added",
    }
    assert {change.path: change.kind for change in await child.changes()} == expected
    after = await child.seal()
    assert {c.path: c.kind for c in await provider.compare(before, after)} == expected
    tree = await provider.open_tree(after)
    assert [path for path, _ in tree.walk("/srv")] == ["/srv/d", "/srv/d/new"]
    again = await provider.start(recipe(), after)
    assert await run(again, "ls /srv/d") == b"new\n"


async def test_files_that_container_engines_manage_are_the_guests_own(provider, recipe):
    box = await provider.start(recipe())
    assert await run(box, "cat /etc/hostname /etc/resolv.conf; hostname") == b"sandbox\nsandbox\n"
    assert b"localhost" in await run(box, "cat /etc/hosts")
    assert await run(box, "ls -A / | grep -i docker || true") == b""
    await run(
        box,
        "echo web-1 > /etc/hostname; rm /etc/hosts; ln -sf /proc/mounts /etc/mtab;"
        "echo nameserver ::1 > /etc/new; mv /etc/new /etc/resolv.conf",
    )
    expected = {
        "/etc/hostname": "modified",
        "/etc/hosts": "deleted",
        "/etc/mtab": "modified",
        "/etc/resolv.conf": "modified",
    }
    assert {change.path: change.kind for change in await box.changes()} == expected
    fork = await box.fork()
    assert await run(fork, "cat /etc/hostname; readlink /etc/mtab") == b"web-1\n/proc/mounts\n"
    assert await run(fork, "cat /etc/resolv.conf") == b"nameserver ::1\n"
    assert (await fork.exec(["test", "-e", "/etc/hosts"])).exit_code == 1
    assert list(await fork.changes()) == []
    start = await (await provider.start(recipe())).seal()
    assert {c.path: c.kind for c in await provider.compare(start, await fork.seal())} == expected


async def test_an_attribute_cannot_hide_files_from_who_reads_them(provider, recipe):
    box = await provider.start(recipe())
    await run(box, "mkdir /srv/d; touch /srv/d/evidence")
    child = await provider.start(recipe(), await box.seal())
    mark = "import os; os.setxattr('/srv/d', 'user.overlay.opaque', b'y')"
    # Bubblewrap's mounts refuse it; Docker's take it for any attribute.
    await child.exec(["python3", "-c", mark])
    assert not [change for change in await child.changes() if change.kind == "deleted"]
    tree = await provider.open_tree(await child.seal())
    assert tree.stat("/srv/d/evidence") is not None


@pytest.mark.docker
async def test_the_socket_of_a_docker_guest_is_closed(docker_root, recipe):
    provider = DockerProvider(docker_root)
    box = await provider.start(recipe())
    assert await run(box, "find / -xdev -type s; ls -A /run/agentgym/entry") == b""
    assert (await box.exec(["touch", "/run/agentgym/entry/mine"])).exit_code == 1
    # Short, for every `ps` inside shows it, and with the filter on (2) from the beginning.
    assert len(await run(box, "cat /proc/1/cmdline")) < 300
    assert b"Seccomp_filters:\t2" in await run(box, "cat /proc/1/status")
    assert (await box.exec(["unshare", "-Ur", "true"])).exit_code != 0
    assert (await box.exec(["mount", "-t", "tmpfs", "x", "/mnt"])).exit_code != 0
    await provider.close()


@pytest.mark.docker
async def test_a_kept_snapshot_is_found_by_another_process(docker_root, recipe):
    first = DockerProvider(docker_root)
    box = await first.start(recipe())
    await box.write_file("/srv/f", b"kept")
    kept = await first.keep("key", await box.seal())
    await first.close()
    second = DockerProvider(docker_root)
    assert await second.find("key") == kept
    assert await second.find("other key") is None
    assert (await second.open_tree(kept)).read("/srv/f") == b"kept"
    later = await second.start(recipe())
    assert await second.keep("key", await later.seal()) == kept
    await second.close()


@pytest.mark.docker
async def test_what_a_store_kept_is_pruned_by_another_once_its_folder_is_gone(docker_root, recipe):
    gone, there = docker_root.with_name("gone"), docker_root.with_name("there")
    kept = []
    for root in (gone, there):
        provider = DockerProvider(root)
        box = await provider.start(recipe())
        await box.write_file("/srv/f", bytes(100_000))
        kept += (await provider.keep("key", await box.seal())).layers
        await provider.close()
    shutil.rmtree(gone)
    other = DockerProvider(docker_root)
    engine = Engine()
    try:
        assert await other.prune(()) >= 100_000
        assert [engine.find(image) is not None for image in kept] == [False, True]
        shutil.rmtree(there)
        await other.prune(())
        assert engine.find(kept[1]) is None
    finally:
        engine.close()
        await other.close()


@pytest.mark.docker
async def test_what_is_found_or_kept_is_noted_while_nobody_prunes(docker_root, recipe):
    provider = DockerProvider(docker_root)
    box = await provider.start(recipe())
    await box.write_file("/srv/f", b"kept")
    (image,) = (await provider.keep("key", await box.seal())).layers
    assert image in noted(docker_root)
    other = DockerProvider(docker_root)
    await other.prune(())
    with open(docker_root / "prune.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        finding = asyncio.ensure_future(other.find("key"))
        done, _ = await asyncio.wait([finding], timeout=0.5)
        assert not done
    found = await finding
    assert found is not None and found.layers == (image,)
    await other.close()
    await provider.close()


async def test_without_the_sdk_or_the_daemon_it_says_what_to_do(tmp_path, monkeypatch, recipe):
    pytest.importorskip("docker")
    with monkeypatch.context() as patch:
        patch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
        found = DockerProvider().problems()
        assert any("apt-get install -y docker.io" in problem.fix for problem in found)
    monkeypatch.setitem(sys.modules, "docker", None)
    (problem,) = DockerProvider().problems()
    assert problem.fix == install_line("docker")
    with pytest.raises(MissingExtraError, match=re.escape(install_line("docker"))):
        await DockerProvider(tmp_path / "store").start(recipe())


@pytest.mark.parametrize("bound", ["MOST_NAMES", "MOST_NAME_BYTES"])
async def test_an_agent_cannot_leave_more_names_than_are_copied_in_time(
    provider, recipe, monkeypatch, bound
):
    monkeypatch.setattr(size, bound, 20 if bound == "MOST_NAMES" else 400)
    many = "mkdir -p /srv/d; cd /srv/d; echo x > 1; for n in $(seq 2 60); do ln 1 $n; done"
    base = await provider.start(recipe())
    # A setup may leave any number of names.
    await run(base, many.replace("/srv", "/opt"))
    before = await base.seal()
    box = await provider.start(recipe(), before)
    await run(box, "echo few > /srv/few")
    fork = await box.fork()
    for each in (box, fork):
        await run(each, many)
        with pytest.raises(SandboxLimitError, match="names"):
            await each.snapshot()
        with pytest.raises(SandboxLimitError, match="names"):
            await each.fork()
        assert await run(each, "cat /srv/few /srv/d/60") == b"few\nx\n"
    if provider.name == "docker":
        # Sealing copies nothing on bubblewrap.
        with pytest.raises(SandboxLimitError, match="names"):
            await box.seal()
    await box.close()
    await fork.close()
    await provider.discard(before)
