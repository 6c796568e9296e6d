"""The base layer that stores link from one folder is the one that would have been built there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentgym.sandbox import launch, shared_base
from agentgym.sandbox.hostroot import build_host_layer, host_layer_name
from agentgym.sandbox.shared_base import link_host_layer, remove_old_host_layers

OWNER = launch.sandbox_owner() if os.geteuid() == 0 else os.getuid()
LINK = "import sys; from pathlib import Path; from agentgym.sandbox.shared_base import *\n"
LINK += "link_host_layer(Path(sys.argv[1]), int(sys.argv[2]))"


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A folder of shared layers that only this test uses."""
    monkeypatch.setenv("AGENTGYM_RUNTIMES", str(tmp_path / "shared"))
    return tmp_path / "shared"


def listing(layer):
    """Return what an overlay shows of each path: kind, owner, mode, time, content, attributes."""
    found = {}
    for path in [layer, *layer.rglob("*")]:
        info = path.lstat()
        content = b""
        if path.is_symlink():
            content = os.fsencode(os.readlink(path))
        elif path.is_file():
            content = path.read_bytes()
        names = os.listxattr(path, follow_symlinks=False)
        attributes = {name: os.getxattr(path, name, follow_symlinks=False) for name in names}
        owned = (info.st_uid, info.st_gid, info.st_mode, info.st_mtime_ns)
        found[str(path.relative_to(layer))] = (*owned, content, attributes)
    return found


@pytest.mark.parametrize("links", [True, False])
def test_a_linked_layer_is_like_a_built_one(tmp_path, shared, links, monkeypatch):
    if not links:
        monkeypatch.setattr(shared_base, "_linked", lambda source, target: False)
    build_host_layer(tmp_path / "built", OWNER)
    link_host_layer(tmp_path / "linked", OWNER)
    link_host_layer(tmp_path / "again", OWNER)
    assert listing(tmp_path / "linked") == listing(tmp_path / "built")
    assert listing(tmp_path / "again") == listing(tmp_path / "built")
    files = [path for path in (tmp_path / "again").rglob("*") if not path.is_dir()]
    assert {path.stat().st_nlink for path in files if not path.is_symlink()} == {1}
    (assembled,) = shared.glob("host-*")
    link = next(path for path in files if path.is_symlink())
    twin = assembled / link.relative_to(tmp_path / "again")
    assert (twin.lstat().st_ino == link.lstat().st_ino) == links


def test_several_processes_make_one_layer_whatever_a_dead_one_left(tmp_path, shared):
    left = shared / f".{host_layer_name()}-{OWNER}/etc"
    left.mkdir(parents=True)
    (left / "passwd").write_text("half\n")
    makers = [
        subprocess.Popen([sys.executable, "-c", LINK, tmp_path / str(n), str(OWNER)])
        for n in range(3)
    ]
    assert [maker.wait() for maker in makers] == [0] * 3
    assert len(list(shared.glob("*host-*"))) == 1
    build_host_layer(tmp_path / "built", OWNER)
    assert all(listing(tmp_path / str(n)) == listing(tmp_path / "built") for n in range(3))


def test_layers_of_another_state_of_the_host_are_removed_and_links_stay(tmp_path, shared):
    link_host_layer(tmp_path / "linked", OWNER)
    (current,) = shared.glob("host-*")
    before = listing(tmp_path / "linked")
    assert remove_old_host_layers() == 0
    current.rename(shared / f"host-000000000000-{OWNER}")
    assert remove_old_host_layers() > 10_000
    assert not list(shared.glob("host-*-*"))
    assert listing(tmp_path / "linked") == before
    assert Path(tmp_path / "linked/etc/passwd").is_file()
