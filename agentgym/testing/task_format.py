"""The contract suite of `agentgym.protocols.TaskFormat`, which every task format must pass.

Subclass `TaskFormatContract` in a test module; pytest finds the inherited tests. The folders that a
format must not claim are hand-made: empty, absent, agentgym's own, or with files that are broken.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentgym.env.environment import Environment
from agentgym.errors import AgentGymError, PluginError
from agentgym.protocols import ForeignTask, SandboxProvider, TaskFormat
from agentgym.records import Action, Verdict
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.foreign import load_foreign
from agentgym.task.model import Task
from agentgym.task.reference_actions import answered, reference
from agentgym.task.reference_policy import ReferencePolicy, load_policy
from agentgym.verify.version import verifier_version

_OWN = (
    'schema_version = "agentgym.task/1"\nid = "contract/own-v1"\ntitle = "x"\n'
    'difficulty = "easy"\nenv = "terminal"\n'
)


class TaskFormatContract:
    """Tests of one task format.

    Example:
        >>> from agentgym.task_formats import load_format, names
        >>> class TestFirst(TaskFormatContract):
        ...     def make(self) -> TaskFormat:
        ...         return load_format(names()[0])
        >>> TestFirst().test_other_folders_are_not_claimed()
    """

    def make(self) -> TaskFormat:
        """Return a new format."""
        raise NotImplementedError

    def write(self, folder: Path) -> None:
        """Write a sound task with a solution into an empty folder."""
        raise NotImplementedError

    def provider(self) -> SandboxProvider:
        """Return a provider for the episodes of that task."""
        return BubblewrapProvider()

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="agentgym-contract-") as root:
            folder = Path(root) / "task"
            folder.mkdir()
            self.write(folder)
            yield folder

    def test_it_says_who_it_is(self) -> None:
        """The name is the same for every object."""
        assert self.make().name and self.make().name == self.make().name

    def test_its_own_folder_is_recognised(self) -> None:
        """The folder is recognised, by a path of any form."""
        with self._folder() as folder:
            assert self.make().detect(folder) is True
            assert self.make().detect(folder / ".." / folder.name) is True

    def test_other_folders_are_not_claimed(self) -> None:
        """Folders without the sign of the format are refused, and no folder is an exception."""
        found = self.make()
        with tempfile.TemporaryDirectory(prefix="agentgym-contract-") as root:
            empty = Path(root) / "empty"
            empty.mkdir()
            (Path(root) / "file").write_text("no folder\n")
            own = Path(root) / "own"
            (own / "checks").mkdir(parents=True)
            (own / "task.toml").write_text(_OWN)
            (own / "checks" / "rubric.toml").write_text('schema_version = "agentgym.rubric/1"\n')
            for folder in (empty, Path(root) / "absent", Path(root) / "file", own):
                assert found.detect(folder) is False, folder.name

    def test_broken_folders_raise_nothing_else_than_errors_of_agentgym(self) -> None:
        """Files with other content lead to an AgentGymError, not to another exception."""
        found = self.make()
        for content in (b"", b"\xff\xfe\x00", b"[" * 2000, b"{}", b"[]", b"1"):
            with self._folder() as folder:
                for path in [path for path in folder.iterdir() if path.is_file()]:
                    path.write_bytes(content)
                if not found.detect(folder):
                    continue
                try:
                    load_foreign(folder, found)
                except PluginError as error:
                    raise AssertionError(f"{content[:9]!r}: {error}") from error
                except AgentGymError as error:
                    assert str(error)

    def test_a_task_is_loaded_and_nothing_is_written(self) -> None:
        """Two loads give the same task, and the folder stays as it is."""
        with self._folder() as folder:
            before = _listing(folder)
            first, second = (load_foreign(folder, self.make()) for _ in range(2))
            assert _listing(folder) == before
            assert (first.id, first.instruction) == (second.id, second.instruction)
            assert first.foreign is not None and first.foreign.format == self.make().name
            assert verifier_version(first) == verifier_version(second)
            _sound(first.foreign)

    def test_the_solution_solves_the_task_and_inaction_does_not(self) -> None:
        """The solution has the outcome true, an immediate submit has not; twice the same."""
        with self._folder() as folder:
            task = load_foreign(folder, self.make())
            assert reference(task.instance(0)), "expected a solution"
            verdicts = asyncio.run(self._play(task))
            for solved, idle in verdicts:
                assert solved.scored and solved.outcome and solved.score == 1.0, solved
                assert idle.scored and not idle.outcome, idle
                assert solved.verifier == idle.verifier == verifier_version(task)
            assert verdicts[0] == verdicts[1]

    async def _play(self, task: Task) -> list[tuple[Verdict, Verdict]]:
        provider = self.provider()
        try:
            async with Environment(task, provider) as environment:
                return [
                    (
                        await _finish(environment, reference(task.instance(0))),
                        await _finish(environment, (Action("submit"),)),
                    )
                    for _ in range(2)
                ]
        finally:
            await provider.close()


async def _finish(environment: Environment, actions: tuple[Action, ...] | Path) -> Verdict:
    async with await environment.start(0) as episode:
        if isinstance(actions, Path):
            policy, seen = ReferencePolicy(actions, episode.instance.instruction), episode.first
            while not policy.over:
                transition = await episode.step(policy.act(seen))
                if transition.verdict is not None:
                    return transition.verdict
                seen = transition.observation
            return await episode.finish()
        for action in actions:
            transition = await episode.step(answered(action, episode.steps))
            if transition.verdict is not None:
                return transition.verdict
        return await episode.finish()


def _sound(task: ForeignTask) -> None:
    for name, content in task.rules.verifier_parts():
        assert isinstance(name, str) and isinstance(content, bytes)
    actions = task.rules.reference_actions()
    if isinstance(actions, Path):
        load_policy(actions)
        actions = ()
    assert all(isinstance(action, Action) for action in actions)
    assert not actions or actions[-1].tool in ("submit", "give_up")
    assert all(
        isinstance(name, str) and isinstance(by, str)
        for name, by in task.rules.replacements().items()
    )


def _listing(folder: Path) -> list[tuple[str, int, int]]:
    return [
        (str(path), path.lstat().st_mtime_ns, path.lstat().st_size)
        for path in sorted(folder.rglob("*"))
    ]
