"""Runs each check over forged evidence: the files that an agent leaves must not break a check."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.authoring.finding import DoesNotApplyError
from agentgym.authoring.subject import Subject
from agentgym.env.environment import Environment
from agentgym.env.episode import Episode
from agentgym.errors import AgentGymError
from agentgym.protocols import Room
from agentgym.sandbox.absent import NoSandbox
from agentgym.user.registry import SCRIPTED
from agentgym.verify.checking import asked_of
from agentgym.verify.evidence import EpisodeEvidence
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.thread import in_thread
from agentgym.verify.worker.host import Answers
from agentgym.verify.worker.runner import CheckRunner

_SHOWN = 3


async def withstands(subject: Subject) -> Sequence[str]:
    """Run every check of the rubric over the solution's end, forged in many ways.

    Clean rooms and the judge are not asked; a check stops where it would ask one.
    """
    if subject.task.foreign is not None:
        raise DoesNotApplyError("its own tests judge it")
    provider = subject.stage.provider
    async with Environment(subject.task, provider, user=SCRIPTED) as environment:
        episode = await environment.start(subject.first_seed)
        for action in (await subject.solution())[:-1]:
            if (await episode.step(action)).verdict is not None:
                break
        seen = await _evidence(subject, episode)
        return await in_thread(lambda: _broken(subject, seen))


async def _evidence(subject: Subject, episode: Episode) -> EpisodeEvidence:
    """Return the evidence right before the solution's last action."""
    initial, sandbox = await subject.initial_state(), episode.sandbox
    after = await sandbox.snapshot()
    audit = await sandbox.audit()
    changes = () if isinstance(sandbox, NoSandbox) else await sandbox.changes()
    last = (await subject.solution())[-1]
    return EpisodeEvidence(
        task=subject.task.id,
        seed=subject.first_seed,
        params=initial.instance.params,
        steps=tuple(episode.steps),
        answer=str(last.arguments.get("answer", "")),
        gave_up=None,
        before=initial.tree,
        after=await initial.provider.open_tree(after),
        changes=changes,
        processes=audit.processes,
        connections=audit.connections,
        requests=audit.requests,
        page_state=audit.page_state,
        gold_files=initial.gold,
        open_room=_no_room,
        services=episode.dynamics.services_seen(),
    )


def _no_room(artifacts: tuple[str, ...], shared: bool) -> Room:
    raise AssertionError("forged evidence has rooms of its own")


def _broken(subject: Subject, seen: EpisodeEvidence) -> list[str]:
    """Return a complaint for every check that breaks, with the evidence that broke it."""
    rubric = load_rubric(subject.task.folder / "checks" / "rubric.toml")
    complaints = []
    with CheckRunner(subject.instance()) as runner:
        runner.open()
        runner.see(seen)
        for leaf in asked_of(rubric):
            try:
                found = list(runner.forge(leaf.id, Answers(seen)))
            except AgentGymError as error:
                complaints.append(f"{leaf.id}: {error}")
                continue
            complaints += [f"{leaf.id} breaks on {name}: {what}" for name, what in found[:_SHOWN]]
            if len(found) > _SHOWN:
                complaints.append(f"{leaf.id} breaks on {len(found) - _SHOWN} more")
    return complaints
