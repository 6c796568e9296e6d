"""An episode of a task that brings a sandbox and test scripts: its stages and its verification."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import NoReturn

from agentgym.env.resolved_task import sandbox_plan, sandbox_recipe
from agentgym.errors import (
    SandboxDiedError,
    SandboxEndedError,
    SandboxError,
    TaskError,
    UnsupportedError,
    VerifierError,
)
from agentgym.formats.sandboxed.artifacts import pack, unpack
from agentgym.formats.sandboxed.health import wait_for_health
from agentgym.formats.sandboxed.requirements import requirements_of
from agentgym.formats.sandboxed.reward import NoRewardError, Outcome
from agentgym.formats.sandboxed.rules import (
    AGENT_LOGS,
    ARTIFACTS,
    VERIFIER_LOGS,
    SandboxRules,
    Stage,
)
from agentgym.formats.sandboxed.solution import solve, stage_actions
from agentgym.formats.sandboxed.tests import VerifierTarget, run_tests
from agentgym.formats.sandboxed.toolkit import find_toolkit
from agentgym.formats.sandboxed.verdict import broken, verdict_of
from agentgym.protocols import EpisodeContext, Sandbox, Services, UserWorld
from agentgym.records import Recipe, Step, Verdict
from agentgym.sandbox.image_fallback import Sources
from agentgym.threads import to_thread


class SandboxEpisode:
    """An episode in a sandbox, judged by tests.

    Args:
        rules: Rules of the task.
        context: The parts of the engine.
        sound: Numbers of the stages whose tests are known to work without an agent. The episodes
            of a task share it.
    """

    def __init__(
        self, rules: SandboxRules, context: EpisodeContext, sound: set[int] | None = None
    ) -> None:
        stages = tuple(
            replace(stage, test_timeout_s=min(stage.test_timeout_s, context.tests_s))
            for stage in rules.stages
        )
        self._rules, self._context = replace(rules, stages=stages), context
        self._sound = set() if sound is None else sound
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
        await self._prepare(sandbox)
        await self._enter(sandbox, self._stage)
        return ""

    async def _prepare(self, sandbox: Sandbox) -> None:
        for folder in (AGENT_LOGS, VERIFIER_LOGS, ARTIFACTS):
            await sandbox.write_file(f"{folder}/.keep", b"")
        await wait_for_health(sandbox, self._rules.healthcheck)

    async def _enter(self, sandbox: Sandbox, stage: Stage) -> None:
        if stage.workdir_files is not None:
            await sandbox.upload(stage.workdir_files, self._context.recipe.workdir)
            if (stage.workdir_files / "setup.sh").is_file():
                script = ["/bin/bash", f"{self._context.recipe.workdir}/setup.sh"]
                done = await sandbox.exec(script, timeout_s=stage.agent_timeout_s)
                if done.exit_code != 0:
                    said = (done.stdout + done.stderr).decode("utf-8", "replace")[-400:]
                    raise SandboxError(f"step {stage.name!r}: setup.sh failed: {said}")
        await wait_for_health(sandbox, stage.healthcheck)

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
            await self._enter(sandbox, self._stage)
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

    def fork(self, context: EpisodeContext) -> NoReturn:
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

        If the tests break, they run again without an agent. If they work there, what the agent
        left broke them, and they count as failed.

        Raises:
            SandboxDiedError: The sandbox died.
        """
        try:
            return await self._tests_of(sandbox, self._stage)
        except SandboxDiedError:
            raise
        except (VerifierError, SandboxError) as error:
            fault = error
        if await self._works_without_agent():
            return Outcome(0.0, message=f"the tests broke on what the agent left: {fault}")
        self._broken = VerifierError(str(fault))
        return Outcome(0.0, message=str(fault))

    async def _works_without_agent(self) -> bool:
        """Return whether the tests of the present stage work where no agent has acted."""
        number = len(self._outcomes)
        if number not in self._sound and await self._are_sound():
            self._sound.add(number)
        return number in self._sound

    async def _are_sound(self) -> bool:
        """Run the tests in an untouched sandbox, then on the reference solution's work.

        Tests that leave no reward in the untouched sandbox may leave one only if they pass. They
        count as working unless they leave none for a solution that succeeded either: otherwise
        an agent that fails would be unscored.
        """
        may_need_success = False
        try:
            await self._tests_of_untouched()
            return True
        except NoRewardError:
            may_need_success = True
        except (VerifierError, SandboxError):
            pass
        try:
            return await self._tests_of_solved() or may_need_success
        except (VerifierError, SandboxError, TaskError):
            return False

    async def _tests_of_untouched(self) -> None:
        async with self._untouched() as sandbox:
            try:
                await self._enter(sandbox, self._stage)
            except SandboxError as error:
                if not self._outcomes:
                    raise
                raise NoRewardError(f"the step needs the work of earlier ones: {error}") from error
            await self._tests_of(sandbox, self._stage)

    async def _tests_of_solved(self) -> bool:
        """Play the reference solution up to the present stage, and run its tests.

        Return whether they left a reward; False also if the task has no solution that succeeds.

        Raises:
            VerifierError: The tests break although the solution succeeded.
            SandboxError: The sandbox broke.
            TaskError: The solution cannot be read.
        """
        *earlier, last = self._rules.stages[: len(self._outcomes) + 1]
        solved = True
        async with self._untouched() as sandbox:
            for stage in earlier:
                solved &= await self._solve(sandbox, stage)
                with contextlib.suppress(VerifierError):
                    await self._tests_of(sandbox, stage)
            solved &= await self._solve(sandbox, last)
            try:
                await self._tests_of(sandbox, last)
            except NoRewardError:
                if solved:
                    raise
                return False
        return True

    async def _solve(self, sandbox: Sandbox, stage: Stage) -> bool:
        """Execute a stage's solution; return whether there is one and it succeeded."""
        await self._enter(sandbox, stage)
        actions = await to_thread(stage_actions, stage, self._rules)
        return bool(actions) and await solve(sandbox, actions, stage.agent_timeout_s)

    @contextlib.asynccontextmanager
    async def _untouched(self) -> AsyncIterator[Sandbox]:
        sandbox = await self._context.untouched()
        try:
            await self._prepare(sandbox)
            yield sandbox
        finally:
            await sandbox.close()

    async def _tests_of(self, sandbox: Sandbox, stage: Stage) -> Outcome:
        for hook in self._rules.collect:
            with contextlib.suppress(SandboxEndedError):
                shell = ["/bin/bash", "-c", hook.command]
                await sandbox.exec(shell, timeout_s=hook.timeout_s)
        if self._rules.verifier is None:
            return await self._run(sandbox, stage, self._context.recipe, separate=False)
        return await self._tested_apart(sandbox, stage)

    async def _run(
        self, sandbox: Sandbox, stage: Stage, recipe: Recipe, *, separate: bool
    ) -> Outcome:
        # The agent may run as another user than the image's, but the tests do not.
        computer = replace(self._rules.verifier or self._rules.sandbox, user="")
        plan = await to_thread(sandbox_plan, computer, Sources())
        toolkit = await to_thread(find_toolkit, requirements_of(self._rules), plan)
        user = self._rules.verifier_user or sandbox_recipe(computer, recipe.name).user
        target = VerifierTarget(sandbox, recipe.env, user, separate)
        return await run_tests(target, self._rules, stage, toolkit)

    async def _tested_apart(self, sandbox: Sandbox, stage: Stage) -> Outcome:
        """Run the tests in a sandbox without the agent, on the artifacts alone."""
        assert self._rules.verifier is not None
        after = await sandbox.seal()
        try:
            tree = await self._context.provider.open_tree(after)
            packed = await to_thread(pack, tree, self._rules.artifacts)
        finally:
            await self._context.provider.discard(after)
        recipe = await to_thread(self._context.recipe_of, self._rules.verifier)
        apart = await self._context.provider.start(recipe)
        try:
            await apart.write_file(f"{ARTIFACTS}/.keep", b"")
            await unpack(packed, apart)
            return await self._run(apart, stage, recipe, separate=True)
        finally:
            await apart.close()
