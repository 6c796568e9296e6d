"""Our reading of overlay layers against the kernel's: what the guest sees is the truth."""

import hashlib
import os
import random
import shlex
import stat
import struct
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

from agentgym.errors import SandboxLimitError
from agentgym.records import ChangeKind
from agentgym.sandbox.layers import changes as layer_changes
from agentgym.sandbox.layers.access import LayerAccess, layers_bounded
from agentgym.sandbox.layers.merging import squash
from agentgym.sandbox.layers.removal import remove
from agentgym.sandbox.layers.stack import Stack
from agentgym.sandbox.layers.tree import LayerTree

NAMES = ("a", "b", "c", "d e", "ü")
LAYERS = 5


def program(rng):
    """Return a shell script of random file operations below /srv."""
    lines = ["cd /srv"]
    for _ in range(rng.randint(4, 14)):
        path = shlex.quote("/".join(rng.choice(NAMES) for _ in range(rng.randint(1, 3))))
        other = shlex.quote("/".join(rng.choice(NAMES) for _ in range(rng.randint(1, 2))))
        lines.append(
            rng.choice(
                (
                    f"mkdir -p {path}",
                    f"mkdir -p $(dirname {path}); echo {rng.random()} > {path}",
                    f"rm -rf {path}",
                    f"rm -rf {path}; mkdir -p {path}",
                    f"mv {path} {other}",
                    f"ln -s {other} {path}",
                    f"chmod {rng.choice(('700', '755', '000'))} {path}",
                    f"cp -a {path} {other}",
                    f"touch {path}",
                )
            )
            + " 2>/dev/null"
        )
    return "\n".join([*lines, "true"])


async def kernel_view(box):
    """What is below /srv: path to (type, mode, link target or content)."""
    listing = await box.exec(["find", "/srv", "-mindepth", "1", "-printf", "%p\\t%y\\t%m\\t%l\\n"])
    found = {}
    for line in listing.stdout.decode().splitlines():
        path, kind, mode, target = line.split("\t")
        content = b""
        if kind == "f":
            content = await box.read_file(path)
        found[path] = (kind, int(mode, 8), target, hashlib.sha256(content).hexdigest())
    return found


def our_view(tree):
    kinds = {"file": "f", "dir": "d", "link": "l"}
    found = {}
    for path, seen in tree.walk("/srv"):
        content = tree.read(path) if seen.kind == "file" else b""
        digest = hashlib.sha256(content).hexdigest()
        found[path] = (kinds[seen.kind], seen.mode, seen.target, digest)
    return found


@pytest.mark.parametrize(
    ("provider", "seed"),
    [("bubblewrap", seed) for seed in range(4)]
    + [pytest.param("bubblewrap", seed, marks=pytest.mark.full) for seed in range(4, 12)]
    # Docker's layers are read by the same code, and each of these starts six containers.
    + [pytest.param("docker", 0, marks=pytest.mark.docker)]
    + [
        pytest.param("docker", seed, marks=[pytest.mark.docker, pytest.mark.full])
        for seed in range(1, 12)
    ],
    indirect=["provider"],
)
async def test_layers_are_read_as_the_kernel_reads_them(provider, recipe, seed, tmp_path):
    rng = random.Random(seed)
    views, snapshots = [{}], []
    box = await provider.start(recipe())
    snapshots.append(await box.snapshot())
    for _ in range(LAYERS):
        await box.exec(["bash", "-c", program(rng)])
        views.append(await kernel_view(box))
        snapshots.append(await box.snapshot())
        await box.close()
        box = await provider.start(recipe(), snapshots[-1])
    for view, snapshot in zip(views[1:], snapshots[1:], strict=True):
        assert our_view(await provider.open_tree(snapshot)) == view
    for _ in range(LAYERS):
        # Forwards and backwards: a comparison needs no common line of descent.
        one, two = rng.sample(range(LAYERS + 1), 2)
        before, after = views[one], views[two]
        expected = {
            **dict.fromkeys(after.keys() - before.keys(), ChangeKind.ADDED),
            **dict.fromkeys(before.keys() - after.keys(), ChangeKind.DELETED),
            **dict.fromkeys(
                (p for p in before.keys() & after.keys() if before[p] != after[p]),
                ChangeKind.MODIFIED,
            ),
        }
        changes = await provider.compare(snapshots[one], snapshots[two])
        assert {c.path: c.kind for c in changes} == expected
    tree = await provider.open_tree(snapshots[-1])
    folders, opaque = tree._layers, tree._opaque
    merged = str(tmp_path / "merged")
    squash(folders[:-1], merged, opaque)
    whole, short = Stack(folders, opaque=opaque), Stack([merged, folders[-1]], opaque=opaque)
    assert [p for p, _ in short.walk("/srv")] == [p for p, _ in whole.walk("/srv")]
    for path, (host, info) in whole.walk("/srv"):
        other_host, other = dict(short.walk("/srv"))[path]
        assert (other.st_mode, other.st_uid) == (info.st_mode, info.st_uid)
        if stat.S_ISREG(info.st_mode):
            assert Path(other_host).read_bytes() == Path(host).read_bytes()
    remove(merged)
    await box.close()


