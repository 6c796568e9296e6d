"""The dynamics of an episode: faults in the agent's calls, and events between its steps.

This module owns the order. During a call, a fault may be injected. After a step, the clock
advances, the milestones are checked, and the due events fire in the order of the file unless the
episode is over. All of it depends only on the actions and the seed, so a replay repeats it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from agentgym.env.clock import LogicalClock
from agentgym.env.fault import Faults, InjectedFault
from agentgym.env.fault_proxy import FaultProxy
from agentgym.env.hosting import STARTS, run_service_script
from agentgym.env.script import complaint, run_script
from agentgym.env.spec import EnvSpec
from agentgym.errors import (
    SandboxDiedError,
    SandboxError,
    TaskError,
    UnsupportedError,
    VerifierError,
    close_matches,
)
from agentgym.manifest import locate, read_text, show_path
from agentgym.protocols import Sandbox, SandboxProvider
from agentgym.records import (
    Action,
    Audit,
    Capability,
    CheckResult,
    Observation,
    Step,
    StepEvent,
    StepEventKind,
)
from agentgym.services.backend import Backend
from agentgym.services.state import Snapshot as ServicesSnapshot
from agentgym.task.dynamics import EventManifest
from agentgym.task.model import Instance, Task
from agentgym.task.template import fill
from agentgym.threads import COMPUTING
from agentgym.verify.milestones import Milestones, Moment, milestones_of
from agentgym.verify.service_state import ServicesSeen

FAILED = "failed in what the agent had left"
"""Words of the record for an event whose script failed through the agent's changes."""


