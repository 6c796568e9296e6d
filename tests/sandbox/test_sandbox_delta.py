"""Archives of layers: everything a guest can make survives; nothing leads out of the folder."""

from __future__ import annotations

import errno
import io
import os
import stat
import tarfile

import pytest

from agentgym.sandbox.docker.layer import pack
from agentgym.sandbox.layers import delta_packing, delta_unpacking
from agentgym.sandbox.layers.access import LayerAccess
from agentgym.sandbox.layers.stack import OPAQUE

ROOM = (1 << 24, 1000)


@pytest.fixture(params=[os.geteuid() == 0, False], ids=["direct", "in a user namespace"])
def access(request):
    access = LayerAccess(request.param)
    yield access
    access.close()


def fill(layer):
    """Make a layer with one of each kind of entry."""
    layer.mkdir()
    (layer / "file").write_bytes(b"x" * 3000)
    (layer / "file").chmod(0o4711)
    os.setxattr(layer / "file", "user.note", b"\0\xff\n=v")
    os.link(layer / "file", layer / "second")
    (layer / "link").symlink_to("/etc/passwd")
    os.mkfifo(layer / "pipe")
    (layer / "folder").mkdir(mode=0o700)
    os.setxattr(layer / "folder", OPAQUE, b"y")
    (layer / "folder" / ".wh.name").write_text("an odd name")
    (layer / os.fsdecode(b"n\xff" * 90)).write_text("a name that is no text")
    with open(layer / "sparse", "wb") as file:
        file.seek(40 << 30)
        file.write(b"end")
        file.truncate(60 << 30)
    with open(layer / "hole", "wb") as file:
        file.truncate(1 << 20)
    os.utime(layer / "file", (1_000_000_000, 1_000_000_000))


def described(layer):
    """Return what a layer holds, by name."""
    found = {}
    for path in layer.rglob("*"):
        info = path.lstat()
        target = os.readlink(path) if path.is_symlink() else ""
        is_small = stat.S_ISREG(info.st_mode) and info.st_size < 10_000
        opaque = path.is_dir() and not path.is_symlink() and os.getxattr(path, OPAQUE)
        text = path.read_bytes() if is_small else info.st_size * path.is_file()
        found[path.relative_to(layer)] = (info.st_mode, info.st_rdev, target, opaque, text)
    return found


def test_a_folder_with_more_attributes_than_can_be_listed_still_hides_what_is_below(
    tmp_path, monkeypatch
):
    def too_long(path, *, follow_symlinks):
        raise OSError(errno.E2BIG, "too long", path)

    fill(tmp_path / "layer")
    with monkeypatch.context() as patched:
        patched.setattr(os, "listxattr", too_long)
        delta_packing.pack(str(tmp_path / "layer"), str(tmp_path / "kept"), OPAQUE, 0, *ROOM)
    with tarfile.open(tmp_path / "kept") as archive:
        hiding = [member.name for member in archive if "AGENTGYM.opaque" in member.pax_headers]
    assert hiding == ["folder"]


# Names that a pax header cannot hold: no UTF-8, and with the sign that ends a name there.
ODD_ATTRIBUTES = (b"user.\xff\xfe", b"user.a=b")


def write_odd_attributes(path):
    """Give a file attributes that no archive can hold, as a guest may."""
    for name in ODD_ATTRIBUTES:
        os.setxattr(path, name, b"v")
    if os.geteuid() == 0:
        # The kernel takes it, and does not give it back.
        os.setxattr(path, "security.capability", b"")
        with pytest.raises(OSError):
            os.getxattr(path, "security.capability")


def test_attributes_that_no_archive_can_name_are_left_out(tmp_path, access):
    layer, copy, archive = tmp_path / "layer", tmp_path / "copy", tmp_path / "a.tar"
    fill(layer)
    write_odd_attributes(layer / "file")
    first_id = 0 if os.geteuid() == 0 else None
    access.call("pack", str(layer), str(archive), OPAQUE, 0, *ROOM)
    access.call("unpack", str(archive), str(copy), OPAQUE, first_id, *ROOM)
    assert os.listxattr(copy / "file") == ["user.note"]
    assert os.getxattr(copy / "file", "user.note") == b"\0\xff\n=v"


