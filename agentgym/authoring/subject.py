"""One task under examination: its episodes, each played once, and the state after its setup."""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from agentgym.agents import registry
from agentgym.agents.policy_file import PolicyFileAgent
from agentgym.authoring.sampled_calls import SampledCalls
from agentgym.authoring.stage import Played, Player, Stage
from agentgym.env.environment import Environment
from agentgym.env.hosting import prepare_services
from agentgym.env.resolved_task import resolve_task
from agentgym.protocols import Agent, FileTree, SandboxProvider
from agentgym.records import Action, ChangeKind, Recipe, Snapshot
from agentgym.services.state import Snapshot as ServicesSnapshot
from agentgym.task.model import Instance, Task
from agentgym.task.reference_actions import reference
from agentgym.task.setup import prepare
from agentgym.threads import to_thread
from agentgym.verify.room_cache import RoomCache

T = TypeVar("T")

_PATH = re.compile(r"(?<![\w/.])/[A-Za-z0-9_][A-Za-z0-9_./@+-]*")
_SCRATCH = ("/tmp/**", "/var/tmp/**")
_SYSTEM = ("/proc", "/sys", "/dev", "/usr", "/bin", "/sbin", "/lib")


@dataclass(frozen=True)
class InitialState:
    """The initial state of an episode of an instance.

    Attributes:
        instance: The task with its slots filled.
        recipe: Recipe of its sandboxes.
        snapshot: Snapshot of the files.
        tree: The same files, for reading.
        files: Regular files that the setup created or changed, sorted.
        named: Paths that the instruction names, as written there, sorted.
        provider: Provider of its sandboxes.
        gold: Values that the setup left for the checks, by name.
        services: State of the services after the setup; None if the task has no services.
    """

    instance: Instance
    recipe: Recipe
    snapshot: Snapshot
    tree: FileTree
    files: tuple[str, ...]
    named: tuple[str, ...]
    provider: SandboxProvider
    gold: Mapping[str, bytes]
    services: ServicesSnapshot | None

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders of the work: those of the files that the setup left and the instruction names."""
        found = {"/root"}
        for path in (*self.files, *self.named):
            parts = path.split("/")[1:]
            stat = self.tree.stat(path)
            if stat is None or stat.kind != "dir":
                parts = parts[:-1]
            if parts and parts[0] not in ("etc", "root", "tmp"):
                found.add("/" + "/".join(parts[:2]))
        return tuple(sorted(found))


@dataclass(slots=True)
class Tally:
    """Sums up the episodes of an examination.

    Attributes:
        episodes: Their number.
        contacted: Hosts that this process tried to reach while they were played and judged.
    """

    episodes: int = 0
    contacted: set[str] = field(default_factory=set)


class Subject:
    """A task whose properties are examined.

    Args:
        task: The task.
        seeds: Seeds of the instances to examine; the first stands for all if one is enough.
        stage: Plays the episodes.

    Attributes:
        calls: Tools of the agent.
        tools: Names of the tools.
        has_sandbox: Whether the environment has a sandbox.
        tally: Sums up its episodes so far.
    """

    def __init__(self, task: Task, seeds: Sequence[int], stage: Stage) -> None:
        self.task, self.seeds, self.stage = task, tuple(seeds), stage
        self.tally = Tally()
        self._room_cache = RoomCache()
        self._once: dict[tuple[str, int], asyncio.Future[Any]] = {}
        self._environment = environment = Environment(task, stage.provider)
        self.calls = environment.tools
        self.tools = frozenset(tool.name for tool in environment.tools)
        self.has_sandbox = environment.provider is stage.provider
        self.services = resolve_task(task).spec.find_services()
        self._sampled_calls: SampledCalls | None = None

    def close(self) -> None:
        """Release the state that sampled calls were tried on."""
        if self._sampled_calls is not None:
            self._sampled_calls.close()
            self._sampled_calls = None

    @property
    def first_seed(self) -> int:
        """Seed of the instance that stands for all."""
        return self.seeds[0]

    def instance(self, seed: int | None = None) -> Instance:
        """Return the instance of a seed, the first one by default."""
        return self.task.instance(self.first_seed if seed is None else seed)

    def without_scratch(self) -> Subject:
        """Return the same task, with the files below /tmp left out of the state hash."""
        manifest = self.task.manifest
        replay = manifest.replay.model_copy(
            update={"volatile_paths": (*manifest.replay.volatile_paths, *_SCRATCH)}
        )
        return self._altered(
            replace(self.task, manifest=manifest.model_copy(update={"replay": replay}))
        )

    def with_tests_within(self, limit_s: float) -> Subject:
        """Return the same task with the tests of its format limited to `limit_s` seconds."""
        if self.task.foreign is None:
            return self
        foreign = replace(self.task.foreign, tests_s=limit_s)
        return self._altered(replace(self.task, foreign=foreign))

    def _altered(self, task: Task) -> Subject:
        other = Subject(task, self.seeds, self.stage)
        other.tally = self.tally
        return other

    async def oracle(self, seed: int | None = None, take: int = 0) -> Played:
        """Play the solution; play the same take of the same seed only once.

        Of the first seed the observations keep their pictures.
        """
        chosen = self.first_seed if seed is None else seed

        async def play() -> Played:
            # Judge it anew: the test is whether equal ends are judged alike, so no memory helps.
            found = reference(self.instance(chosen))
            seeing = chosen == self.first_seed
            return await self._play(found, chosen, room_cache=None, seeing=seeing)

        return await self._only_once(f"oracle {take}", chosen, play)

    async def solution(self, seed: int | None = None) -> tuple[Action, ...]:
        """Return the actions of the solution; those of a policy are the ones it took."""
        chosen = self.first_seed if seed is None else seed
        found = reference(self.instance(chosen))
        if not isinstance(found, Path):
            return found
        played = await self.oracle(chosen)
        return tuple(step.action for step in played.steps)

    async def play(self, actions: Sequence[Action] | Path, *, seed: int | None = None) -> Played:
        """Play actions, the last of which ends the episode, or a policy file.

        The limit on steps is raised to what the actions need. Answers of clean rooms about the same
        files in another episode are reused.
        """
        chosen = self.first_seed if seed is None else seed
        return await self._play(actions, chosen, room_cache=self._room_cache)

    async def _play(
        self,
        actions: Sequence[Action] | Path,
        seed: int,
        *,
        room_cache: RoomCache | None,
        seeing: bool = False,
    ) -> Played:
        limit = self._environment.max_steps
        player: Agent = PolicyFileAgent(actions) if isinstance(actions, Path) else Player(actions)
        needed = 0 if isinstance(actions, Path) else len(actions)
        return await self._noted(
            self.stage.play(
                self.task,
                seed,
                player,
                max_steps=max(limit, needed),
                room_cache=room_cache,
            ),
            seeing=seeing,
        )

    async def let(self, agent: str, *, seed: int, max_steps: int | None = None) -> Played:
        """Let an agent play by its name."""
        return await self._noted(
            self.stage.play(
                self.task,
                seed,
                registry.create(agent),
                max_steps=max_steps,
                room_cache=self._room_cache,
            )
        )

    async def initial_state(self, seed: int | None = None) -> InitialState:
        """Return the initial state of an episode; it is prepared only once."""
        chosen = self.first_seed if seed is None else seed
        return await self._only_once(
            "initial state", chosen, functools.partial(self._initial_state, chosen)
        )

    async def _initial_state(self, seed: int) -> InitialState:
        provider, instance = self._environment.provider, self.task.instance(seed)
        recipe, snapshot = await self._environment.prepare(seed)
        gold: dict[str, bytes] = {}
        bare = snapshot
        if self.has_sandbox:
            bare = await self.stage.bare(recipe)
            gold |= (await prepare(instance, provider, recipe)).gold
        services = None
        if self.services is not None:
            begun = prepare_services(self.services, instance)
            services, gold = begun.snapshot, {**gold, **begun.gold}
        changes = await provider.compare(bare, snapshot)
        tree = await provider.open_tree(snapshot)

        def is_file(path: str) -> bool:
            stat = tree.stat(path, follow=False)
            return stat is not None and stat.kind == "file"

        left = [c.path for c in changes if c.kind is not ChangeKind.DELETED]
        files = await to_thread(lambda: tuple(path for path in left if is_file(path)))
        named = named_paths(instance.instruction)
        return InitialState(
            instance, recipe, snapshot, tree, files, named, provider, gold, services
        )

    async def sampled_calls(self) -> SampledCalls | None:
        """Return calls that any agent could make; None if the environment has no services."""
        start = (await self.initial_state()).services
        if self.services is None or start is None:
            return None
        if self._sampled_calls is None:
            self._sampled_calls = SampledCalls(self.services, start, self.tools)
        return self._sampled_calls

    async def _noted(self, episode: Awaitable[Played], *, seeing: bool = False) -> Played:
        played = await episode
        self.tally.episodes += 1
        self.tally.contacted.update(played.contacted)
        return played if seeing else played.without_pictures()

    async def _only_once(self, what: str, seed: int, make: Callable[[], Awaitable[T]]) -> T:
        key = (what, seed)
        if key not in self._once:
            self._once[key] = asyncio.ensure_future(make())
        # Shielded: a cancelled probe leaves the episode to the other probes that wait for it.
        result: T = await asyncio.shield(self._once[key])
        return result


def named_paths(instruction: str) -> tuple[str, ...]:
    """Return the absolute guest paths that an instruction names, except system paths."""
    found = {match.rstrip("./") for match in _PATH.findall(instruction)}
    return tuple(
        sorted(
            path
            for path in found
            if path.count("/") > 1
            and not (path.startswith(_SYSTEM) and not path.startswith("/usr/local"))
        )
    )
