"""Grades the steps of recorded episodes: prepares the graders' input and keeps their results.

Nothing is executed. The task's present tools and rubric are used; if the task no longer exists,
graders that need them report it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from agentgym.env.answer import check_action, submit_tool
from agentgym.env.control import GIVE_UP
from agentgym.env.conversation import agent_tools
from agentgym.env.resolved_task import resolve_task
from agentgym.env.spec import answer_of
from agentgym.errors import ActionError, AgentGymError
from agentgym.protocols import StepGrader
from agentgym.record.store import RunStore
from agentgym.records import (
    Action,
    Contract,
    Grading,
    Json,
    Milestone,
    Phase,
    Repair,
    Step,
    ToolSpec,
    Trajectory,
)
from agentgym.rollout.trust import NOTHING_NAMED, Named
from agentgym.swe.repair import repair_of
from agentgym.task.answer import Answer
from agentgym.task.load import find_task
from agentgym.task.model import Task
from agentgym.task.replies import SavedReply
from agentgym.task.template import fill_json
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.rubric.tree import Checkpoint, Kind, Rubric, When
from agentgym.verify.steps.grading import grade_steps
from agentgym.verify.version import verifier_version

_PACK = "trajectory."


async def grade_episode(
    store: RunStore,
    episode_id: int,
    graders: Mapping[str, StepGrader],
    *,
    named: Named = NOTHING_NAMED,
) -> list[Grading]:
    """Grade the steps of an episode and keep the gradings in its record.

    Args:
        store: The run, open for writing.
        episode_id: An episode that has begun.
        graders: The graders, by the name under which a grading is kept.
        named: Names that the user gave in addition to the run.

    Returns:
        The grading of each grader; that of a failed grader holds the reason.

    Raises:
        RecordError: The record is damaged or cannot be written.
    """
    trajectory = trajectory_of(store, episode_id, named)
    digest = store.history.trajectory(episode_id)
    gradings = [
        replace(await grade_steps(spec, one, trajectory), trajectory=digest)
        for spec, one in graders.items()
    ]
    store.history.add_gradings(episode_id, gradings)
    return gradings


def trajectory_of(store: RunStore, episode_id: int, named: Named = NOTHING_NAMED) -> Trajectory:
    """Return the graders' input for an episode.

    Raises:
        RecordError: The run has no such episode, or it is damaged.
    """
    row, steps = store.episode(episode_id), tuple(store.steps(episode_id))
    plain = Trajectory(row.plan.task, row.instruction, steps, row.first, row.verdict)
    try:
        task = find_task(named.task(row.plan.task))
        named.admit(row.plan.task, task)
        return with_task(plain, task, row.params)
    except AgentGymError as error:
        # Graders that need no task can still grade an episode whose task no longer exists.
        return replace(plain, problem=str(error))


def with_task(trajectory: Trajectory, task: Task, params: Mapping[str, Json]) -> Trajectory:
    """Add what graders need to know of the task: illegal calls, milestones, contracts, gold patch.

    Args:
        trajectory: An episode of the task.
        task: The task.
        params: Values of its slots in this episode.

    Raises:
        AgentGymError: The task is broken.
    """
    path = task.folder / "checks" / "rubric.toml"
    # A task of another format has no rubric.
    rubric = load_rubric(path) if task.foreign is None and path.exists() else Rubric(())
    repair, unknown = _repair(task)
    return replace(
        trajectory,
        repair=repair,
        repair_problem=unknown,
        complaints=find_complaints(
            trajectory.steps, offered_tools(task), answer_of(task), task.manifest.replies
        ),
        milestones=find_milestones(rubric),
        contracts=tuple(find_contracts(rubric, params)),
        volatile_text=task.manifest.replay.volatile_text,
        rubric=verifier_version(task),
    )


def _repair(task: Task) -> tuple[Repair | None, str]:
    """Return the gold patch of a task, or the reason why it cannot be read."""
    try:
        return repair_of(task), ""
    except AgentGymError as error:
        return None, str(error)


def offered_tools(task: Task) -> list[ToolSpec]:
    """Return the tools of a task's environment, without starting anything.

    Raises:
        AgentGymError: The environment is broken.
    """
    resolved = resolve_task(task)
    own = () if task.user is None else task.user.own
    kinds = resolved.spec.make_surface_kinds(
        resolved.tools, withheld=own, has_sandbox=resolved.has_sandbox
    )
    offered = [tool for kind in kinds for tool in kind.tools()]
    return [*agent_tools(offered, task), submit_tool(answer_of(task)), GIVE_UP]


def find_complaints(
    steps: Sequence[Step],
    tools: Sequence[ToolSpec],
    answer: Answer = "text",
    replies: Sequence[SavedReply] = (),
) -> dict[int, str]:
    """Return, by index of the step, why its call was illegal."""
    found: dict[int, str] = {}
    for step in steps:
        complaint = _complaint(step.action, tools, answer, replies)
        if complaint:
            found[step.index] = complaint
    return found


def _complaint(
    action: Action, tools: Sequence[ToolSpec], answer: Answer, replies: Sequence[SavedReply]
) -> str:
    if action.tool == "" and action.arguments.keys() == {"malformed"}:
        return str(action.arguments["malformed"])
    try:
        check_action(action, tools, answer, replies)
    except ActionError as error:
        return str(error)
    return ""


def find_contracts(rubric: Rubric, params: Mapping[str, Json]) -> Iterator[Contract]:
    """Yield the leaves of a rubric that use check pack `trajectory`, slots filled.

    Raises:
        TaskError: A slot has no value.
    """
    for leaf in rubric.leaves():
        if leaf.use.startswith(_PACK):
            arguments = fill_json(leaf.arguments, params, f"checkpoint {leaf.id!r}")
            assert isinstance(arguments, Mapping)
            yield Contract(leaf.id, leaf.use.removeprefix(_PACK), arguments)


def find_milestones(rubric: Rubric) -> tuple[Milestone, ...]:
    """Return the leaves that are checked after every step, with their share of all of them.

    A leaf's share of the rubric is the product of the shares on its path. Bonus and safety are left
    out, because they are not progress towards the outcome.
    """
    shares = {
        leaf.id: share
        for leaf, share in _shares(rubric.checkpoints, 1.0)
        if leaf.when is When.EVERY_STEP
    }
    total = math.fsum(shares.values())
    return tuple(Milestone(id, share / total) for id, share in shares.items())


def _shares(siblings: Sequence[Checkpoint], whole: float) -> Iterator[tuple[Checkpoint, float]]:
    counted = [c for c in siblings if c.phase is not Phase.SAFETY and not c.bonus]
    total = math.fsum(checkpoint.weight for checkpoint in counted)
    for checkpoint in counted:
        share = whole * checkpoint.weight / total
        if checkpoint.kind is Kind.LEAF:
            yield checkpoint, share
        yield from _shares(checkpoint.children, share)
