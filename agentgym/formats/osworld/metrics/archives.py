"""Metrics of archives: their names, and their files one by one."""

from __future__ import annotations

import difflib
import importlib
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from agentgym.formats.osworld.metrics.matching import similarity

_BY_TYPE: Final[Mapping[str, tuple[str, str]]] = {
    "text": ("texts", "compare_text_file"),
    "csv": ("texts", "compare_csv"),
    "pdf": ("pdfs", "compare_pdfs"),
    "docx": ("documents", "compare_docx_files"),
    "ppt": ("presentations", "compare_pptx_files"),
    "table": ("tables", "compare_table"),
    "image": ("images", "compare_images"),
}
_MOST_BYTES: Final = 64 * 2**20
_MOST_FILES: Final = 1_000
_SAME_PDF: Final = 0.95


def _unpacked(path: Path) -> dict[str, bytes]:
    """Return the files of an archive by name.

    Raises:
        ValueError: It is no archive, or holds too much.
    """
    found: dict[str, bytes] = {}
    size = 0
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                size += info.file_size
                _check(size, len(found))
                if not info.is_dir():
                    found[_name(info.filename)] = archive.read(info)
        return found
    with tarfile.open(path) as archive:
        for member in archive:
            size += member.size
            _check(size, len(found))
            file = archive.extractfile(member) if member.isreg() else None
            if file is not None:
                found[_name(member.name)] = file.read()
    return found


def _check(size: int, count: int) -> None:
    if size > _MOST_BYTES or count >= _MOST_FILES:
        raise ValueError(f"the archive holds more than {_MOST_BYTES} bytes or {_MOST_FILES} files")


def _name(name: str) -> str:
    return str(PurePosixPath(name))


def compare_archive(
    result: Path | None,
    expected: Path,
    file_path: str = "",
    file_type: str = "text",
    **options: Any,
) -> float:
    """Both archives have the same names in a folder; the mean score of their files.

    Raises:
        ValueError: Files of this type cannot be compared.
    """
    if file_type not in _BY_TYPE:
        raise ValueError(f"compare_archive cannot compare files of the type {file_type!r}")
    if result is None:
        return 0.0
    seen, wanted = (_folder(_unpacked(one), file_path) for one in (result, expected))
    if sorted(seen) != sorted(wanted) or not wanted:
        return 0.0
    module, function = _BY_TYPE[file_type]
    compare = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    score = 0.0
    for number, name in enumerate(sorted(wanted)):
        pair = [Path(f"{side}-{number}{Path(name).suffix}") for side in ("seen", "wanted")]
        pair[0].write_bytes(seen[name])
        pair[1].write_bytes(wanted[name])
        score += float(compare(*pair, **options))
    return score / len(wanted)


def _folder(files: Mapping[str, bytes], folder: str) -> dict[str, bytes]:
    prefix = f"{_name(folder)}/" if folder else ""
    return {
        name.removeprefix(prefix): data for name, data in files.items() if name.startswith(prefix)
    }


def compare_zip_files(result: Path | None, expected: Path) -> float:
    """Both archives have the same files; of PDF files the same text."""
    if result is None:
        return 0.0
    seen, wanted = _unpacked(result), _unpacked(expected)
    if seen.keys() != wanted.keys():
        return 0.0
    return float(all(_same(name, seen[name], wanted[name]) for name in wanted))


def _same(name: str, seen: bytes, wanted: bytes) -> bool:
    if seen == wanted or not name.lower().endswith(".pdf"):
        return seen == wanted
    from agentgym.formats.osworld.metrics.pdfs import text_of

    pair = [Path("seen.pdf"), Path("wanted.pdf")]
    pair[0].write_bytes(seen)
    pair[1].write_bytes(wanted)
    return similarity(text_of(pair[0]), text_of(pair[1])) >= _SAME_PDF


def compare_epub(result: Path | None, expected: Path) -> float:
    """The mean likeness of the pages, the table of contents and the manifest of two books."""
    if result is None:
        return 0.0
    seen, wanted = _book(result), _book(expected)
    names = sorted(seen.keys() | wanted.keys())
    if not names:
        return 0.0
    pairs = ((seen.get(name, []), wanted.get(name, [])) for name in names)
    return sum(difflib.SequenceMatcher(a=one, b=other).ratio() for one, other in pairs) / len(names)


def _book(path: Path) -> dict[str, list[str]]:
    """Return the lines of a book's texts, without what its making alone decides."""
    passed = {"toc.ncx": "navPoint", "content.opf": "dc:identifier"}
    return {
        name: [
            line
            for line in data.decode("utf-8", "replace").splitlines()
            if not passed.get(name) or passed[name] not in line
        ]
        for name, data in _unpacked(path).items()
        if name in passed or name.endswith(".html")
    }