def test_such_attributes_do_not_break_an_image_layer(tmp_path):
    (tmp_path / "file").write_text("x")
    write_odd_attributes(tmp_path / "file")
    os.setxattr(tmp_path / "file", "user.note", b"v")
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w", format=tarfile.PAX_FORMAT) as packed:
        pack(str(tmp_path), packed, opaque=OPAQUE)
    layer.seek(0)
    with tarfile.open(fileobj=layer) as packed:
        headers = packed.getmember("file").pax_headers
        assert {name for name in headers if "xattr" in name} == {"SCHILY.xattr.user.note"}


def test_every_kind_of_entry_survives(tmp_path, access):
    layer, copy, archive = tmp_path / "layer", tmp_path / "copy", tmp_path / "a.tar"
    fill(layer)
    if os.geteuid() == 0:
        os.mknod(layer / "folder" / "deleted", stat.S_IFCHR)
    first_id = 0 if os.geteuid() == 0 else None
    size = access.call("pack", str(layer), str(archive), OPAQUE, 0, *ROOM)
    assert size == archive.stat().st_size < 100_000
    access.call("unpack", str(archive), str(copy), OPAQUE, first_id, *ROOM)
    assert described(layer) == described(copy)
    assert os.getxattr(copy / "file", "user.note") == b"\0\xff\n=v"
    assert (copy / "file").stat().st_ino == (copy / "second").stat().st_ino
    assert (copy / "file").stat().st_mtime == 1_000_000_000
    assert (copy / "sparse").stat().st_blocks * 512 < 1 << 20
    assert (copy / "sparse").stat().st_size == 60 << 30
    with open(copy / "sparse", "rb") as file:
        file.seek(40 << 30)
        assert file.read(5) == b"end\0\0"


TIMES_NS = (1, -1, 10_000, -500_000_000, 1_700_000_000_123_456_789, -(2**31) * 10**9, 2**33 * 10**9)


def touched(layer):
    layer.mkdir()
    for number, time_ns in enumerate(TIMES_NS):
        (layer / str(number)).touch()
        os.utime(layer / str(number), ns=(time_ns, time_ns))
    return [(layer / str(number)).stat().st_mtime_ns for number in range(len(TIMES_NS))]


def test_times_survive_to_the_nanosecond(tmp_path):
    times = touched(tmp_path / "layer")
    delta_packing.pack(str(tmp_path / "layer"), str(tmp_path / "a.tar"), OPAQUE, 0, *ROOM)
    delta_unpacking.unpack(str(tmp_path / "a.tar"), str(tmp_path / "copy"), OPAQUE, None, *ROOM)
    copies = [(tmp_path / "copy" / str(number)).stat() for number in range(len(TIMES_NS))]
    assert [copy.st_mtime_ns for copy in copies] == times


def test_a_layer_of_docker_has_its_times_in_digits(tmp_path):
    times = touched(tmp_path / "layer")
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w", format=tarfile.PAX_FORMAT) as packed:
        pack(str(tmp_path / "layer"), packed, opaque=OPAQUE)
    layer.seek(0)
    with tarfile.open(fileobj=layer) as packed:
        headers = {member.name: member.pax_headers.get("mtime") for member in packed}
    assert [headers[str(number)] for number in range(4)] == [
        *("0.000000001", "-0.000000001", "0.000010000", "-0.500000000")
    ]
    assert headers["4"] == f"{times[4] // 10**9}.{times[4] % 10**9:09d}"