class Dynamics:
    """The dynamics of one episode.

    Args:
        instance: The task with its parameters.
        milestones: Checks after every step, None if the rubric has no milestones.
        pristine: Starts another sandbox from the files that the setup left.
        services: The services, None if the environment has no services.
        start: State of the services before the first step; None if that is their present state.

    Attributes:
        clock: The logical clock.
        services: The services as surfaces call them, None if the environment has no services.
        acting: The tool that the agent called last.
    """

    def __init__(
        self,
        instance: Instance,
        milestones: Milestones | None,
        pristine: Callable[[], Awaitable[Sandbox]],
        services: Backend | None = None,
        *,
        start: ServicesSnapshot | None = None,
    ) -> None:
        manifest = instance.task.manifest
        self._services = services
        self.services = None if services is None else FaultProxy(services, self)
        self._start = start if services is None or start is not None else services.snapshot()
        self.clock = LogicalClock(manifest.clock.begins)
        self._instance, self._milestones, self._pristine = instance, milestones, pristine
        self._faults = Faults(instance.task.id, manifest.fault, instance.seed)
        self._waiting = list(manifest.event)
        self._ran: list[tuple[EventManifest, str, str]] = []
        self._step_events: list[StepEvent] = []
        self.acting = ""

    def fork(
        self, milestones: Milestones | None, services: Backend | None, earlier: Audit
    ) -> Dynamics:
        """Return the dynamics of a forked episode, in the same state.

        Args:
            milestones: Milestones of the fork, which copy the results so far.
            services: A fork of the services.
            earlier: Audit of the sandbox before the fork.
        """
        other = Dynamics(self._instance, milestones, self._pristine, services, start=self._start)
        if milestones is not None and self._milestones is not None:
            milestones.follow(self._milestones, earlier)
        other.clock.advance(self.clock.elapsed_s)
        other._faults = self._faults.fork()
        other._waiting, other._ran = list(self._waiting), list(self._ran)
        other._step_events, other.acting = list(self._step_events), self.acting
        return other

    def follow(self, earlier: Audit) -> None:
        """Take note that a new sandbox has taken the place of the one that has this audit."""
        if self._milestones is not None:
            self._milestones.follow(self._milestones, earlier)

    def close(self) -> None:
        """Stop checking milestones."""
        if self._milestones is not None:
            self._milestones.close()

    @property
    def latched(self) -> Mapping[str, CheckResult]:
        """Results of the milestones, by checkpoint id."""
        return self._milestones.results() if self._milestones is not None else {}

    def note(self, event: StepEvent) -> None:
        """Record an event of the present step that another part caused."""
        self._step_events.append(event)

    def take_events(self) -> tuple[StepEvent, ...]:
        """Return the events since the last call of this method, in order."""
        happened, self._step_events = tuple(self._step_events), []
        return happened

    async def begin(self, sandbox: Sandbox) -> str:
        """Execute the events that are due before the first step.

        Returns:
            Text for the agent; empty if there is nothing to tell.

        Raises:
            TaskError: The script of an event fails, independent of the agent's actions.
            SandboxError: The sandbox died.
        """
        if self._milestones is not None:
            await self._milestones.observe(sandbox, Moment(-1, services=self.services_seen()))
        return await self._fire(sandbox, 0)

    def services_seen(self) -> ServicesSeen | None:
        """Return the present evidence of the services, None if the environment has no services."""
        if self._services is None or self._start is None:
            return None
        return ServicesSeen.of(self._start, self._services)

    def _advance_clock(self, seconds: float) -> None:
        self.clock.advance(seconds)
        if self._services is not None:
            self._services.now = str(self.clock)

    async def call(
        self, action: Action, execute: Callable[[Action], Awaitable[Observation]]
    ) -> Observation:
        """Execute a legal call, unless a fault is injected."""
        self.acting = action.tool
        injected = self.next_fault(action.tool)
        if injected is None:
            return await execute(action)
        true = await execute(action) if injected.fault.is_executed else None
        return injected.answer(true, self.note_fault(injected))

    def next_fault(self, tool: str) -> InjectedFault | None:
        """Count one more call of a tool and return the fault to inject, if any."""
        return self._faults.next_call(tool)

    def note_fault(self, injected: InjectedFault) -> str:
        """Record an injected fault, and return its message with the slots filled."""
        fault = injected.fault
        self._step_events.append(StepEvent(StepEventKind.FAULT, fault.id, injected.detail))
        self._advance_clock(injected.delay_s)
        where = show_path(self._instance.task.folder / "task.toml")
        return fill(fault.message or "", self._instance.params, where)

    async def advance(
        self,
        sandbox: Sandbox,
        earlier: Sequence[Step],
        step: Step,
        *,
        answer: str | None,
        gave_up: str | None,
        over: bool,
    ) -> str:
        """Advance the world by one step.

        Args:
            sandbox: The sandbox of the episode.
            earlier: The steps before this one.
            step: The step.
            answer: Argument of ``submit``.
            gave_up: Argument of ``give_up``.
            over: Whether the episode is over; then no event fires.

        Returns:
            Text for the agent about the events that fired; empty if there is nothing to tell.

        Raises:
            TaskError: The script of an event fails, independent of the agent's actions.
            SandboxError: The sandbox died; a SandboxEndedError if the guest caused it.
        """
        self._advance_clock(self._instance.task.manifest.clock.step_s)
        if self._milestones is not None:
            seen = self.services_seen()
            moment = Moment(step.index, (*earlier, step), answer, gave_up, seen)
            await self._milestones.observe(sandbox, moment)
        return "" if over else await self._fire(sandbox, step.index + 1)

    async def _fire(self, sandbox: Sandbox, steps: int) -> str:
        told = []
        for event in [event for event in self._waiting if self._is_due(event, steps)]:
            self._waiting.remove(event)
            detail = str(self.clock)
            if event.run is not None:
                detail += await self._run(event, event.run, sandbox)
            if event.announce is not None:
                where = show_path(self._instance.task.folder / "task.toml")
                text = fill(event.announce, self._instance.params, where)
                told.append(f"[notification] {text}")
                detail += ", announced"
            self._step_events.append(StepEvent(StepEventKind.EVENT, event.id, detail))
        return "\n".join(told)

    def _is_due(self, event: EventManifest, steps: int) -> bool:
        if event.at_step is not None:
            return steps >= event.at_step
        if event.after_s is not None:
            return self.clock.elapsed_s >= event.after_s
        return self._milestones is not None and event.when in self._milestones.reached

    async def _run(self, event: EventManifest, script: str, sandbox: Sandbox) -> str:
        """Run an event's script and return its result for the record."""
        self._ran.append((event, script, str(self.clock)))
        failure = await self._execute(sandbox, self._services, *self._ran[-1])
        if not failure:
            return f", ran {script}"
        if all(ran.when is None for ran, _, _ in self._ran):
            try:
                await self._dry_run()
            except SandboxError as error:
                # No agent has acted in that sandbox, so the agent did not cause the failure.
                raise SandboxDiedError(f"no dry run of the events: {error}") from error
        return f", {script} {FAILED}"

    async def _dry_run(self) -> None:
        """Run all scripts so far, in order, in a sandbox in which no agent has acted.

        A script that waited for a milestone may build on the agent's work, so its failure here
        would prove nothing; such scripts are not run.
        """
        untouched = await self._pristine()
        services = None
        if self._services is not None:
            services = await STARTS.run(Backend, self._services.services, self._start)
        try:
            for event, script, now in self._ran:
                own = await self._execute(untouched, services, event, script, now)
                if own:
                    raise TaskError(complaint(self._instance, event, script, own))
        finally:
            if services is not None:
                services.close()
            await untouched.close()

    async def _execute(
        self,
        sandbox: Sandbox,
        services: Backend | None,
        event: EventManifest,
        script: str,
        now: str,
    ) -> str:
        """Run a script in its place and return its error, empty if it succeeded."""
        if not script.endswith(".py"):
            return await run_script(sandbox, self._instance, event, script, now)
        assert services is not None, "check_dynamics has seen to it"
        services.now = now
        return await COMPUTING.finish(
            run_service_script, services, self._instance, event.id, script
        )


