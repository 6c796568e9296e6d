"""Sandboxes over built images: any root starts, and both providers have the same files."""

import os
import stat
import struct
import subprocess
from dataclasses import replace

import pytest
from oci_layout import entry, small_root, write_layout

from agentgym.errors import GuestFileError, SandboxError, UnsupportedError
from agentgym.records import Recipe, Service
from agentgym.sandbox import launch
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.sandbox.images import ImageLayout, Layer, find_image, prune
from agentgym.sandbox.layers.stack import OPAQUE
from agentgym.sandbox.unpack import unpack

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give user ids")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
async def provider(provider, tmp_path):
    """One that leaves no image of ours in the daemon."""
    yield provider
    await provider.close()
    later = type(provider)(tmp_path / "store")
    await later.prune(())
    await later.close()


async def sh(box, script):
    done = await box.exec(["/bin/sh", "-c", script])
    assert done.exit_code == 0, done.stderr
    return done.stdout.decode()


async def test_other_images_slow_no_reset(tmp_path, monkeypatch):
    """A machine may have hundreds of images; each lies in files of its own."""
    read: list[str] = []
    whole = ImageLayout._read
    monkeypatch.setattr(
        ImageLayout, "_read", lambda self, *given: read.append(given[0]) or whole(self, *given)
    )
    provider = BubblewrapProvider(tmp_path / "store")
    recipe = Recipe("one", image=write_layout("one", small_root()))
    box = await provider.start(recipe)
    kept = await provider.keep("key", await box.seal())
    for name in ("other", "third"):
        last = write_layout(name, small_root([entry(f"srv/{name}", data=b"x")]))
    assert await provider.find("key") == kept
    read.clear()
    for _ in range(5):
        assert await provider.find("key") == kept
    assert read == []
    # A state over an image that is gone is not current.
    prune([last])
    assert await provider.find("key") is None
    await provider.close()


async def test_a_root_without_python_starts_and_is_snapshot(provider):
    recipe = Recipe("small", image=write_layout("small", small_root(), compress=(0,)))
    box = await provider.start(recipe)
    assert await sh(box, "[ ! -e /usr/bin/python3 ] && echo none") == "none\n"
    shell = await box.open_shell()
    await shell.run("cd /srv; x=5; echo $x > f")
    assert (await box.read_file("/srv/f")) == b"5\n"
    assert {change.path for change in await box.changes()} == {"/srv/f"}
    fork = await box.fork()
    assert await sh(fork, "cat /srv/f") == "5\n"
    sealed = await box.seal()
    again = await provider.start(recipe, sealed)
    assert await sh(again, "cat /srv/f") == "5\n"
    assert (await provider.open_tree(sealed)).read("/srv/f") == b"5\n"
    # The host's own files are not there, neither for the guest nor for who reads its files.
    assert (await provider.open_tree(sealed)).stat("/usr/bin") is None


