"""Imported images: from a registry (through skopeo), an OCI archive or `docker save`.

Formats: OCI image-spec 1.1 (image-layout.md, manifest.md) and Docker's image spec 1.2. The import
checks every blob against its digest.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Any

from agentgym.errors import MissingExtraError, SandboxError
from agentgym.records import Json, bounds
from agentgym.regular_file import read_regular
from agentgym.sandbox.build.tar_members import BoundedMember, Room
from agentgym.sandbox.images import ARCHITECTURE, ImageLayout, Layer

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PULL_S = 1800.0
_PIECE_BYTES = 16 << 20
_BROKEN = (
    *(OSError, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, RecursionError),
    *(ValueError, KeyError, TypeError, AttributeError, IndexError),
)
"""The errors of reading a damaged or hostile archive."""
Taken = tuple[tuple[Layer, ...], dict[str, Json]]
"""The layers of an image, stored among the layout's blobs, and its `config` object."""


def pull(reference: str, room: Path, layout: ImageLayout) -> Taken:
    """Fetch an image from its registry.

    Raises:
        MissingExtraError: skopeo is not installed.
        SandboxError: The registry does not answer or lacks the image.
    """
    if shutil.which("skopeo") is None:
        raise MissingExtraError("skopeo, which fetches images,", "apt-get install skopeo")
    folder = room / "pulled"
    argv = ["skopeo", "copy", "--quiet", "--insecure-policy"]
    if reference.split("/")[0].split(":")[0] in ("localhost", "127.0.0.1"):
        argv.append("--src-tls-verify=false")
    argv += [f"docker://{reference}", f"oci:{folder}:image"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=_PULL_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise SandboxError(f"{reference} was not fetched within {_PULL_S:.0f} s") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise SandboxError(
            f"the image {reference} cannot be fetched: {last[-400:]}\n"
            "    if no registry answers, begin with debootstrap, or carry the image over: on a "
            f"machine that has it, `docker save {reference} -o image.tar`; here, "
            'archive = "image.tar"'
        )
    return take_layout(folder, layout)


def open_archive(path: Path, room: Path, layout: ImageLayout) -> Taken:
    """Read an OCI archive or an archive of `docker save`.

    Raises:
        SandboxError: The file has another format or is damaged.
    """
    folder = room / "archive"
    try:
        with tarfile.open(path, "r:*", tarinfo=BoundedMember) as archive:
            _extract(archive, folder)
        if (folder / "index.json").is_file():
            return take_layout(folder, layout)
        if (folder / "manifest.json").is_file():
            return _take_saved(folder, layout)
    except _BROKEN as error:
        raise SandboxError(f"{path} is not an image archive, or damaged: {error!r:.300}") from error
    raise SandboxError(
        f"{path} has neither index.json nor manifest.json; expected what `docker save IMAGE` or "
        "`skopeo copy … oci-archive:FILE` writes"
    )


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive only below a folder; links become copies of their targets.

    Raises:
        ValueError: They would fill the disk.
    """
    room = Room(folder.parent)
    for member in archive:
        path = folder / os.path.normpath(f"/{member.name}").lstrip("/")
        if not (member.isreg() or member.issym() or member.islnk()):
            continue
        content = archive.extractfile(member)
        assert content is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            while piece := content.read(_PIECE_BYTES):
                room.check()
                file.write(piece)


def take_layout(folder: Path, layout: ImageLayout) -> Taken:
    """Take the image for this machine out of an OCI image layout."""
    entry: Mapping[str, Any] = {"digest": "", "mediaType": "index"}
    document = _document(folder / "index.json")
    while "manifests" in document:
        entry = _for_this_machine(document["manifests"])
        document = _document(_checked(folder, entry))
    config = _document(_checked(folder, document["config"]))
    blobs = [_checked(folder, entry) for entry in document["layers"]]
    return _take(blobs, config, layout)


def _for_this_machine(entries: list[dict[str, Any]]) -> dict[str, Any]:
    if len(entries) == 1:
        return entries[0]
    for entry in entries:
        platform = entry.get("platform", {})
        if (platform.get("os"), platform.get("architecture")) == ("linux", ARCHITECTURE):
            return entry
    raise ValueError(f"{len(entries)} images, and none of them is for linux/{ARCHITECTURE}")


def _checked(folder: Path, entry: Mapping[str, Any]) -> Path:
    digest: str = entry["digest"]
    path = folder / "blobs" / digest.replace(":", "/")
    if _sha256(path) != digest:
        raise ValueError(f"the content of {digest} is another")
    return path


def _take_saved(folder: Path, layout: ImageLayout) -> Taken:
    """Take the first image of `docker save`, whose layers are plain tars."""
    (manifest, *_) = _document(folder / "manifest.json")
    config = _document(_below(folder, manifest["Config"]))
    blobs = [_below(folder, name) for name in manifest["Layers"]]
    for blob, diff_id in zip(blobs, config["rootfs"]["diff_ids"], strict=True):
        if not _starts(blob, _GZIP) and _sha256(blob) != diff_id:
            raise ValueError(f"the content of {blob.name} is not {diff_id}")
    return _take(blobs, config, layout)


def _below(folder: Path, name: str) -> Path:
    """Return the path of a file that an archive names, which is a file of the archive."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{name:.200} is no file of the archive")
    return path


def _document(path: Path) -> Any:
    text = read_regular(path).decode()
    if bounds.is_too_rich(text):
        raise ValueError(f"{path.name} has more values than an image needs")
    return json.loads(text)


def _take(blobs: list[Path], config: Mapping[str, Any], layout: ImageLayout) -> Taken:
    layers = []
    for blob, diff_id in zip(blobs, config["rootfs"]["diff_ids"], strict=True):
        if _starts(blob, _ZSTD):
            raise ValueError(
                "its layers are compressed with zstd; copy it with "
                "skopeo copy --dest-compress-format gzip --dest-force-compress-format"
            )
        digest = layout.adopt(blob)
        layers.append(Layer(diff_id, layout.blob(digest), _starts(blob, _GZIP)))
    return tuple(layers), dict(config.get("config") or {})


def _starts(path: Path, magic: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return f"sha256:{file_digest(file, 'sha256').hexdigest()}"