@pytest.mark.parametrize("direct", [os.geteuid() == 0, False])
def test_a_merged_layer_takes_no_more_of_the_disk_than_its_layers(tmp_path, direct):
    low, top, merged = (tmp_path / name for name in ("low", "top", "merged"))
    (low / "d").mkdir(parents=True)
    (top / "d").mkdir(parents=True)
    with (top / "holes").open("wb") as file:
        file.truncate(2**30)
        file.seek(2**20)
        file.write(b"x" * 5000)
    (top / "a").write_bytes(b"y" * 100_000)
    (low / "d/old").write_text("old")
    (low / "older").hardlink_to(low / "d/old")
    for name in ("b", "d/c", "d/old"):
        (top / name).hardlink_to(top / "a")
    with closing(LayerAccess(direct)) as access:
        access.call("squash", [str(top), str(low)], str(merged))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["low", "merged", "top"]
    holes = merged / "holes"
    assert holes.stat().st_size == 2**30 and holes.stat().st_blocks < 100
    with holes.open("rb") as file:
        assert file.read(2**20 + 5001) == bytes(2**20) + b"x" * 5000 + b"\0"
    assert {(merged / name).stat().st_ino for name in ("a", "b", "d/c", "d/old")} == {
        (merged / "a").stat().st_ino
    }
    assert (merged / "a").stat().st_nlink == 4 and (merged / "d/old").read_bytes()[:1] == b"y"
    assert (merged / "older").read_text() == "old"


def test_remove_takes_any_modes_and_is_silent_about_nothing(tmp_path):
    (tmp_path / "t/a/b").mkdir(parents=True)
    (tmp_path / "t/a/b/f").write_text("x")
    (tmp_path / "t/link").symlink_to(tmp_path)
    (tmp_path / "t/a/b").chmod(0)
    (tmp_path / "t/a").chmod(0)
    remove(str(tmp_path / "t"))
    remove(str(tmp_path / "t"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bound", ["MOST_CHANGES", "MOST_PATH_BYTES"])
def test_no_more_is_looked_through_than_the_bounds_say(tmp_path, monkeypatch, bound):
    base, upper = tmp_path / "base", tmp_path / "upper"
    (base / "srv").mkdir(parents=True)
    for number in range(30):  # of what nobody wrote there may be any number
        (base / "srv" / f"old-{number}").touch()
    (upper / "srv").mkdir(parents=True)
    for number in range(9):
        (upper / "srv" / f"{number}").touch()
    stacks = [str(base)], [str(upper), str(base)], {}
    most = 10 if bound == "MOST_CHANGES" else len("/srv") + 9 * len("/srv/0")
    monkeypatch.setattr(layer_changes, bound, most)
    assert len(layer_changes.changes(*stacks)) == 9
    monkeypatch.setattr(layer_changes, bound, most - 1)
    with pytest.raises(SandboxLimitError, match="names were changed"), layers_bounded():
        layer_changes.changes(*stacks)


def test_access_control_lists_are_read_as_text(tmp_path):
    base = struct.pack("<IHHIHHIHHI", 2, 1, 7, 2**32 - 1, 4, 5, 2**32 - 1, 32, 0, 2**32 - 1)
    named = struct.pack(
        "<IHHIHHIHHIHHIHHI",
        *(2, 1, 6, 2**32 - 1, 2, 4, 0, 4, 0, 2**32 - 1, 16, 4, 2**32 - 1, 32, 0, 2**32 - 1),
    )
    folder, file = tmp_path / "folder", tmp_path / "folder" / "file"
    folder.mkdir()
    file.touch()
    os.setxattr(folder, "system.posix_acl_default", base)
    os.setxattr(file, "system.posix_acl_access", named)
    tree = LayerTree(LayerAccess(privileged=True), [str(tmp_path)], {})
    there, inside = tree.stat("/folder"), tree.stat("/folder/file")
    assert (there.acl, there.default_acl) == ("", "u::rwx,g::r-x,o::---")
    assert (inside.acl, inside.default_acl) == ("u::rw-,u:0:r--,g::---,m::r--,o::---", "")


def test_a_folder_of_many_names_is_removed_without_a_list_of_them(tmp_path):
    folder = tmp_path / "layer"
    (folder / "below" / "deeper").mkdir(parents=True)
    (folder / "0").touch()
    for number in range(1, 40_000):
        os.link(folder / "0", folder / f"{number}")
    tracemalloc.start()
    try:
        remove(str(folder))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not folder.exists()
    assert peak < 3 << 20
