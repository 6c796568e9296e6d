"""Archives for the calibration cases."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

_PACK = {"": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def tar(files: dict, links: dict = {}, packed: str = "gz", folders: list = []) -> bytes:  # noqa: B006
    """Return a tar archive of text files and symbolic links."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in folders:
            info = tarfile.TarInfo(name)
            info.type = tarfile.DIRTYPE
            archive.addfile(info)
        for name, target in links.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return _PACK[packed](stream.getvalue())


def zipped(files: dict) -> bytes:
    """Return a zip archive of text files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


def packed(text: str, kind: str = "gz") -> bytes:
    """Return one compressed text."""
    return _PACK[kind](text.encode())


def cut(files: dict, share: float) -> bytes:
    """Return the beginning of a tar.gz, as an interrupted copy leaves it."""
    whole = tar(files)
    return whole[: int(len(whole) * share)]
