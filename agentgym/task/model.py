"""The model of a task: `task.toml`, a Task (a folder), and an Instance (a task and a seed)."""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from agentgym import catalogue
from agentgym.errors import NotFoundError, TaskError
from agentgym.manifest import LimitsManifest, Manifest, show_path
from agentgym.protocols import ForeignTask
from agentgym.records import Json
from agentgym.records.pattern import UNREADABLE
from agentgym.regular_file import digest_regular
from agentgym.task.answer import Answer
from agentgym.task.dynamics import ClockManifest, EventManifest, FaultManifest
from agentgym.task.replies import SavedReply
from agentgym.task.template import Slot, canonical, draw, fill
from agentgym.task.user import UserManifest, UserScript

_FINGERPRINT = "agentgym.fingerprint/2"
"""Schema of the fingerprint; raise it if the same setup folder would be prepared differently."""

ACTIONS_SUFFIXES = (".sh", ".jsonl")
MUTANT_SUFFIXES = (*ACTIONS_SUFFIXES, ".patch", ".py")


TASK_ID = re.compile(r"[a-z0-9][a-z0-9_-]*/[a-z0-9][a-z0-9_-]*-v[1-9][0-9]*")


def _task_id(value: str) -> str:
    if not TASK_ID.fullmatch(value):
        raise ValueError(f"expected suite/name-vN in lower case, e.g. 'web/shop-v1', got {value!r}")
    return value


def _regular_expression(value: str) -> str:
    try:
        re.compile(value)
    except UNREADABLE as error:
        raise ValueError(f"expected a regular expression, got {value!r:.80}: {error}") from error
    return value


def _absolute(value: str) -> str:
    if not value.startswith("/"):
        raise ValueError(f"expected an absolute path of the sandbox, got {value!r}")
    return value


SlotName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Command: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$")]
Text: TypeAlias = Annotated[str, StringConstraints(min_length=1)]


class SetupManifest(Manifest):
    """The `[setup]` table.

    Attributes:
        timeout_s: Seconds that the script may take.
        shared: Environment whose modules for setups it uses; that of the task if empty.
    """

    timeout_s: float = Field(default=60.0, gt=0)
    shared: str = ""


class GradingManifest(Manifest):
    """The `[grading]` table."""

    timeout_s: float = Field(default=60.0, gt=0, le=7200)


class ReplayManifest(Manifest):
    """The `[replay]` table: allowed differences between two executions of the same actions.

    Attributes:
        volatile_paths: Globs of paths that may differ at the end.
        volatile_text: Regular expressions for text of observations that may differ.
        volatile_screen: Whether the views of a screen may differ, because an application draws it
            at its own pace; then only ends are compared.
    """

    volatile_paths: tuple[Annotated[str, AfterValidator(_absolute)], ...] = ()
    volatile_text: tuple[Annotated[str, AfterValidator(_regular_expression)], ...] = ()
    volatile_screen: bool = False


class TaskManifest(Manifest):
    """`task.toml` as it is written.

    Attributes:
        id: ``suite/name-vN``.
        env: Catalogue name of the environment.
        needs: Commands that the sandbox must have.
        max_steps: Largest number of steps; None for the environment's default.
        abstain: Whether `give_up` can be the right answer.
        limits: Overrides limits of the sandbox recipe.
        params: Slots of a template.
        clock: The logical clock.
        event: Changes of the world without the agent.
        fault: Calls of the agent's tools that fail.
        user: User to whom the agent can write; absent if the task has no user.
        answer: What `submit` takes: text, nothing, or the fields of a form.
        unsolved: Reason why the task has no solution; empty if it has one. Without a solution
            nothing proves that the task can be solved.
        surface: Options of surfaces by name, which override the environment's; a surface that the
            environment lacks is added.
    """

    schema_version: Literal["agentgym.task/1"]
    id: Annotated[str, AfterValidator(_task_id)]
    title: Text
    tags: tuple[Text, ...] = ()
    difficulty: Literal["easy", "medium", "hard"]
    env: Text
    needs: tuple[Command, ...] = ()
    max_steps: int | None = Field(default=None, gt=0)
    abstain: bool = False
    limits: LimitsManifest = LimitsManifest()
    setup: SetupManifest = SetupManifest()
    grading: GradingManifest = GradingManifest()
    params: dict[SlotName, Slot] = Field(default_factory=dict)
    replay: ReplayManifest = ReplayManifest()
    clock: ClockManifest = ClockManifest()
    event: tuple[EventManifest, ...] = ()
    fault: tuple[FaultManifest, ...] = ()
    user: UserManifest | None = None
    answer: Answer = "text"
    unsolved: str = ""
    surface: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)

    @property
    def replies(self) -> tuple[SavedReply, ...]:
        """The saved replies, if the user hears nothing else."""
        return () if self.user is None else self.user.reply


