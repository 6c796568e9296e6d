"""The agent's Git repository in a clean room: Git reads it, and no code of the agent's runs.

Configuration, hooks, filters and grafts are removed before Git reads any object (the formats are
those of gitrepository-layout(5) and git-cat-file(1)).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from agentgym.errors import GuestFileError, VerifierError
from agentgym.protocols import Evidence, Room

_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C.UTF-8",
}
_FORMATS = ("extensions.objectformat", "extensions.refstorage", "core.repositoryformatversion")
_OBJECTS = "/tmp/agentgym-objects"


@dataclass(frozen=True)
class Commit:
    """A commit; its author has the form "Name <address>"."""

    name: str
    parents: list[str]
    author: str
    message: str


class Repository:
    """A repository in a clean room, under the grader's own configuration.

    Attributes:
        folder: The guest path of the ``.git`` folder, or of the bare repository.
        config: Keys and values of the agent's configuration; includes are not followed.
    """

    def __init__(self, evidence: Evidence, path: str) -> None:
        inner = evidence.after.stat(f"{path}/.git", follow=False)
        self.folder = path if inner is None else f"{path}/.git"
        for name in ("shallow", "objects/info/alternates"):
            if evidence.after.stat(f"{self.folder}/{name}", follow=False) is not None:
                raise GuestFileError(f"{self.folder}/{name}: the history cannot be read")
        for name in ("objects", "refs"):
            stat = evidence.after.stat(f"{self.folder}/{name}", follow=False)
            if stat is None or stat.kind != "dir":
                raise GuestFileError(f"{path}: is not a Git repository of its own")
        self._room: Room = evidence.room([path])
        self._env = {**_ENVIRONMENT, "GIT_DIR": "/nonexistent"}
        listed = self.run("config", "--file", f"{self.folder}/config", "--no-includes", "-z", "-l")
        pairs = (entry.partition("\n") for entry in listed.split("\0") if entry)
        self.config = [(key, value) for key, _, value in pairs]
        strange = ("commondir", "gitdir", "info", "hooks", "config", "config.worktree")
        names = [f"{self.folder}/{name}" for name in strange]
        self._room.run(["/usr/bin/rm", "-rf", "--", *names])
        self._room.write(f"{self.folder}/config", b"")
        known = ((key, value) for key, value in self.config if key in _FORMATS)
        own = [(key, value) for key, value in known if re.fullmatch("[a-z0-9]+", value)]
        for key, value in [*own, ("core.bare", "true" if self.folder == path else "false")]:
            self.run("config", "--file", f"{self.folder}/config", key, value)
        self._env["GIT_DIR"] = self.folder
        if self.folder != path:
            self._env["GIT_WORK_TREE"] = path

    def run(self, *words: str, stdin: bytes = b"", must: bool = False) -> str:
        """Return Git's output; a failure gives empty output, or GuestFileError with `must`."""
        argv = ["/usr/bin/git", "-c", "core.fsmonitor=false", *words]
        cwd = self._env.get("GIT_WORK_TREE", "/")
        done = self._room.run(argv, cwd=cwd, env=self._env, stdin=stdin)
        if done.exit_code in (126, 127):
            raise VerifierError("the task's image has no /usr/bin/git")
        if done.timed_out or done.omitted_bytes or (must and done.exit_code != 0):
            said = done.stderr.decode("utf-8", "backslashreplace").strip()[-200:]
            raise GuestFileError(f"git {words[0]}: {said or 'takes too long or says too much'}")
        return done.stdout.decode("utf-8", "surrogateescape").strip("\n") * (done.exit_code == 0)

    def commit(self, ref: str) -> str:
        """Return the id of the commit that a ref points to, or empty."""
        return self.run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")

    def log(self, ref: str, since: str) -> list[Commit]:
        """Return the commits of a ref, newest first; raise GuestFileError if it has no commits."""
        if not self.commit(ref):
            raise GuestFileError(f"{ref} is not a commit")
        span = [ref]
        if since:
            if self.run("rev-list", "--count", since, f"^{ref}") != "0":
                raise GuestFileError(f"{ref} is not built on {since}")
            span = [ref, f"^{since}"]
        mark = secrets.token_hex(16)  # a message may hold any fixed separator
        form = f"--format=%H%x00%P%x00%an <%ae>%x00%B%x00{mark}"
        told = self.run("log", "--no-show-signature", "--topo-order", form, *span, must=True)
        parts = [
            part.lstrip("\n").split("\0") for part in told.split(f"\0{mark}") if part.strip("\n")
        ]
        return [Commit(n, p.split(), a, m) for n, p, a, m in (part[:4] for part in parts)]

    def objects(self) -> Iterator[tuple[str, str, bytes]]:
        """Yield name, kind and content of every object, reachable or not."""
        batch = f"/usr/bin/git cat-file --batch-all-objects --batch --unordered > {_OBJECTS}"
        done = self._room.run(["/bin/sh", "-c", batch], cwd="/", env=self._env)
        if done.exit_code != 0 or done.timed_out:
            raise GuestFileError(f"{self.folder}: its objects cannot be read")
        data, at = self._room.read(_OBJECTS), 0
        while at < len(data):
            end = data.find(b"\n", at)
            header = data[at:end].decode("utf-8", "replace").split(" ")
            if end < 0 or len(header) != 3:
                raise GuestFileError(f"{self.folder}: its objects cannot be read")
            name, kind, size = header
            yield name, kind, data[end + 1 : end + 1 + int(size)]
            at = end + 2 + int(size)


def tree_names(tree: bytes, hash_bytes: int) -> Iterator[str]:
    """Yield the names in a tree object. Raises GuestFileError if it is malformed."""
    at = 0
    while at < len(tree):
        end = tree.find(b"\0", at)
        if end < 0:
            raise GuestFileError("a tree object is malformed")
        yield tree[at:end].partition(b" ")[2].decode("utf-8", "surrogateescape")
        at = end + 1 + hash_bytes
