"""The build context: files of a recipe's folder, found by pattern, hashed and put into a tar."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import stat
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agentgym.regular_file import DATA_BYTES, digest_regular
from agentgym.sandbox.build.dockerignore import MOST_CHARACTERS, IgnoreRules
from agentgym.sandbox.build.plan import Copy, SourceFile
from agentgym.sandbox.build.tarlayer import TIME

RECIPE = "recipe.toml"
_MOST_MATCHES = 100_000
_WILD = re.compile(r"[*?[]")


class Context:
    """The folder that COPY reads from.

    Args:
        folder: The folder of the recipe.
        ignore: The text of a ``.dockerignore``.

    Raises:
        ValueError: That text has too many patterns.
    """

    def __init__(self, folder: Path, ignore: str = "") -> None:
        self.folder = folder.resolve()
        self._ignored = IgnoreRules(ignore)

    def find(self, pattern: str) -> list[tuple[Path, list[SourceFile]]]:
        """Return the matches of a source, each with the files that copying it creates.

        A folder stands for its content.

        Raises:
            ValueError: Nothing matches, or a match leads out of the folder.
        """
        relative = os.path.normpath(pattern.lstrip("/") or ".")
        if relative == ".." or relative.startswith("../"):
            raise ValueError(f"{pattern!r} leaves the recipe's folder")
        names = sorted(self._named(relative))
        matches = [name for name in names if name == "." or not self._is_ignored(name)]
        if not matches:
            raise ValueError(f"nothing in {self.folder} is called {pattern!r}")
        return [(Path(name), list(self._files(name))) for name in matches]

    def _named(self, pattern: str) -> list[str]:
        """Return the names that a relative pattern matches; ``**`` is like ``*``, as in COPY.

        Raises:
            ValueError: There are too many, as links to folders above them can bring about, or a
                part of the pattern is too long.
        """
        found = [""]
        for part in pattern.split("/"):
            if len(part) > MOST_CHARACTERS:
                raise ValueError(f"{part[:40]!r}… has more than {MOST_CHARACTERS} characters")
            below: list[str] = []
            for folder in found:
                there = self._entries(folder) if _WILD.search(part) else [part]
                below += [os.path.join(folder, name) for name in fnmatch.filter(there, part)]
                if len(below) > _MOST_MATCHES:
                    raise ValueError(f"{pattern!r} matches more than {_MOST_MATCHES} names")
            found = [name for name in below if os.path.lexists(self.folder / name)]
        return found

    def _entries(self, folder: str) -> list[str]:
        path = self._resolve(folder)
        return os.listdir(path) if path.is_dir() else []

    def copy(
        self,
        patterns: Sequence[str],
        target: str,
        *,
        owner: str = "",
        mode: int | None = None,
        args: Mapping[str, str] | None = None,
    ) -> Copy:
        """Return the action that copies all matches. Raises ValueError like `find`."""
        matches = [match for pattern in patterns for match in self.find(pattern)]
        is_folder = target.rstrip("\"'").endswith("/")
        if len(matches) > 1 and not is_folder:
            raise ValueError(f"several files go to {target}: end it with a / to make it a folder")
        inside = is_folder or (self.folder / matches[0][0]).is_dir()
        files = tuple(file for _, found in matches for file in found)
        return Copy(files, target, inside, owner, mode, args or {})

    def _files(self, name: str) -> Iterator[SourceFile]:
        path = self._resolve(name)
        if not path.is_dir():
            yield _source(os.path.basename(name), path)
            return
        for folder, folders, files in os.walk(path):
            folders.sort()
            for entry in sorted([*folders, *files]):
                child = Path(folder, entry)
                from_top = os.path.normpath(os.path.join(name, child.relative_to(path)))
                if self._is_ignored(from_top):
                    continue
                yield _source(str(child.relative_to(path)), child)

    def _resolve(self, name: str) -> Path:
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder):
            raise ValueError(f"{name!r} is a link that leaves the recipe's folder")
        return path

    def _is_ignored(self, name: str) -> bool:
        return name == RECIPE or self._ignored.ignores(name)


def sha256_of(path: Path, max_bytes: int = DATA_BYTES) -> str:
    """Return the digest of a file's content; an unchanged file is read only once.

    Raises:
        OSError: It cannot be read, is no regular file, or is larger.
    """
    info = path.stat()
    return _sha256(path, max_bytes, info.st_ino, info.st_size, info.st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _sha256(path: Path, max_bytes: int, *state: int) -> str:
    return digest_regular(path, max_bytes)


def _source(name: str, path: Path) -> SourceFile:
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        digest = os.readlink(path)
    elif stat.S_ISDIR(info.st_mode):
        digest = ""
    elif stat.S_ISREG(info.st_mode):
        digest = sha256_of(path)
    else:
        raise ValueError(f"{path} is neither a file nor a folder nor a link")
    kind = stat.S_IFMT(info.st_mode)
    mode = 0o777 if kind == stat.S_IFLNK else stat.S_IMODE(info.st_mode)
    return SourceFile(name, path, kind | mode, digest)


def write_tar(files: Sequence[SourceFile], target: Path) -> None:
    """Write the current files into a tar.

    Raises:
        ValueError: A file has changed since the plan was made.
    """
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for file in files:
            if _source(file.name, file.path) != file:
                raise ValueError(f"{file.path} was changed while the build ran; build again")
            member = tarfile.TarInfo(file.name)
            member.mode, member.mtime = stat.S_IMODE(file.mode), TIME
            if stat.S_ISLNK(file.mode):
                member.type, member.linkname = tarfile.SYMTYPE, os.readlink(file.path)
                archive.addfile(member)
            elif stat.S_ISDIR(file.mode):
                member.type = tarfile.DIRTYPE
                archive.addfile(member)
            else:
                member.size = file.path.stat().st_size
                with open(file.path, "rb") as content:
                    archive.addfile(member, content)