def test_a_layer_of_docker_hides_no_name(tmp_path):
    layer = tmp_path / "layer"
    names = (".wh.a", "_wh.a", ".wh..wh..opq", ".wh.", ".wh." + "n" * 251, "folder/.wh.b/.wh.c/d")
    for name in names:
        (layer / name).parent.mkdir(parents=True, exist_ok=True)
        (layer / name).write_text(name)
    os.link(layer / ".wh.a", layer / "z")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        pack(str(layer), archive, opaque=OPAQUE)
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        members = [member for member in archive if not member.isdir()]
        texts = {archive.extractfile(member).read().decode() for member in members}
    assert texts == set(names)
    found = {member.name for member in members}
    assert len(found) == len(names) + 1
    assert not any(part.startswith(".wh.") for name in found for part in name.split("/"))


@pytest.mark.parametrize("room", [(10_000, 1000), (1 << 24, 5)])
def test_a_layer_over_the_bounds_is_refused(tmp_path, room):
    fill(tmp_path / "layer")
    with pytest.raises(OSError, match="it has more than"):
        delta_packing.pack(str(tmp_path / "layer"), str(tmp_path / "a.tar"), OPAQUE, 0, *room)


def member(name, kind=tarfile.REGTYPE, **fields):
    made = tarfile.TarInfo(name)
    made.type = kind
    for field, value in fields.items():
        setattr(made, field, value)
    return made


OVERLAY = {"SCHILY.xattr.user.overlay.redirect": "/etc"}
HOSTILE = {
    "up": [member("../evil")],
    "absolute": [member("/tmp/evil")],
    "dots": [member("a/..", tarfile.DIRTYPE)],
    "through a link": [member("d", tarfile.SYMTYPE, linkname="/tmp"), member("d/evil")],
    "hard link out": [member("h", tarfile.LNKTYPE, linkname="../../etc/passwd")],
    "hard link to a link": [
        member("s", tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("h", tarfile.LNKTYPE, linkname="s"),
    ],
    "device": [member("mem", tarfile.CHRTYPE, devmajor=1, devminor=1)],
    "disk": [member("sda", tarfile.BLKTYPE, devmajor=8)],
    "twice": [member("a"), member("a")],
    "redirect": [member("d", tarfile.DIRTYPE, pax_headers=OVERLAY)],
    "owner": [member("a", uid=1 << 40)],
    "time": [member("a", mtime=10**20)],
    "time without an end": [member("a", pax_headers={"mtime": "inf"})],
    "many": [member(str(n)) for n in range(30)],
    "ends early": [member("a", size=500_000)],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_and_writes_nothing_outside(tmp_path, name):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for one in HOSTILE[name]:
            archive.addfile(one) if not one.size else archive.fileobj.write(one.tobuf())
    (tmp_path / "a.tar").write_bytes(buffer.getvalue())
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OSError):
        delta_unpacking.unpack(
            *(str(tmp_path / "a.tar"), str(tmp_path / "layer"), OPAQUE, None), 1 << 20, 20
        )
    assert sorted(tmp_path.iterdir()) == [*before, tmp_path / "layer"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize(
    ("first_id", "owners"),
    [(0, (65_535, 65_536, 4_294_967_294)), (100_000, (165_534, 165_534, 165_534))],
    ids=["ids of the host", "ids of a user namespace"],
)
def test_a_file_of_any_owner_is_kept(tmp_path, first_id, owners):
    (tmp_path / "layer").mkdir()
    for name in (65_535, 65_536, 4_294_967_294):
        (tmp_path / "layer" / str(name)).touch()
        os.chown(tmp_path / "layer" / str(name), name, name)
    delta_packing.pack(str(tmp_path / "layer"), str(tmp_path / "a.tar"), OPAQUE, 0, *ROOM)
    delta_unpacking.unpack(str(tmp_path / "a.tar"), str(tmp_path / "copy"), OPAQUE, first_id, *ROOM)
    copies = sorted((tmp_path / "copy").iterdir(), key=lambda path: int(path.name))
    assert tuple(path.stat().st_uid for path in copies) == owners
