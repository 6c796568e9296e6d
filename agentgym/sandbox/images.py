"""Built images on disk: one OCI image layout for this user, content-addressed.

    <cache>/images/oci-layout, index.json, blobs/    the layout of OCI image-spec 1.1
                                                     (image-layout.md)
                   steps/<digest>.json               the layers of a finished build step
                   tmp/                              files of the running build; else empty
                   lock                              held by a process that builds or prunes

The name of an image is the digest of its plan. Every file appears by a rename and is therefore
complete. The leftovers of a killed build lie below `tmp`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import file_digest, sha256
from pathlib import Path

from agentgym import catalogue
from agentgym.errors import SandboxError
from agentgym.records import Json

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
TAR_TYPE = "application/vnd.oci.image.layer.v1.tar"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
_NAME = "org.opencontainers.image.ref.name"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
ARCHITECTURE = _MACHINES.get(platform.machine(), platform.machine())
_LOCK_POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer. `diff_id` names the uncompressed tar, `path` is the blob, gzipped or not."""

    diff_id: str
    path: Path
    compressed: bool

    @property
    def size_bytes(self) -> int:
        """Bytes of the blob."""
        return self.path.stat().st_size


@dataclass(frozen=True, slots=True)
class Image:
    """A built image: its layers, bottom first, and the `config` object of its OCI config."""

    name: str
    digest: str
    layers: tuple[Layer, ...]
    config: Mapping[str, Json]
    built_s: float = 0.0

    @property
    def size_bytes(self) -> int:
        """Bytes of all layers."""
        return sum(layer.size_bytes for layer in self.layers)


def find_image(name: str) -> Image | None:
    """Return the image with a name if it is complete on this machine."""
    return ImageLayout().find(name)


def all_images() -> list[Image]:
    """Return every complete image on this machine, by name."""
    return ImageLayout().all()


def images_stamp() -> tuple[int, ...]:
    """Return numbers that change whenever an image is added or removed; empty without images."""
    try:
        found = os.stat(ImageLayout().root / "index.json")
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def prune(keep: Collection[str]) -> int:
    """Remove every image but the named ones, and all blobs that these do not need.

    Returns:
        How many bytes that freed.
    """
    layout = ImageLayout()
    if not layout.root.is_dir():
        return 0
    with layout.locked():
        return layout.prune(keep)


