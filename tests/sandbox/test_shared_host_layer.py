"""The base layer of stores: each links to the same files, and gets what it would write itself."""

import os
from pathlib import Path

import pytest

from agentgym.sandbox.hostroot import build_host_layer, host_layer_name
from agentgym.sandbox.launch import sandbox_owner
from agentgym.sandbox.shared_host_layer import link_host_layer, remove_old_host_layers


@pytest.fixture
def shared(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_RUNTIMES", str(tmp_path / "shared"))
    return tmp_path / "shared"


def listed(layer: Path):
    """What a sandbox can see of a layer, by path."""
    found = {}
    for path in (layer, *layer.rglob("*")):
        info = path.lstat()
        content = b""
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = path.read_bytes()
        attributes = {n: os.getxattr(path, n, follow_symlinks=False) for n in attributes_of(path)}
        found[str(path.relative_to(layer))] = (
            *(info.st_mode, info.st_uid, info.st_gid, info.st_mtime),
            *(content, attributes),
        )
    return found


def attributes_of(path):
    return os.listxattr(path, follow_symlinks=False)


def test_a_linked_layer_is_the_same_as_one_written_in_place(tmp_path, shared):
    owner = sandbox_owner()
    link_host_layer(tmp_path / "first", owner)
    link_host_layer(tmp_path / "second", owner)
    build_host_layer(tmp_path / "own", owner)
    own = listed(tmp_path / "own")
    assert "usr/local" in own and own["usr/local"][-1], "the host's /usr/local is not hidden"
    assert listed(tmp_path / "first") == listed(tmp_path / "second") == own
    name = "etc/nsswitch.conf"
    assert (tmp_path / "first" / name).samefile(tmp_path / "second" / name)
    assert not (tmp_path / "first" / name).samefile(tmp_path / "own" / name)


def test_a_store_on_another_file_system_writes_its_own(tmp_path, shared, monkeypatch):
    owner = sandbox_owner()
    build_host_layer(tmp_path / "own", owner)

    def refuse(*_, **__):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    link_host_layer(tmp_path / "far", owner)
    assert listed(tmp_path / "far") == listed(tmp_path / "own")


def test_old_layers_are_removed_and_what_links_to_them_stays(tmp_path, shared):
    owner = sandbox_owner()
    link_host_layer(tmp_path / "layer", owner)
    before = listed(tmp_path / "layer")
    assert remove_old_host_layers() == 0
    (shared / f"{host_layer_name()}-{owner}").rename(shared / f"host-000000000000-{owner}")
    assert remove_old_host_layers() > 10_000
    assert not list(shared.glob("host-*"))
    assert listed(tmp_path / "layer") == before
