"""An episode of a foreign task under that task's own rules: its stages and its verification."""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import io
import tarfile
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, Protocol, TypeAlias

from agentgym.env.resolved_task import (
    computer_plan,
    computer_recipe,
    test_requirements,
    whole_wall_s,
)
from agentgym.env.tau2 import Tau2Episode
from agentgym.errors import (
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    TaskError,
    UnsupportedError,
    VerifierError,
)
from agentgym.protocols import FileTree, Judge, Sandbox, SandboxProvider, Services, UserWorld
from agentgym.records import Recipe, Step, Verdict
from agentgym.sandbox.image_fallback import Sources
from agentgym.task.foreign.rules import (
    AGENT_LOGS,
    ARTIFACTS,
    VERIFIER_LOGS,
    Artifact,
    ForeignRules,
    Healthcheck,
    SandboxRules,
    Stage,
)
from agentgym.task.foreign.tau2.rules import Tau2Rules
from agentgym.threads import to_thread
from agentgym.verify.foreign.reward import Outcome
from agentgym.verify.foreign.tests import VerifierTarget, run_tests
from agentgym.verify.foreign.toolkit import find_toolkit
from agentgym.verify.foreign.verdict import broken, verdict_of
from agentgym.verify.room import pack_artifacts

Start: TypeAlias = Callable[[], Awaitable[Sandbox]]


class ForeignEpisode(Protocol):
    """The rules of one running episode.

    Attributes:
        services: Services that the task brings, None if it brings only a sandbox.
        customer: The simulated user's access to services, None if the task has no user.
    """

    services: Services | None
    customer: UserWorld | None

    async def begin(self, sandbox: Sandbox) -> str:
        """Prepare the episode and return text for the agent besides the instruction."""
        ...

    async def submit(self, sandbox: Sandbox, answer: str) -> str | None:
        """Return the next instruction, None if the episode is over."""
        ...

    def note(self, step: Step) -> None:
        """Take note of a finished step."""
        ...

    def fork(self) -> NoReturn:
        """Refuse a fork.

        Raises:
            UnsupportedError: Always; the message says which rules cannot be forked.
        """
        ...

    async def finish(self, sandbox: Sandbox, *, gave_up: bool) -> Verdict:
        """Judge the state that the agent left."""
        ...

    def close(self) -> None:
        """Release all resources. Never raises."""
        ...


def foreign_episode(
    rules: ForeignRules,
    provider: SandboxProvider,
    recipe: Recipe,
    untouched: Start,
    *,
    offline: bool,
    judge: Judge | None,
) -> ForeignEpisode:
    """Return the rules of an episode that is about to begin.

    Args:
        rules: Rules of the task.
        provider: Starts the sandbox of a separate verifier.
        recipe: Recipe of the agent's sandbox.
        untouched: Starts a sandbox like the agent's, as the setup left it.
        offline: Whether both sandboxes have no network, whatever the rules say.
        judge: Judge of sentences; None for the judge that AGENTGYM_JUDGE names.

    Raises:
        TaskError: The rules are of an unknown kind.
    """
    match rules:
        case SandboxRules():
            return SandboxEpisode(rules, provider, recipe, untouched, offline=offline)
        case Tau2Rules():
            return Tau2Episode(rules, judge)
    raise TaskError(f"expected the rules of harbor, terminal-bench or tau2, got {rules.format!r}")