class ImageLayout:
    """The layout in one folder; default: below `agentgym.catalogue.cache_dir()`."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or catalogue.cache_dir() / "images"

    # --- reading ---

    def find(self, name: str) -> Image | None:
        """Return the image with a name if it is complete."""
        digest = self._index().get(name)
        return None if digest is None else self._read(name, digest)

    def all(self) -> list[Image]:
        """Return every complete image, by name."""
        found = (self._read(name, digest) for name, digest in sorted(self._index().items()))
        return [image for image in found if image is not None]

    def layers_of(self, step: str) -> tuple[tuple[Layer, ...], dict[str, Json]] | None:
        """Return the layers of a finished step, and the config if the step has one."""
        try:
            record = json.loads(self._step(step).read_text())
            layers = [
                Layer(entry["diff_id"], self.blob(entry["digest"]), entry["compressed"])
                for entry in record["layers"]
            ]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        whole = all(layer.path.is_file() for layer in layers)
        return (tuple(layers), record["config"]) if whole else None

    def blob(self, digest: str) -> Path:
        """Return the path of a blob, whether or not it exists yet."""
        return self.root / "blobs" / digest.replace(":", "/")

    def _index(self) -> dict[str, str]:
        try:
            entries = json.loads((self.root / "index.json").read_text())["manifests"]
            return {entry["annotations"][_NAME]: entry["digest"] for entry in entries}
        except (OSError, ValueError, KeyError, TypeError):
            # The file is missing or unreadable, so no image is built.
            return {}

    def _read(self, name: str, digest: str) -> Image | None:
        try:
            manifest = json.loads(self.blob(digest).read_text())
            built_s = self.blob(digest).stat().st_mtime
            config = json.loads(self.blob(manifest["config"]["digest"]).read_text())
            diff_ids = config["rootfs"]["diff_ids"]
            layers = []
            for diff_id, entry in zip(diff_ids, manifest["layers"], strict=True):
                path = self.blob(entry["digest"])
                if path.stat().st_size != entry["size"]:
                    return None
                layers.append(Layer(diff_id, path, entry["mediaType"].endswith("gzip")))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Image(name, digest, tuple(layers), config.get("config") or {}, built_s)

    # --- writing: only while holding the lock ---

    @contextlib.contextmanager
    def locked(self, on_wait: Callable[[], None] = lambda: None) -> Iterator[int]:
        """Hold the layout's lock and prepare the folder; yield the lock's descriptor.

        Args:
            on_wait: Called once if another process has the lock.

        Raises:
            SandboxError: The folder cannot be written.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SandboxError(
                f"cannot keep images in {self.root}: {error.strerror}; "
                "set AGENTGYM_CACHE to a folder you may write to"
            ) from error
        try:
            _take(handle, on_wait)
            for name in ("blobs/sha256", "steps", "tmp"):
                (self.root / name).mkdir(parents=True, exist_ok=True)
            self._replace(self.root / "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
            yield handle
        finally:
            # Closed without unlocking: a worker that outlives this process holds the same lock.
            os.close(handle)

    def adopt(self, file: Path) -> str:
        """Move a finished file of this disk to the blobs and return its digest."""
        with open(file, "rb") as content:
            digest = f"sha256:{file_digest(content, 'sha256').hexdigest()}"
            os.fsync(content.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(file, self.blob(digest))
        return digest

    def finish_step(self, step: str, layers: Sequence[Layer], config: Mapping[str, Json]) -> None:
        """Record the result of a step, so that no build has to run it again."""
        entries = [{**asdict(layer), "digest": _digest_of(layer.path)} for layer in layers]
        for entry in entries:
            del entry["path"]
        record = {"layers": entries, "config": dict(config)}
        self._replace(self._step(step), json.dumps(record).encode())

    def write_image(self, name: str, layers: Sequence[Layer], config: Mapping[str, Json]) -> Image:
        """Make an image with a name from layers of this layout."""
        described = {
            "architecture": ARCHITECTURE,
            "os": "linux",
            "config": dict(config),
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": self._add(CONFIG_TYPE, json.dumps(described, sort_keys=True).encode()),
            "layers": [
                {
                    "mediaType": TAR_TYPE + ("+gzip" if layer.compressed else ""),
                    "digest": _digest_of(layer.path),
                    "size": layer.size_bytes,
                }
                for layer in layers
            ],
        }
        entry = self._add(MANIFEST_TYPE, json.dumps(manifest, sort_keys=True).encode())
        self._write_index({**self._index(), name: str(entry["digest"])})
        image = self.find(name)
        assert image is not None
        return image

    def prune(self, keep: Collection[str]) -> int:
        """Remove all that the named images do not need; return the bytes freed."""
        kept = {image.name: image.digest for image in self.all() if image.name in keep}
        self._write_index(kept)
        needed = set(kept.values())
        for digest in kept.values():
            manifest = json.loads(self.blob(digest).read_text())
            needed |= {manifest["config"]["digest"], *(x["digest"] for x in manifest["layers"])}
        freed = 0
        for step in (self.root / "steps").iterdir():
            found = self.layers_of(step.stem)
            if found is None or any(_digest_of(layer.path) not in needed for layer in found[0]):
                step.unlink()
        for blob in (self.root / "blobs/sha256").iterdir():
            if _digest_of(blob) not in needed:
                freed += blob.stat().st_size
                blob.unlink()
        return freed

    def _step(self, step: str) -> Path:
        return self.root / "steps" / f"{step}.json"

    def _add(self, media_type: str, data: bytes) -> dict[str, Json]:
        digest = f"sha256:{sha256(data).hexdigest()}"
        self._replace(self.blob(digest), data)
        return {"mediaType": media_type, "digest": digest, "size": len(data)}

    def _write_index(self, images: Mapping[str, str]) -> None:
        manifests = [
            {
                "mediaType": MANIFEST_TYPE,
                "digest": digest,
                "size": self.blob(digest).stat().st_size,
                "annotations": {_NAME: name},
            }
            for name, digest in sorted(images.items())
        ]
        index = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": manifests}
        self._replace(self.root / "index.json", json.dumps(index, indent=1).encode())

    def _replace(self, path: Path, data: bytes) -> None:
        draft = self.root / "tmp" / f"{path.name}.new"
        with open(draft, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)


def _digest_of(blob: Path) -> str:
    return f"sha256:{blob.name}"


def _take(handle: int, on_wait: Callable[[], None]) -> None:
    # Polled, because a thread that waits in flock cannot be cancelled. The wait ends even if the
    # holder dies, because the kernel then releases the lock.
    waited = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if not waited:
                on_wait()
            waited = True
            time.sleep(_LOCK_POLL_S)