def check_dynamics(
    task: Task, spec: EnvSpec, tools: Sequence[str], provider: SandboxProvider
) -> None:
    """Check that everything which a task's faults and events refer to exists.

    Raises:
        TaskError: A fault names an unknown tool, an event waits for a milestone that the rubric
            lacks, or a script needs services or a sandbox that the environment lacks; the message
            names file and line.
        UnsupportedError: The task has milestones and the provider cannot read a running sandbox.
    """
    for index, fault in enumerate(task.manifest.fault):
        if fault.tool not in tools:
            raise _wrong(task, ("fault", index, "tool"), fault.tool, "tool", tools)
    for index, event in enumerate(task.manifest.event):
        _check_script(task, spec, event.run or "", ("event", index, "run"))
    if task.services_setup is not None:
        _check_script(task, spec, "setup/services.py", ())
    if task.setup is not None:
        _check_script(task, spec, "setup/setup.sh", ())
    try:
        known = milestones_of(task)
    except VerifierError:
        # Grading reports what is wrong with the rubric.
        return
    for index, event in enumerate(task.manifest.event):
        if event.when is not None and event.when not in known:
            raise _wrong(task, ("event", index, "when"), event.when, "milestone", known)
    if known and Capability.LOOK not in provider.capabilities:
        raise UnsupportedError(
            f"{task.id} has checkpoints with when = 'every_step', and sandbox {provider.name!r} "
            "cannot be looked into while it runs; choose another with --sandbox"
        )


def _check_script(task: Task, spec: EnvSpec, script: str, at: tuple[str | int, ...]) -> None:
    wanted, there = (
        ("services", spec.services)
        if script.endswith(".py")
        else (
            "sandbox",
            spec.sandbox,
        )
    )
    if script and there is None and task.foreign is None:
        path = task.folder / (script if not at else "task.toml")
        line = f":{locate(read_text(path, TaskError), at)}" if at else ""
        raise TaskError(
            f"{show_path(path)}{line}: {script} needs {wanted}, and environment "
            f"{task.manifest.env!r} has none; expected {wanted} = '…' in its env.toml"
        )


def _wrong(
    task: Task, at: tuple[str | int, ...], name: str, kind: str, known: Sequence[str]
) -> TaskError:
    path = task.folder / "task.toml"
    line = locate(read_text(path, TaskError), at)
    close = close_matches(name, known, limit=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
    field = ".".join(map(str, at))
    return TaskError(f"{show_path(path)}:{line}: {field}: no {kind} named {name!r}; {hint}")