@dataclass(frozen=True)
class Task:
    """A validated task folder.

    Attributes:
        id: ``suite/name-vN``.
        folder: Folder of its files.
        manifest: Its `task.toml`.
        instruction: Text of `instruction.md`, with its slots unfilled.
        foreign: The task as its format has read it, None for agentgym's own format.
        user: User to whom the agent can write; None if the task has no user.
        surfaces: Surfaces that replace those of its environment; empty to keep these.
    """

    id: str
    folder: Path
    manifest: TaskManifest
    instruction: str
    foreign: ForeignTask | None = None
    user: UserScript | None = None
    surfaces: tuple[str, ...] = ()

    def instance(self, seed: int) -> Instance:
        """Draw the slots for a seed.

        Raises:
            TaskError: The instruction has a slot that `[params]` does not define.
        """
        if self.foreign is not None:
            # In a foreign task, text that looks like a slot is plain text.
            return Instance(self, seed, {}, self.instruction)
        params = draw(self.manifest.params, seed)
        where = show_path(self.folder / "instruction.md")
        return Instance(self, seed, params, fill(self.instruction, params, where))

    def with_options(self, given: Mapping[str, Mapping[str, JsonValue]]) -> Task:
        """Return the task with options of surfaces that override those in its `task.toml`."""
        own = self.manifest.surface
        merged = {name: {**own.get(name, {}), **table} for name, table in given.items()}
        return replace(self, manifest=self.manifest.model_copy(update={"surface": own | merged}))

    def with_surfaces(self, names: Sequence[str]) -> Task:
        """Return the task with other surfaces than its environment's; with these if empty."""
        return replace(self, surfaces=tuple(dict.fromkeys(names))) if names else self

    @property
    def setup(self) -> Path | None:
        """Folder with `setup.sh`; None if the task sets up no files."""
        folder = self.folder / "setup"
        if self.foreign is not None or not folder.is_dir():
            return None
        only_services = self.services_setup is not None and not (folder / "setup.sh").exists()
        return None if only_services else folder

    @property
    def shared_setup(self) -> Path | None:
        """Folder ``envs/<env>/setup``, which the setups of an environment's tasks share, if any.

        Raises:
            NotFoundError: The task names an environment that does not exist or shares nothing.
        """
        if self.setup is None:
            return None
        envs, named = catalogue.folders("envs"), self.manifest.setup.shared
        env = envs.get(named or self.manifest.env)
        if env is not None and (env / "setup").is_dir():
            return env / "setup"
        if named:
            sharing = [name for name, folder in envs.items() if (folder / "setup").is_dir()]
            raise NotFoundError("environment with modules for setups", named, sharing)
        return None

    @property
    def services_setup(self) -> Path | None:
        """Script that sets up the services; None if they start as the environment has them."""
        path = self.folder / "setup" / "services.py"
        return path if self.foreign is None and path.exists() else None

    def mutants(self) -> Mapping[str, Path]:
        """Return the wrong and cheating solutions by name, sorted."""
        if self.foreign is not None:
            return {}
        found = visible(self.folder / "mutants")
        return {path.stem: path for path in found if path.suffix in MUTANT_SUFFIXES}


@dataclass(frozen=True)
class Instance:
    """A task with its slots drawn; each episode plays one."""

    task: Task
    seed: int
    params: Mapping[str, Json]
    instruction: str

    def fingerprint(self) -> str:
        """Return the SHA-256 of all that determines the prepared files, except the recipe.

        Raises:
            TaskError: A setup folder holds something other than files, folders and links.
        """
        content: dict[str, Json] = {
            "format": _FINGERPRINT,
            "files": [] if self.task.setup is None else list(_describe(self.task.setup)),
            "params": self.params,
            "setup": self.task.manifest.setup.model_dump(),
        }
        if (shared := self.task.shared_setup) is not None:
            content["shared"] = list(_describe(shared))
        return hashlib.sha256(canonical(content).encode()).hexdigest()


def visible(folder: Path) -> list[Path]:
    """Return the entries of a folder, sorted, without hidden files; empty if it is absent."""
    return sorted(folder.glob("[!.]*"))


def _describe(folder: Path) -> Iterator[Json]:
    """Yield path, kind, permissions and content of everything below a folder, by path."""
    for path in sorted(folder.rglob("*")):
        name, mode = path.relative_to(folder).as_posix(), path.lstat().st_mode
        if stat.S_ISLNK(mode):
            yield [name, "link", str(path.readlink())]
        elif stat.S_ISDIR(mode):
            yield [name, "dir", mode & 0o777]
        elif stat.S_ISREG(mode):
            digest = _digest(path)
            yield [name, "file", mode & 0o777, digest]
        else:
            raise TaskError(f"{show_path(path)}: expected a file, a folder or a link")


def _digest(path: Path) -> str:
    try:
        return digest_regular(path)
    except OSError as error:
        raise TaskError(f"{show_path(path)}: cannot be read: {error.strerror}") from error
