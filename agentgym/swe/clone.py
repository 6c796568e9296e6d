"""A local clone, read with Git's plumbing: no hook, filter, pager or driver of the clone runs.

Clones may be bare. Nothing is written to them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from agentgym.errors import MissingExtraError, TaskError
from agentgym.swe.clone_files import refuse_special_files
from agentgym.swe.clone_view import git_folders, git_view, settings
from agentgym.swe.git_process import WINDOWS, GitLimitError, run_git
from agentgym.swe.patch import PATCH_FILES, Entry, FileChange, Lookup, Patch, PatchError, patch_of

_GIT_S: Final = 300.0
_LOOK_UP_S: Final = 30.0
MAX_FILE: Final = 64 << 20
_LARGEST: Final = 256 << 20
_BATCH: Final = 2000
_LAST_S: Final = 253_370_764_799
"""The last second of 9998: the end of its quarter is a date, too."""

_SAFE: Final = (
    *("-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "log.showSignature=false", "-c", "protocol.allow=never", "-c", "diff.renames=false"),
    *("-c", "core.quotePath=true", "-c", "core.attributesFile=/dev/null"),
)
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One path of a commit.

    Attributes:
        path: Path in the repository; bytes that are no UTF-8 are surrogate escapes.
        mode: Git's mode: ``"100644"``, ``"100755"``, ``"120000"`` or ``"160000"`` (a submodule).
        object_id: Id of its content.
        size: Size in bytes; 0 for a submodule.
    """

    path: str
    mode: str
    object_id: str
    size: int