class SandboxEpisode:
    """An episode in a sandbox, judged by tests.

    Args:
        rules: Rules of the task.
        provider: Starts the sandbox of a separate verifier.
        recipe: Recipe of the agent's sandbox.
        untouched: Starts a sandbox like the agent's, as the setup left it.
        offline: Whether both sandboxes have no network, whatever the rules say.
    """

    def __init__(
        self,
        rules: SandboxRules,
        provider: SandboxProvider,
        recipe: Recipe,
        untouched: Start,
        *,
        offline: bool,
    ) -> None:
        self._rules, self._provider, self._recipe = rules, provider, recipe
        self._untouched, self._offline = untouched, offline
        self._halted = False
        self._outcomes: list[Outcome] = []
        self._broken: VerifierError | None = None
        self.services: Services | None = None
        self.customer: UserWorld | None = None

    @property
    def _stage(self) -> Stage:
        return self._rules.stages[len(self._outcomes)]

    async def begin(self, sandbox: Sandbox) -> str:
        """Prepare the sandbox for the first stage; there is no text besides the instruction.

        Raises:
            SandboxError: The sandbox does not become healthy.
        """
        for folder in (AGENT_LOGS, VERIFIER_LOGS, ARTIFACTS):
            await sandbox.write_file(f"{folder}/.keep", b"")
        await _wait_for_health(sandbox, self._rules.computer.healthcheck)
        await self._enter(sandbox)
        return ""

    async def _enter(self, sandbox: Sandbox) -> None:
        stage = self._stage
        if stage.workdir_files is not None:
            await sandbox.upload(stage.workdir_files, self._recipe.workdir)
            if (stage.workdir_files / "setup.sh").is_file():
                script = ["/bin/bash", f"{self._recipe.workdir}/setup.sh"]
                done = await sandbox.exec(script, timeout_s=stage.agent_timeout_s)
                if done.exit_code != 0:
                    said = (done.stdout + done.stderr).decode("utf-8", "replace")[-400:]
                    raise SandboxError(f"step {stage.name!r}: setup.sh failed: {said}")
        await _wait_for_health(sandbox, stage.healthcheck)

    async def submit(self, sandbox: Sandbox, answer: str) -> str | None:
        """Judge the present stage if another follows, and return the next instruction.

        Return None if the episode is over; `finish` judges the last stage.

        Raises:
            SandboxError: The sandbox broke.
        """
        stages, stage = self._rules.stages, self._stage
        if len(self._outcomes) + 1 == len(stages):
            return None
        outcome = await self._tested(sandbox)
        self._outcomes.append(outcome)
        if self._broken or (stage.min_reward is not None and outcome.reward < stage.min_reward):
            return None
        try:
            await self._enter(sandbox)
        except SandboxDiedError:
            raise
        except SandboxError as error:
            # The agent has acted, so it created a folder that stands in place of a file.
            self._halted = True
            self._outcomes.append(Outcome(0.0, message=f"the step could not begin: {error}"))
            return None
        return self._stage.instruction

    async def finish(self, sandbox: Sandbox, *, gave_up: bool) -> Verdict:
        """Judge the state that the agent left, in its sandbox or in the verifier's own."""
        reached = len(self._outcomes)
        stopped = self._halted or (reached and self._stopped_early())
        if not stopped and self._broken is None and reached < len(self._rules.stages):
            self._outcomes.append(await self._tested(sandbox))
        if self._broken is not None:
            return broken(self._broken)
        return verdict_of(self._rules, self._outcomes, gave_up=gave_up)

    def note(self, step: Step) -> None:
        """Do nothing: the verdict depends on the final state, not on the steps."""

    def fork(self) -> NoReturn:
        """Refuse a fork: the tests judge running processes, and a fork copies no process.

        Raises:
            UnsupportedError: Always.
        """
        raise UnsupportedError(
            f"the rules of {self._rules.format} cannot be forked: the task's own tests judge what "
            "runs in the sandbox, and processes are not copied; play the task again instead"
        )

    def close(self) -> None:
        """Do nothing: the owner of the sandbox closes it."""

    def _stopped_early(self) -> bool:
        last = len(self._outcomes) - 1
        least = self._rules.stages[last].min_reward
        return least is not None and self._outcomes[last].reward < least

    async def _tested(self, sandbox: Sandbox) -> Outcome:
        """Run the tests on the state that the agent left.

        If the tests break, they run once more in an untouched sandbox. If they work there, the
        agent's changes broke them, and they count as failed.

        Raises:
            SandboxDiedError: The sandbox died.
        """
        try:
            return await self._tests_of(sandbox)
        except SandboxDiedError:
            raise
        except (VerifierError, SandboxError) as error:
            fault = error
        try:
            await self._tests_of_untouched()
        except (VerifierError, SandboxError):
            self._broken = VerifierError(str(fault))
            return Outcome(0.0, message=str(fault))
        return Outcome(0.0, message=f"the tests broke on what the agent left: {fault}")

    async def _tests_of_untouched(self) -> None:
        sandbox = await self._untouched()
        try:
            for folder in (AGENT_LOGS, VERIFIER_LOGS, ARTIFACTS):
                await sandbox.write_file(f"{folder}/.keep", b"")
            await self._enter(sandbox)
            await self._tests_of(sandbox)
        finally:
            await sandbox.close()

    async def _tests_of(self, sandbox: Sandbox) -> Outcome:
        for hook in self._rules.collect:
            with contextlib.suppress(SandboxEndedError):
                shell = ["/bin/bash", "-c", hook.command]
                await sandbox.exec(shell, timeout_s=hook.timeout_s)
        if self._rules.verifier is None:
            return await self._run(sandbox, self._recipe, separate=False)
        return await self._tested_apart(sandbox)

    async def _run(self, sandbox: Sandbox, recipe: Recipe, *, separate: bool) -> Outcome:
        computer = self._rules.verifier or self._rules.computer
        plan = await to_thread(computer_plan, computer, Sources())
        toolkit = await to_thread(find_toolkit, test_requirements(self._rules), plan)
        # The agent may run as another user than the image's, but the tests do not.
        user = self._rules.verifier_user or computer_recipe(computer, recipe.name).user
        target = VerifierTarget(sandbox, recipe.env, user, separate)
        return await run_tests(target, self._rules, self._stage, toolkit)

    async def _tested_apart(self, sandbox: Sandbox) -> Outcome:
        """Run the tests in a sandbox without the agent, on the artifacts alone."""
        assert self._rules.verifier is not None
        after = await sandbox.seal()
        try:
            tree = await self._provider.open_tree(after)
            packed = await to_thread(_pack, tree, self._rules.artifacts)
        finally:
            await self._provider.discard(after)
        recipe = computer_recipe(self._rules.verifier, f"{self._recipe.name}, verifier")
        limits = replace(recipe.limits, wall_s=whole_wall_s(self._rules))
        if self._offline:
            recipe = replace(recipe, network="none", allow=())
        apart = await self._provider.start(replace(recipe, limits=limits))
        try:
            await apart.write_file(f"{ARTIFACTS}/.keep", b"")
            with tempfile.TemporaryDirectory(prefix="agentgym-artifacts-") as folder:
                await _bring(packed, Path(folder), apart)
            return await self._run(apart, recipe, separate=True)
        finally:
            await apart.close()