def acl(*entries):
    """A POSIX ACL as an extended attribute has it (linux/posix_acl_xattr.h)."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *item) for item in entries)


NAMED_ACL = acl(
    (0x01, 6, 2**32 - 1), (0x02, 6, 1000), (0x04, 4, 2**32 - 1), (0x10, 6, 2**32 - 1),
    (0x20, 4, 2**32 - 1),
)  # fmt: skip
LAYERS = [
    [
        entry("srv/gone", data=b"x"),
        entry("srv/kept", data=b"kept", mode=0o640),
        entry("srv/hidden", "dir"),
        entry("srv/hidden/below", data=b"x"),
        entry("srv/was-file", data=b"x"),
        entry("srv/was-dir/inner", data=b"x"),
    ],
    [
        entry("./srv/.wh.gone"),
        entry("srv/hidden/new", data=b"new"),
        entry("srv/hidden/.wh..wh..opq"),
        entry("srv/.wh.was-dir"),
        entry("srv/was-dir", data=b"a file now"),
        entry("srv/.wh.was-file"),
        entry("srv/was-file", "dir", mode=0o2750),
        entry("/srv/absolute", data=b"from the root"),
        entry("srv/program", data=b"#!/bin/sh\nid -u\n", mode=0o6755),
        entry("srv/tmp", "dir", mode=0o1777),
        entry("srv/link", "link", link="/srv/kept"),
        entry("srv/up", "link", link="../../../../etc/passwd"),
        entry("srv/twin", "hard", link="srv/program"),
        entry("srv/pipe", "fifo", mode=0o600),
        entry("srv/null", "device"),
        entry("srv/deep/er/file", data=b"deep", mode=0o400, mtime=1_234_567_890),
        entry("srv/closed", "dir", mode=0),
        entry("srv/closed/in", data=b"in"),
        entry("srv/mine", data=b"ann", uid=1000, user__note=b"v", mode=0o664,
              system__posix_acl_access=NAMED_ACL, security__capability=b"c"),
        entry("srv/sparse", data=b"a" + bytes(300_000) + b"b"),
    ],
]  # fmt: skip
# Written down by hand from the layers: path to (kind, mode, size, link, time).
EXPECTED = {
    "/srv/absolute": ("file", 0o644, 13, "", 1_000_000_000),
    "/srv/closed": ("dir", 0, None, "", 1_000_000_000),
    "/srv/closed/in": ("file", 0o644, 2, "", 1_000_000_000),
    "/srv/deep": ("dir", 0o755, None, "", 0),
    "/srv/deep/er": ("dir", 0o755, None, "", 0),
    "/srv/deep/er/file": ("file", 0o400, 4, "", 1_234_567_890),
    "/srv/hidden": ("dir", 0o755, None, "", 0),
    "/srv/hidden/new": ("file", 0o644, 3, "", 1_000_000_000),
    "/srv/kept": ("file", 0o640, 4, "", 1_000_000_000),
    "/srv/link": ("link", 0o777, None, "/srv/kept", 1_000_000_000),
    "/srv/mine": ("file", 0o664, 3, "", 1_000_000_000),
    "/srv/pipe": ("other", 0o600, None, "", 1_000_000_000),
    "/srv/program": ("file", 0o755, 16, "", 1_000_000_000),
    "/srv/sparse": ("file", 0o644, 300_002, "", 1_000_000_000),
    "/srv/tmp": ("dir", 0o1777, None, "", 1_000_000_000),
    "/srv/twin": ("file", 0o755, 16, "", 1_000_000_000),
    "/srv/up": ("link", 0o777, None, "../../../../etc/passwd", 1_000_000_000),
    "/srv/was-dir": ("file", 0o644, 10, "", 1_000_000_000),
    "/srv/was-file": ("dir", 0o2750, None, "", 1_000_000_000),
}


async def test_both_providers_have_the_files_that_the_layers_say(provider):
    recipe = Recipe("small", image=write_layout("small", small_root(*LAYERS), compress=(1,)))
    box = await provider.start(recipe)
    listing = (await sh(box, "cd /srv; ls -A")).split()
    assert sorted(listing) == sorted({path.split("/")[2] for path in EXPECTED})
    assert await sh(box, "cat /srv/hidden/* /srv/was-dir /srv/link") == "newa file nowkept"
    assert await sh(box, "stat -c %h /srv/twin") == "2\n"
    if os.geteuid() == 0:
        assert await sh(box, "stat -c %u:%g /srv/mine /srv/kept") == "1000:1000\n0:0\n"
    tree = await provider.open_tree(await box.seal())
    seen = {}
    for path, found in tree.walk("/srv"):
        size = found.size if found.kind == "file" else None
        seen[path] = (found.kind, found.mode, size, found.target, found.mtime_s)
    assert seen == EXPECTED
    assert tree.read("/srv/sparse") == b"a" + bytes(300_000) + b"b"
    # Outside of /srv too: what is there comes from the image or from what lies below every one.
    top = tree.list("/")
    assert {"bin", "dev", "etc", "home", "lib64", "proc", "root", "run", "srv"} <= set(top)
    assert tree.read("/etc/hosts").startswith(b"127.0.0.1 localhost")


@pytest.mark.docker
async def test_no_more_than_the_image_is_in_either_tree(tmp_path, docker_root):
    recipe = Recipe("small", image=write_layout("small", small_root(*LAYERS)))
    walks = []
    for provider in (BubblewrapProvider(tmp_path / "other"), DockerProvider(docker_root)):
        tree = await provider.open_tree(await (await provider.start(recipe)).seal())
        # The size of a folder depends on the file system that the store lies on.
        walks.append(
            [(path, at if at.kind != "dir" else replace(at, size=0)) for path, at in tree.walk("/")]
        )
        await provider.close()
    assert walks[0] == walks[1]
    later = DockerProvider(docker_root)
    await later.prune(())
    await later.close()
    names = subprocess.check_output(["docker", "images", "agentgym/root"], text=True)
    assert recipe.image not in names


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([entry("../evil")], "leads out of the root"),
        ([entry("a/../../evil")], "leads out of the root"),
        ([entry("a", "link", link="/etc"), entry("a/evil")], "leads through 'a'"),
        ([entry("a", "hard", link="../../../etc/passwd")], "leads out of the root"),
        ([entry("a", "hard", link="nowhere")], "No such file"),
        ([entry("l", "link", link="/etc"), entry("a", "hard", link="l/passwd")], "leads through"),
        ([entry(".wh...")], "names no file to delete"),
    ],
)
async def test_a_hostile_layer_is_refused_and_leaves_nothing(tmp_path, entries, message):
    recipe = Recipe("bad", image=write_layout("bad", small_root(entries)))
    provider = BubblewrapProvider(tmp_path / "store")
    with pytest.raises(SandboxError, match=message):
        await provider.start(recipe)
    assert len(list((tmp_path / "store/l").glob("img-*"))) == 1
    assert not list((tmp_path / "store/l").glob(".new-*"))
    await provider.close()


def test_a_damaged_layer_is_not_used(tmp_path):
    (layer,) = find_image(write_layout("one", [[entry("a", data=b"x")]])).layers
    path = tmp_path / "changed"
    path.write_bytes(layer.path.read_bytes().replace(b"x", b"y"))
    with pytest.raises(SandboxError, match="damaged"):
        unpack(Layer(layer.diff_id, path, compressed=False), tmp_path / "out", None)
    path.write_bytes(layer.path.read_bytes()[:700])
    with pytest.raises(SandboxError, match="cannot be unpacked|damaged"):
        unpack(Layer(layer.diff_id, path, compressed=False), tmp_path / "more", None)


@needs_root
def test_attributes_and_owners_are_those_of_the_guest(tmp_path):
    target = tmp_path / "out"
    unpack(find_image(write_layout("one", LAYERS)).layers[1], target, first_id=500_000)
    mine = target / "srv/mine"
    assert (mine.stat().st_uid, mine.stat().st_gid) == (501_000, 501_000)
    assert sorted(os.listxattr(mine)) == ["system.posix_acl_access", "user.note"]
    shifted = os.getxattr(mine, "system.posix_acl_access")
    assert struct.pack("<I", 501_000) in shifted and struct.pack("<I", 1000) not in shifted
    assert stat.S_ISCHR((target / "srv/gone").stat().st_mode)
    assert os.getxattr(target / "srv/hidden", OPAQUE) == b"y"
    assert os.getxattr(target / "srv/was-file", OPAQUE) == b"y"
    sparse = (target / "srv/sparse").stat()
    assert sparse.st_blocks * 512 < sparse.st_size


def test_without_ids_to_give_everything_belongs_to_who_unpacks_it(tmp_path):
    target = tmp_path / "out"
    unpack(find_image(write_layout("one", LAYERS)).layers[1], target, first_id=None)
    mine = target / "srv/mine"
    assert mine.stat().st_uid == os.getuid()
    # An entry for somebody who does not exist there would be one for somebody else.
    assert os.listxattr(mine) == ["user.note"]


async def test_a_snapshot_starts_with_its_image_only(provider):
    one = Recipe("small", image=write_layout("one", small_root()))
    box = await provider.start(one)
    await sh(box, "echo x > /srv/f")
    kept = await provider.keep("key", await box.seal())
    assert await provider.find("key") == kept
    two = write_layout("two", small_root([entry("srv/two")]))
    with pytest.raises(SandboxError, match="another root"):
        await provider.start(Recipe("small", image=two), kept)
    # Built again, with something else in it: what was kept is over what it was.
    write_layout("one", small_root([entry("srv/three")]))
    assert await provider.find("key") is None
    with pytest.raises(SandboxError, match="another root"):
        await provider.start(one, kept)
    newer = await provider.keep("key", await (await provider.start(one)).seal())
    assert newer != kept and await provider.find("key") == newer


async def test_an_image_that_is_not_built_says_what_to_run(provider):
    with pytest.raises(SandboxError, match="agentgym sandbox build python"):
        await provider.start(Recipe("python", image="0123"))


async def test_the_image_and_the_recipe_decide_how_commands_start(provider):
    image = write_layout(
        "small", small_root(), Env=["PATH=/bin", "COLOUR=red", "SIZE=1"], WorkingDir="/ignored"
    )
    recipe = Recipe("s", image=image, env={"SIZE": "2"}, workdir="/srv", hostname="web-1")
    box = await provider.start(recipe)
    out = await sh(box, "echo $PATH $COLOUR $SIZE $PWD $HOME; echo $HOSTNAME")
    assert out == "/bin red 2 /srv /root\nweb-1\n"
    fork = await box.fork()
    assert await sh(fork, "echo $COLOUR") == "red\n"


@needs_root
async def test_commands_run_as_the_user_of_the_recipe(provider):
    image = write_layout("small", small_root())
    box = await provider.start(Recipe("s", image=image, user="ann", workdir="/home/ann"))
    assert await sh(box, "id -u; id -G; echo $HOME $USER") == "1000\n1000 50\n/home/ann ann\n"
    await sh(box, "echo mine > f; [ -O f ]")
    assert (await box.exec(["/bin/sh", "-c", "echo x > /etc/passwd"])).exit_code != 0
    status = await sh(box, "cat /proc/self/status")
    assert "CapEff:\t0000000000000000" in status and "CapAmb:\t0000000000000000" in status
    shell = await box.open_shell()
    assert (await shell.run("id -un; cd /srv; touch no")).output.startswith(b"ann\n")
    late = await shell.run("sleep 60", timeout_s=0.2)
    assert late.timed_out and not late.restarted
    assert (await box.exec(["sleep", "60"], timeout_s=0.2)).timed_out
    assert (await box.exec(["/bin/absent"])).exit_code in (126, 127)
    assert (await box.exec(["absent"])).exit_code == 127
    # The supervisor writes as root all the same.
    await box.write_file("/etc/note", b"x")
    again = await provider.start(Recipe("s", image=image, user="root"), await box.seal())
    assert await sh(again, "stat -c %u /home/ann/f") == "1000\n"
    with pytest.raises(SandboxError, match="no user 'bob'"):
        await (await provider.start(Recipe("s", image=image, user="bob"))).exec(["id"])


ROOT = "0 0 /root root"
# User of a recipe to user id, group id, HOME and USER of its commands.
USERS = {
    **dict.fromkeys(("", "root", "0", "0:0", "root:root", "root:0", "0:root"), ROOT),
    **dict.fromkeys(("ann", "1000", "1000:1000", "ann:ann", "1000:ann"), "1000 1000 /home/ann ann"),
    **dict.fromkeys(("ann:staff", "1000:50"), "1000 50 /home/ann ann"),
    "root:staff": "0 50 /root root",
    "4321": "4321 0 / 4321",
    "4321:77": "4321 77 / 4321",
}


# One spelling of each kind: every start of a container takes a second.
FEW = ("", "0:root", "ann", "1000:50", "4321:77")


@needs_root
async def test_a_user_may_be_a_number_and_have_a_group(provider, full):
    image = write_layout("small", small_root())
    seen = {}
    users = FEW if isinstance(provider, DockerProvider) and not full else USERS
    for user in users:
        box = await provider.start(Recipe("s", image=image, user=user, workdir="/"))
        seen[user] = (await sh(box, "echo $(id -u) $(id -g) $HOME $USER")).strip()
        shell = await box.open_shell()
        assert (await shell.run("id -u")).output.decode() == seen[user].split()[0] + "\n"
        await box.close()
    assert seen == {user: USERS[user] for user in users}
    box = await provider.start(Recipe("s", image=image, user="ann:nobody"))
    with pytest.raises(SandboxError, match="no group 'nobody'"):
        await box.exec(["id"])
    box = await provider.start(Recipe("s", image=image, user=f"{2**40}"))
    assert (await box.exec(["id"])).exit_code == 126


async def test_one_id_is_enough_for_root_however_it_is_spelled(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "may_give_ids", lambda: False)
    provider = BubblewrapProvider(tmp_path / "store")
    box = await provider.start(Recipe("web", user="0:0"))
    assert await sh(box, "echo $(id -u) $HOME") == "0 /root\n"
    await provider.close()


@needs_root
async def test_tar_keeps_owners_where_there_are_any(provider):
    script = "cd /srv; : > f; chown 1000 f; tar -cf t f; rm f; tar -xf t; stat -c %u f"
    one_id = provider.name == "bubblewrap"
    # Without a user of its own a bubblewrap guest has root's id alone, and cannot tell others.
    host = await provider.start(Recipe("host"))
    assert await sh(host, "echo $TAR_OPTIONS") == ("--no-same-owner\n" if one_id else "\n")
    if one_id:
        host = await provider.start(Recipe("host", user="root:daemon"))
    assert await sh(host, script) == "1000\n"


async def test_a_missing_working_directory_is_an_error_of_commands_and_shells(provider):
    box = await provider.start(Recipe("host", workdir="/absent"))
    with pytest.raises(GuestFileError, match="/absent: No such file") as of_exec:
        await box.exec(["true"])
    with pytest.raises(GuestFileError) as of_shell:
        await box.open_shell()
    assert str(of_shell.value) == str(of_exec.value)
    await box.write_file("/absent/f", b"")
    shell = await box.open_shell()
    assert (await shell.run("rm -r /absent; exit")).restarted
    # A session that was under way goes on.
    assert (await shell.run("pwd")).output == b"/\n"


async def test_one_id_is_not_enough_for_another_user(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "may_give_ids", lambda: False)
    provider = BubblewrapProvider(tmp_path / "store")
    with pytest.raises(UnsupportedError, match="recipe 'web'.*'ann'.*docker"):
        await provider.start(Recipe("web", user="ann"))
    await provider.close()


async def test_an_image_of_many_layers_is_one_mount(provider, full):
    layers = [[entry(f"srv/{n}", data=str(n).encode())] for n in range(50)]
    layers.append([entry(f"srv/.wh.{n}") for n in range(0, 50, 2)])
    recipe = Recipe("deep", image=write_layout("deep", small_root(*layers)))
    box = await provider.start(recipe)
    forks = 4 if isinstance(provider, DockerProvider) and not full else 12
    for index in range(forks):
        await sh(box, f"echo {index} > /srv/new-{index}")
        fork = await box.fork()
        await box.close()
        box = fork
    names = set((await sh(box, "ls /srv")).split())
    assert names == {str(n) for n in range(1, 50, 2)} | {f"new-{n}" for n in range(forks)}


async def test_pruning_leaves_what_is_named_or_in_use(provider, tmp_path):
    recipes = {}
    for name in ("used", "named", "dropped"):
        image = write_layout(name, small_root([entry("srv/fill", data=name.encode() * 100_000)]))
        recipes[name] = Recipe(name, image=image)
    other = type(provider)(tmp_path / "store")
    for name, recipe in recipes.items():
        box = await other.start(recipe)
        await sh(box, "echo x > /srv/f")
        await other.keep(f"key {name}", await box.seal())
    await other.close()
    box = await provider.start(recipes["used"])
    freed = await provider.prune([recipes["named"].image, "key named"])
    assert freed > 700_000
    assert await sh(box, "head -c 4 /srv/fill") == "used"
    assert await provider.find("key named") is not None
    assert await provider.find("key dropped") is None
    assert await sh(await provider.start(recipes["dropped"]), "head -c 4 /srv/fill") == "drop"


@pytest.mark.parametrize("image", ["", "small"])
async def test_services_run_before_anybody_else(provider, image):
    image = image and write_layout(image, small_root())
    services = (
        Service("first", "echo up; echo ready > /srv/first; exec sleep 1000", "[ -s /srv/first ]"),
        Service("second", "cat /srv/first > /srv/second; sleep 1000", "[ -s /srv/second ]"),
    )
    recipe = Recipe("s", image=image, services=services)
    box = await provider.start(recipe)
    assert await box.read_file("/srv/second") == b"ready\n"
    assert await box.read_file("/var/log/agentgym/first.log") == b"up\n"
    shell = await box.open_shell()
    await shell.run("true")
    await shell.close()
    fork = await box.fork()
    for one in (box, fork):
        running = [process.argv for process in await one.processes()]
        assert ("sleep", "1000") in running


async def test_a_service_that_fails_is_quoted(provider):
    dies = Service("db", "echo no space for the log >&2; exit 3", "false", timeout_s=20)
    with pytest.raises(SandboxError, match=r"(?s)'db' ended before .*no space for the log"):
        await provider.start(Recipe("s", services=(dies,)))
    hangs = Service("db", "echo still waiting; sleep 1000", "false", timeout_s=0.5)
    with pytest.raises(SandboxError, match=r"(?s)not healthy after 0.5 s.*still waiting"):
        await provider.start(Recipe("s", services=(hangs,)))


AS_SOMEBODY = """
import asyncio, os, sys
from pathlib import Path
os.environ["AGENTGYM_CACHE"] = str(Path(sys.argv[1]).parent / "cache")
from oci_layout import small_root, write_layout
from test_image_roots import EXPECTED, LAYERS
from agentgym.records import Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider

async def main():
    recipe = Recipe("small", image=write_layout("small", small_root(*LAYERS)))
    provider = BubblewrapProvider(Path(sys.argv[1]))
    box = await provider.start(recipe)
    script = "cd /srv; cat closed/in link; echo x > closed/more; id -u"
    done = await box.exec(["/bin/sh", "-c", script])
    print(done.stdout, done.stderr)
    tree = await provider.open_tree(await box.seal())
    seen = {}
    for path, found in tree.walk("/srv"):
        size = found.size if found.kind == "file" else None
        seen[path] = (found.kind, found.mode, size, found.target, found.mtime_s)
    assert seen.pop("/srv/closed/more")[2] == 2
    del seen["/srv/closed"], EXPECTED["/srv/closed"]
    assert seen == EXPECTED
    await provider.prune(())
    print(sorted(path.name[:4] for path in (Path(sys.argv[1]) / "l").iterdir()))
    await provider.close()

asyncio.run(main())
"""


def test_an_ordinary_user_has_the_same_files(as_somebody):
    said, left = as_somebody(AS_SOMEBODY).splitlines()
    assert said == str(b"inkept0\n") + " " + str(b"")
    # In use until the process ends: three layers and what lies below every image.
    assert left == "['img-', 'img-', 'img-', 'root']"