@dataclass(frozen=True, slots=True)
class Clone:
    """A clone, by the path of its Git folder or working tree."""

    path: Path

    def git(self, *arguments: str, stdin: bytes = b"", check: bool = True) -> bytes:
        """Run Git's plumbing in the clone and return its output.

        Raises:
            TaskError: Git failed; the message has its last line.
        """
        env = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": "/nonexistent",
            "LC_ALL": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_ATTR_NOSYSTEM": "1",
        }
        if not self.path.is_dir():
            raise TaskError(f"{self.path}: no such folder; expected a clone")
        try:
            argv = ["git", "--no-pager", *_SAFE, *WINDOWS, *arguments]
            timeout_s = _LOOK_UP_S if arguments[0] == "rev-parse" else _GIT_S
            with git_view(git_folders(self.path)) as view:
                code, output, said = run_git(argv, {**env, **view}, stdin, timeout_s)
        except FileNotFoundError:
            raise MissingExtraError("git", "apt-get install git") from None
        except GitLimitError as error:
            raise TaskError(f"{self.path}: git {arguments[0]} {error}") from None
        if check and code != 0:
            why = (said.strip().splitlines() or [f"exit code {code}"])[-1]
            raise TaskError(f"{self.path}: git {arguments[0]}: {why}")
        return output

    def setting(self, key: str) -> str:
        """Return a value of the clone's own configuration; empty if it states none."""
        return settings(git_folders(self.path)).get(key, "")

    def commit(self, stated: str) -> str:
        """Return the full id of a commit from a hexadecimal id, a branch or a tag.

        Raises:
            TaskError: The clone has no such commit.
        """
        if not stated or stated.startswith("-"):
            raise TaskError(f"{self.path}: {stated!r} names no commit")
        wanted = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{stated}^{{commit}}"]
        found = self.git(*wanted, check=False).decode().strip()
        if not found:
            is_id = re.fullmatch("[0-9a-f]{7,64}", stated)
            advice = (
                f"fetch it: git -C {self.path} fetch origin {stated}"
                if is_id
                else f"expected a commit, a branch or a tag; see: git -C {self.path} branch -a"
            )
            raise TaskError(f"{self.path}: has no commit {stated[:80]!r}; {advice}")
        return found

    def entries(self, commit: str) -> Iterator[TreeEntry]:
        """Yield every file, link and submodule of a commit."""
        listed = self.git("ls-tree", "-r", "-z", "--long", "--full-tree", self.commit(commit))
        for line in listed.split(b"\0"):
            if line:
                about, _, path = line.partition(b"\t")
                mode, _, object_id, size = about.decode().split()
                if size == "BAD":
                    raise TaskError(f"{self.path}: object {object_id} is not there")
                yield TreeEntry(
                    path.decode("utf-8", "surrogateescape"),
                    mode,
                    object_id,
                    0 if size == "-" else int(size),
                )

    def blobs(self, object_ids: Iterable[str]) -> Iterator[bytes]:
        """Yield the contents of objects, in order, with one call of Git.

        Raises:
            TaskError: An object is missing, as in a partial clone.
        """
        asked = "".join(f"{object_id}\n" for object_id in object_ids).encode()
        said, at = self.git("cat-file", "--batch", stdin=asked) if asked else b"", 0
        while at < len(said):
            end = said.index(b"\n", at)
            *_, kind, size = said[at:end].decode().split()
            if kind != "blob":
                raise TaskError(f"{self.path}: object {said[at:end].decode()!r} is not there")
            yield said[end + 1 : end + 1 + int(size)]
            at = end + 2 + int(size)

    def contents(self, entries: Iterable[TreeEntry]) -> Iterator[tuple[TreeEntry, bytes]]:
        """Yield files and links with their contents; few of them are in memory at a time."""
        batch: list[TreeEntry] = []
        size = 0
        for entry in entries:
            batch.append(entry)
            if entry.size > _LARGEST:
                raise TaskError(
                    f"{self.path}: {entry.path!r:.200} has {entry.size} bytes; expected at most "
                    f"{_LARGEST}"
                )
            size += entry.size
            if size > MAX_FILE or len(batch) == _BATCH:
                yield from zip(batch, self.blobs(each.object_id for each in batch), strict=True)
                batch, size = [], 0
        yield from zip(batch, self.blobs(each.object_id for each in batch), strict=True)

    def read(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file at a commit; None if it is absent or no file."""
        data = self.git("cat-file", "blob", f"{commit}:{path}", check=False)
        if data or self.git("cat-file", "-t", f"{commit}:{path}", check=False) == b"blob\n":
            return data
        return None

    def read_text(self, commit: str, path: str) -> str | None:
        """Return the text of a file at a commit; None if it is absent."""
        data = self.read(commit, path)
        return None if data is None else data[:MAX_FILE].decode("utf-8", "replace")

    def diff(self, before: str, after: str) -> bytes:
        """Return the difference of two commits, binary files included."""
        options = ("--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv")
        return self.git("diff-tree", "-r", "-p", *options, before, after)

    def changes(self, before: str, after: str) -> Patch:
        """Return the files and links that differ between two commits; submodules are left out.

        Raises:
            PatchError: They are too many or too large.
        """
        said = self.git(
            "diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", before, after
        )
        words = said.split(b"\0")
        rows = []
        for about, path in zip(words[0:-1:2], words[1::2], strict=True):
            old_mode, new_mode, old, new, _ = about.decode().lstrip(":").split()
            if "160000" not in (old_mode, new_mode):
                name = path.decode("utf-8", "surrogateescape")
                rows.append((name, old_mode, old, new_mode, new))
            if len(rows) > PATCH_FILES:
                raise PatchError(f"more than {PATCH_FILES} files differ")
        wanted = [each for _, _, old, _, new in rows for each in (old, new) if each.strip("0")]
        contents = iter(self.blobs(wanted))

        def entry(mode: str, object_id: str) -> Entry | None:
            if not object_id.strip("0"):
                return None
            return Entry("link" if mode == "120000" else "file", next(contents), mode == "100755")

        return patch_of(
            FileChange(path, entry(old_mode, old), entry(new_mode, new))
            for path, old_mode, old, new_mode, new in rows
        )

    def lookup(self, commit: str) -> Lookup:
        """Return a look-up of the files and links of a commit."""
        entries = {entry.path: entry for entry in self.entries(commit)}
        known: dict[str, Entry | None] = {}

        def find(path: str) -> Entry | None:
            if path not in known:
                found = entries.get(path)
                known[path] = None
                if found is not None and found.mode != "160000":
                    (data,) = self.blobs([found.object_id])
                    kind: Literal["file", "link"] = "link" if found.mode == "120000" else "file"
                    known[path] = Entry(kind, data, found.mode == "100755")
            return known[path]

        return find

    def committed_at(self, commit: str) -> datetime:
        """Return the time at which a commit was made, in UTC."""
        said = self.git("show", "-s", "--format=%ct", self.commit(commit)).decode().split()
        return commit_time(said[0])

    def release(self, commit: str) -> str:
        """Return the version in the nearest tag before a commit; empty if no tag has one."""
        told = self.git("describe", "--tags", "--abbrev=0", self.commit(commit), check=False)
        found = re.findall(r"[0-9]{1,4}(?:\.[0-9]{1,8})+", told.decode("utf-8", "replace"))
        return str(found[-1]) if found else ""


def commit_time(seconds: str) -> datetime:
    """Return the time of a commit, which may claim any number of seconds, in UTC."""
    return datetime.fromtimestamp(min(max(int(seconds), 0), _LAST_S), UTC)


def open_clone(path: Path) -> Clone:
    """Return a clone that Git can read.

    Raises:
        TaskError: The folder is no clone, or holds what Git could wait for.
    """
    clone = Clone(path)
    refuse_special_files(path)
    clone.git("rev-parse", "--git-dir")
    return clone


def find_clone(folder: Path, repo: str) -> Clone:
    """Return the clone of a repository below a folder, or the folder itself if it is the clone.

    Args:
        folder: Folder with clones named ``owner/name``, ``owner__name``, ``owner+name`` or
            ``name``, each with or without ``.git``.
        repo: ``owner/name``.

    Raises:
        TaskError: There is no such clone.
    """
    owner, name = repo.split("/")
    names = (f"{owner}/{name}", f"{owner}__{name}", f"{owner}+{name}", f"{owner}-{name}", name)
    for each in names:
        for path in (folder / each, folder / f"{each}.git"):
            if _is_clone(path):
                return open_clone(path)
    if _is_clone(folder):
        return open_clone(folder)
    raise TaskError(
        f"{folder}: has no clone of {repo}; expected one of {', '.join(names)}, for example: "
        f"git clone https://github.com/{repo} {folder / names[1]}"
    )


def _is_clone(path: Path) -> bool:
    return (path / ".git").exists() or ((path / "HEAD").is_file() and (path / "objects").is_dir())
