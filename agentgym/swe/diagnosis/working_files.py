"""The files of a repository as an agent's recorded edits leave them, as far as the record tells."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import Final

from agentgym.records import Repair
from agentgym.swe.apply import apply_diff
from agentgym.swe.diagnosis.functions import changed_functions, functions_of
from agentgym.swe.patch import Entry, PatchError


class Unknown:
    """The content of a file that a program wrote."""


UNKNOWN: Final = Unknown()
Content = str | Unknown | None
"""Text of a file, `UNKNOWN` for an unknown one, None for a file that does not exist."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The edit of one file.

    Attributes:
        path: The file, relative to the repository.
        functions: Functions of the base that it changed; empty if its lines are not known.
        reverted: Whether the file has again a content that it had before an earlier edit.
    """

    path: str
    functions: frozenset[str]
    reverted: bool


@dataclass
class WorkingFiles:
    """The files of the repository after the steps so far.

    Attributes:
        repair: The base and its root.
        cwd: Working directory of the session.
    """

    repair: Repair
    cwd: str = ""
    _now: dict[str, Content] = field(default_factory=dict)
    _states: dict[str, set[str | None]] = field(default_factory=dict)
    _stash: dict[str, Content] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cwd = self.cwd or self.repair.root

    def content(self, path: str) -> Content:
        """Return what a file holds now."""
        return self._now[path] if path in self._now else self.repair.before.get(path)

    def text(self, path: str) -> str:
        """Return the text of a file, that of the base if a program wrote it since."""
        now = self.content(path)
        return now if isinstance(now, str) else self.repair.before.get(path, "")

    def resolve(self, word: str) -> str | None:
        """Return the path of a word that names a place in the repository, relative to its root."""
        if not word or len(word) > 4096 or "\0" in word:
            return None
        root = self.repair.root.rstrip("/")
        full = posixpath.normpath(posixpath.join(self.cwd, word))
        return full[len(root) + 1 :] if full.startswith(f"{root}/") else None

    def file(self, word: str) -> str | None:
        """Return the path of a word that names a file of the repository."""
        path = self.resolve(word)
        return path if path is not None and self.content(path) is not None else None

    def write(self, path: str, content: Content) -> Edit | None:
        """Let a file have another content; return None if it has that already."""
        was = self.content(path)
        if was == content and content is not UNKNOWN:
            return None
        if not isinstance(was, Unknown):
            self._states.setdefault(path, set()).add(was)
        self._now[path] = content
        reverted = not isinstance(content, Unknown) and content in self._states.get(path, ())
        if isinstance(was, Unknown) or isinstance(content, Unknown):
            return Edit(path, frozenset(), reverted)
        return Edit(path, self._changed(path, was or "", content or ""), reverted)

    def _changed(self, path: str, was: str, content: str) -> frozenset[str]:
        """Return the functions of the base among those that differ."""
        known = {each.name for each in functions_of(self.repair.before.get(path, ""))}
        return frozenset(
            f"{path}::{name}" for name in changed_functions(path, was, content) & known
        )

    def apply(self, diff: str) -> list[Edit]:
        """Apply a patch as `git apply` does; return its edits, none if it does not apply."""

        def find(path: str) -> Entry | None:
            now = self.content(path)
            return Entry("file", now.encode(*_BYTES)) if isinstance(now, str) else None

        try:
            patch = apply_diff(diff, find)
        except PatchError:
            return []
        made = [
            self.write(each.path, None if each.after is None else each.after.data.decode(*_BYTES))
            for each in patch.changes
        ]
        return [edit for edit in made if edit is not None]

    def restore(self, *words: str) -> list[Edit]:
        """Give files, or all below folders, the content of the base back."""
        tops = [self.resolve(word) for word in words] or [""]
        if any(posixpath.normpath(posixpath.join(self.cwd, w)) == self.repair.root for w in words):
            tops = [""]
        wanted = [
            path
            for path in self._now
            if any(top is not None and _is_below(path, top) for top in tops)
        ]
        made = [self.write(path, self.repair.before.get(path)) for path in wanted]
        return [edit for edit in made if edit is not None]

    def stash(self) -> list[Edit]:
        """Put the changes aside, as `git stash` does."""
        self._stash = dict(self._now)
        return self.restore()

    def unstash(self) -> list[Edit]:
        """Take the changes back that were put aside."""
        kept, self._stash = self._stash, {}
        made = [self.write(path, content) for path, content in kept.items()]
        return [edit for edit in made if edit is not None]


def _is_below(path: str, top: str) -> bool:
    return not top or path == top or path.startswith(f"{top}/")


_BYTES: Final = ("utf-8", "surrogateescape")
