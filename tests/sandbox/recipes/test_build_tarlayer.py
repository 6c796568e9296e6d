"""Layer directories and tars, one into the other, through the worker that has a root of its own."""

from __future__ import annotations

import contextlib
import os
import stat
import tarfile
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tiny_images import add

from agentgym.errors import AgentGymError, SandboxError
from agentgym.sandbox.build import tarlayer
from agentgym.sandbox.build.worker import Worker, as_root
from agentgym.sandbox.layers.stack import Stack

CAPABILITY = bytes.fromhex("0100000200200000000000000000000000000000")


def unpack(archive: Path, folder: Path) -> None:
    """Unpack in a process of its own, which loses its root by that."""
    try:
        as_root()
    except AgentGymError as error:
        pytest.skip(str(error))
    with open(os.devnull) as lock:
        Worker(folder.parent, lock.fileno()).call(
            "unpack", file=str(archive), folder=folder.name, timeout_s=60
        )


def test_everything_that_a_file_can_be_survives(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can make these files")
    upper = tmp_path / "upper"
    (upper / "d/opaque").mkdir(parents=True)
    os.setxattr(upper / "d/opaque", "user.overlay.opaque", b"y")
    os.setxattr(upper / "d", "user.overlay.impure", b"y")
    (upper / "d/file").write_bytes(b"\0content" * 1000)
    os.chown(upper / "d/file", 1000, 2000)
    os.chmod(upper / "d/file", 0o4755)
    os.utime(upper / "d/file", (5, 12345))
    os.link(upper / "d/file", upper / "d/hard")
    os.symlink("../nowhere", upper / "d/link")
    (upper / "empty").touch()
    os.setxattr(upper / "empty", "security.capability", CAPABILITY)
    os.setxattr(upper / "empty", "user.note", b"\xff\0 kept")
    (upper / ("n" * 200)).touch()
    # The kernel takes it, and does not give it back.
    os.setxattr(upper / ("n" * 200), "security.capability", b"")
    (upper / "d" / os.fsdecode(b"caf\xe9")).touch()
    os.mknod(upper / "gone", stat.S_IFCHR)
    os.mknod(upper / "device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    os.mkfifo(upper / "pipe")
    (upper / ".wh.pretender").touch()

    tarlayer.pack(str(upper), str(tmp_path / "layer.tar"))
    with tarfile.open(tmp_path / "layer.tar") as archive:
        names = archive.getnames()
    assert names == sorted(names[:1]) + names[1:]
    assert {"d/opaque/.wh..wh..opq", ".wh.gone", "d/hard"} <= set(names)
    assert not {"device", "pipe", ".wh.pretender", "gone"} & set(names)

    again = tmp_path / "again"
    unpack(tmp_path / "layer.tar", again)
    info = (again / "d/file").lstat()
    assert (info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)) == (1000, 2000, 0o4755)
    assert (int(info.st_mtime), info.st_nlink) == (12345, 2)
    assert (again / "d/hard").read_bytes() == b"\0content" * 1000
    assert os.readlink(again / "d/link") == "../nowhere"
    assert os.getxattr(again / "empty", "security.capability") == CAPABILITY
    assert os.getxattr(again / "empty", "user.note") == b"\xff\0 kept"
    assert os.listxattr(again / "d") == []
    assert os.getxattr(again / "d/opaque", "user.overlay.opaque") == b"y"
    assert stat.S_ISCHR((again / "gone").lstat().st_mode) and (again / "gone").lstat().st_rdev == 0
    assert os.fsencode(b"caf\xe9") in os.listdir(os.fsencode(again / "d"))
    tarlayer.pack(str(again), str(tmp_path / "again.tar"))
    assert (tmp_path / "again.tar").read_bytes() == (tmp_path / "layer.tar").read_bytes()


def test_what_a_build_makes_has_one_time(tmp_path):
    (tmp_path / "u").mkdir()
    (tmp_path / "u/new").touch()
    (tmp_path / "u/old").touch()
    os.utime(tmp_path / "u/old", (1000, 1000))
    began = (tmp_path / "u/new").stat().st_mtime
    tarlayer.pack(str(tmp_path / "u"), str(tmp_path / "t"), began=began)
    with tarfile.open(tmp_path / "t") as archive:
        times = {member.name: member.mtime for member in archive}
    assert times == {"new": tarlayer.TIME, "old": 1000}


@pytest.mark.parametrize("order", [1, -1])
def test_a_name_deleted_and_made_anew_in_one_layer(tmp_path, order):
    with tarfile.open(tmp_path / "t", "w") as archive:
        folder = tarfile.TarInfo("d")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        for member in [folder, tarfile.TarInfo(".wh.d"), tarfile.TarInfo(".wh.f")][::order]:
            archive.addfile(member)
        add(archive, "d/new", b"1")
        add(archive, "f", b"2")
    unpack(tmp_path / "t", tmp_path / "out")
    assert os.getxattr(tmp_path / "out/d", "user.overlay.opaque") == b"y"
    assert (tmp_path / "out/d/new").read_bytes() == b"1"
    assert (tmp_path / "out/f").read_bytes() == b"2"


def test_a_member_that_comes_twice_replaces_what_it_was(tmp_path):
    (tmp_path / "victim").write_text("safe")
    with tarfile.open(tmp_path / "t", "w") as archive:
        link = tarfile.TarInfo("x")
        link.type, link.linkname = tarfile.SYMTYPE, "y"
        archive.addfile(link)
        add(archive, "y", b"y")
        add(archive, "x", b"x")
        hard = tarfile.TarInfo("h")
        hard.type, hard.linkname = tarfile.LNKTYPE, "../../victim"
        archive.addfile(hard)
    with contextlib.suppress(SandboxError):  # such a link may be refused
        unpack(tmp_path / "t", tmp_path / "out")
    assert (tmp_path / "out/y").read_bytes() == b"y"
    assert (tmp_path / "out/x").read_bytes() == b"x"
    assert (tmp_path / "victim").stat().st_nlink == 1


def test_a_damaged_tar_is_said(tmp_path):
    with tarfile.open(tmp_path / "t", "w") as archive:
        add(archive, "x", b"x" * 100_000)
    (tmp_path / "t").write_bytes((tmp_path / "t").read_bytes()[:50_000])
    with pytest.raises(SandboxError, match="unexpected end of data"):
        unpack(tmp_path / "t", tmp_path / "out")


NAME = st.sampled_from(["a", "b", "c"])
OPERATION = st.tuples(st.sampled_from(["file", "dir", "gone"]), NAME, NAME, st.binary(max_size=3))


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(OPERATION, max_size=6), min_size=1, max_size=3))
def test_layers_mean_the_same_as_tars(layers):
    """A stack of unpacked tars shows what applying the tars one after the other would leave."""
    if os.geteuid() != 0:
        pytest.skip("only root unpacks without a namespace")
    expected: dict[str, bytes | None] = {}
    with tempfile.TemporaryDirectory() as home:
        stack = []
        for number, operations in enumerate(layers):
            path = Path(home, f"{number}.tar")
            _write(path, operations, expected)
            unpack(path, Path(home, str(number)))
            stack.insert(0, str(Path(home, str(number))))
        merged = Stack(stack)
        found = {
            name: Path(host).read_bytes() if stat.S_ISREG(info.st_mode) else None
            for name, (host, info) in merged.walk("/")
        }
    assert found == expected


def _write(path: Path, operations: list, expected: dict[str, bytes | None]) -> None:
    """Write a layer; every folder's name is used once in it, so that the order means nothing."""
    done: set[str] = set()
    with tarfile.open(path, "w") as archive:
        for kind, folder, name, data in operations:
            inside = f"{folder}/{name}"
            used = {key for key in done if key.split("/")[0] == folder}
            if folder in done or inside in done or (used and kind == "gone"):
                continue
            if kind == "gone":
                done.add(folder)
                archive.addfile(tarfile.TarInfo(f".wh.{folder}"))
                for key in [k for k in expected if f"{k}/".startswith(f"/{folder}/")]:
                    del expected[key]
            elif kind == "dir":
                if not any(key.startswith(f"{folder}/") for key in done):
                    member = tarfile.TarInfo(folder)
                    member.type, member.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(member)
                    expected[f"/{folder}"] = None
                    done.add(f"{folder}/")
            else:
                add(archive, inside, data)
                done.add(inside)
                expected |= {f"/{folder}": None, f"/{inside}": data}
