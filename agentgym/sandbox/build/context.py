"""The build context: files of a recipe's folder, found by pattern, hashed and put into a tar."""

from __future__ import annotations

import functools
import glob
import hashlib
import os
import re
import stat
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agentgym.sandbox.build.plan import Copy, SourceFile
from agentgym.sandbox.build.tarlayer import TIME

RECIPE = "recipe.toml"


class Context:
    """The folder that COPY reads from.

    Args:
        folder: The folder of the recipe.
        ignore: The text of a ``.dockerignore``.
    """

    def __init__(self, folder: Path, ignore: str = "") -> None:
        self.folder = folder.resolve()
        self._ignored = _ignore_rules(ignore)

    def find(self, pattern: str) -> list[tuple[Path, list[SourceFile]]]:
        """Return the matches of a source, each with the files that copying it creates.

        A folder stands for its content.

        Raises:
            ValueError: Nothing matches, or a match leads out of the folder.
        """
        relative = os.path.normpath(pattern.lstrip("/") or ".")
        if relative == ".." or relative.startswith("../"):
            raise ValueError(f"{pattern!r} leaves the recipe's folder")
        names = sorted(glob.glob(relative, root_dir=self.folder, include_hidden=True))
        matches = [name for name in names if name == "." or not self._is_ignored(name)]
        if not matches:
            raise ValueError(f"nothing in {self.folder} is called {pattern!r}")
        return [(Path(name), list(self._files(name))) for name in matches]

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
        if name == RECIPE:
            return True
        ignored = False
        for rule, keeps in self._ignored:
            if rule.match(name):
                ignored = not keeps
        return ignored


def sha256_of(path: Path) -> str:
    """Return the digest of a file's content; an unchanged file is read only once."""
    info = path.stat()
    return _sha256(path, info.st_ino, info.st_size, info.st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _sha256(path: Path, *state: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


def _ignore_rules(text: str) -> list[tuple[re.Pattern[str], bool]]:
    """Return the patterns of a .dockerignore, each with whether it includes files again."""
    rules = []
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            keeps = line.startswith("!")
            pattern = os.path.normpath(line.lstrip("!").strip()).lstrip("/")
            rules.append((_pattern(pattern), keeps))
    return rules


def _pattern(text: str) -> re.Pattern[str]:
    """Return the expression for a pattern; it matches a path and everything below it."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]*\])", text)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    joined = "".join(
        known.get(part) or (part if re.fullmatch(r"\[.*\]", part) else re.escape(part))
        for part in parts
    )
    return re.compile(f"{joined}(?:/.*)?$", re.DOTALL)


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