async def _wait_for_health(sandbox: Sandbox, check: Healthcheck | None) -> None:
    """Wait until a healthcheck passes.

    Raises:
        SandboxError: The healthcheck used up its retries.
    """
    if check is None:
        return
    began, failures = time.monotonic(), 0
    while True:
        done = await sandbox.exec(["/bin/sh", "-c", check.command], timeout_s=check.timeout_s)
        if done.exit_code == 0 and not done.timed_out:
            return
        starting = time.monotonic() - began < check.start_period_s
        failures += not starting
        if failures >= check.retries:
            said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()[-200:]
            raise SandboxError(
                f"the healthcheck {check.command!r} failed {failures} times; it last said: {said}"
            )
        await asyncio.sleep(check.start_interval_s if starting else check.interval_s)


def _pack(tree: FileTree, artifacts: Sequence[Artifact]) -> bytes:
    """Pack the existing artifacts, without their excluded paths.

    Raises:
        GuestFileError: An artifact has an unsupported file type, or is too large.
    """
    wanted = [Artifact(ARTIFACTS), *artifacts]
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as into:
        for artifact in wanted:
            if tree.stat(artifact.source, follow=False) is None:
                continue
            found = io.BytesIO(pack_artifacts(tree, [artifact.source]))
            with tarfile.open(fileobj=found) as archive:
                for member in archive:
                    inner = f"/{member.name}".removeprefix(artifact.source).lstrip("/")
                    if not any(fnmatch.fnmatchcase(inner, glob) for glob in artifact.exclude):
                        into.addfile(member, archive.extractfile(member))
    return packed.getvalue()


async def _bring(packed: bytes, folder: Path, sandbox: Sandbox) -> None:
    """Unpack files in a sandbox at their original paths."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            target, place = f"/{member.name}", folder / "entry"
            if member.isdir():
                place.mkdir(mode=member.mode & 0o777 | 0o700)
                await sandbox.upload(place, target)
                place.rmdir()
            elif member.issym():
                place.symlink_to(member.linkname)
                await sandbox.upload(place, target)
                place.unlink()
            else:
                file = archive.extractfile(member)
                assert file is not None
                await sandbox.write_file(target, file.read(), mode=member.mode & 0o777)
