"""Archives whose headers would take memory and time without end, in each reader of archives."""

from __future__ import annotations

import gzip
import io
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from agentgym.errors import SandboxError
from agentgym.sandbox.build.tar_members import HOLES, BoundedMember
from agentgym.sandbox.images import Layer
from agentgym.sandbox.layers import delta_unpacking
from agentgym.sandbox.unpack import unpack


def member(kind: bytes, data: bytes = b"", name: str = "file") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data)
    return info.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE)


def headers(**values: str) -> bytes:
    found = b""
    for key, value in values.items():
        text = f" {key.replace('_', '.')}={value}\n"
        size = next(n for n in range(1, 99) if n == len(f"{n}{text}"))
        found += f"{size}{text}".encode()
    return found


def with_holes(parts: int, stated: int | None = None) -> bytes:
    form = {"GNU_sparse_major": "1", "GNU_sparse_minor": "0", "GNU_sparse_name": "file"}
    table = b"%d\n" % (parts if stated is None else stated) + b"0\n0\n" * parts
    table += bytes(-len(table) % tarfile.BLOCKSIZE)
    return member(tarfile.XHDTYPE, headers(**form, GNU_sparse_realsize="9")) + member(
        tarfile.REGTYPE, table
    )


VERSION = headers(GNU_sparse_major="1", GNU_sparse_minor="0")
GLOBAL = headers(**{f"k{number}": "x" for number in range(9_000)})
HOSTILE = {
    "parts": with_holes(HOLES + 1),
    "parts that are not there": with_holes(1, stated=10**9),
    "parts of 600 digits": with_holes(1, stated=10**600),
    "parts without a number": member(
        tarfile.XHDTYPE, headers(GNU_sparse_major="1", GNU_sparse_minor="0")
    )
    + member(tarfile.REGTYPE, b"x" * 2000),
    "a table without an end": member(tarfile.GNUTYPE_SPARSE),
    "a long name": member(tarfile.GNUTYPE_LONGNAME, bytes(5 << 20)),
    "a chain": member(tarfile.XHDTYPE, headers(k="v")) * 3_000 + member(tarfile.REGTYPE),
}
FOR_LAYERS = {"global headers": member(tarfile.XGLTYPE, GLOBAL) + member(tarfile.REGTYPE)}


def archive(of: bytes) -> bytes:
    return member(tarfile.DIRTYPE, name=".") + of + bytes(2 * tarfile.BLOCKSIZE)


@pytest.mark.parametrize("name", [*HOSTILE, *FOR_LAYERS])
def test_a_kept_state_is_refused(tmp_path: Path, name: str) -> None:
    (source := tmp_path / "state.tar").write_bytes(archive({**HOSTILE, **FOR_LAYERS}[name]))
    tracemalloc.start()
    try:
        with pytest.raises(OSError, match="the archive is damaged"):
            delta_unpacking.unpack(
                str(source), str(tmp_path / "layer"), "user.o", None, 64 << 20, 1000
            )
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", HOSTILE)
def test_an_image_is_refused(tmp_path: Path, name: str) -> None:
    blob = tmp_path / "layer.tar.gz"
    blob.write_bytes(gzip.compress(archive(HOSTILE[name]), 1))
    with pytest.raises(SandboxError, match="cannot be unpacked"):
        unpack(Layer("sha256:x", blob, compressed=True), tmp_path / "layer", None)


@pytest.mark.parametrize("mode", ["r:", "r|"])
def test_an_honest_file_with_holes_is_read(mode: str) -> None:
    form = {"GNU_sparse_major": "1", "GNU_sparse_minor": "0", "GNU_sparse_name": "real"}
    data = b"2\n0\n3\n600\n3\n".ljust(512, b"\0") + b"abcxyz"
    packed = archive(
        member(tarfile.XHDTYPE, headers(**form, GNU_sparse_realsize="603"))
        + member(tarfile.REGTYPE, data)
        + member(tarfile.REGTYPE, b"next", name="next")
    )
    with tarfile.open(fileobj=io.BytesIO(packed), mode=mode, tarinfo=BoundedMember) as read:
        found = {}
        for entry in read:
            file = read.extractfile(entry)
            found[entry.name] = None if file is None else file.read()
    assert found == {".": None, "real": b"abc" + bytes(597) + b"xyz", "next": b"next"}
