"""Trajectory purification: failed attempts give way to the later calls that corrected them.

The trajectory then reads as if the call had been right at once. Source: Xu, Chen and Li 2026,
"CLEANER: Self-Purified Trajectories Boost Agentic Reinforcement Learning" (arXiv 2601.15141),
which replaces failures by the model's own corrections: where both are similar, the first thought
stays and only the call is replaced; otherwise the correction's thought comes with it.

The states after an attempt that is dropped must be those that the later steps saw. So an attempt is
dropped only if the record shows that it changed nothing, and the episode is refused otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentgym.comparison import Budget, are_alike
from agentgym.errors import ActionError
from agentgym.records import Action, Effect, Observation, Step
from agentgym.surfaces.calls import check_call
from agentgym.train.datasets.dialogues import Interface
from agentgym.train.datasets.episodes import LeftOut, RecordedEpisode
from agentgym.train.datasets.faults import injected, replies
from agentgym.train.datasets.supervised import Rewritten

_PROGRAMS: Final = ("bash", "run_python")
"""Tools whose calls are programs: only a similar program corrects one."""
_LOOKING: Final = frozenset(
    [
        *("[", "basename", "cat", "cd", "cmp", "cut", "df", "diff", "dirname", "du", "egrep"),
        *("fgrep", "grep", "head", "id", "ls", "md5sum", "nl", "printenv", "ps", "pwd"),
        *("readlink", "realpath", "sha256sum", "stat", "tail", "test", "tr", "type", "uname"),
        *("wc", "which", "whoami", "zcat", "zgrep"),
    ]
)
"""Programs that change no file, whatever their arguments are."""
_SIMPLE: Final = re.compile(r"[^;&|<>$`\n\\(){}!]+")
"""A command without redirections, substitutions and further commands."""
_OTHER_PROGRAMS: Final = re.compile(r"\balias\b|\(\s*\)|\bfunction\b|PATH\b|\bsource\b|(^|\s)\.\s")
"""Parts of an earlier command after which a name may stand for another program."""
_NOT_FOUND: Final = 127
_COMPARED_CHARS: Final = 8_000
_COMPARISONS: Final = 300_000_000
"""Pairs of characters that are compared in an episode; programs after that are not similar."""


@dataclass(frozen=True, slots=True)
class Drop:
    """A failed attempt that is dropped.

    Attributes:
        step: Its index in the record.
        corrected_by: Index of the call that corrected it.
        evidence: Why it changed nothing.
        repair: ``"shallow"``: the correction directly follows and takes over its thought.
            ``"deep"``: the correction keeps its own.
    """

    step: int
    corrected_by: int
    evidence: str
    repair: str


@dataclass(frozen=True, slots=True)
class Purified:
    """A purified trajectory.

    Attributes:
        steps: The steps that are left, numbered anew.
        kept: For each of them its index in the record.
        drops: The attempts that were dropped.
        rejected: Number of replies without a usable call that were dropped.
        uncorrected: Indices of failed attempts that were never corrected; they stay.
    """

    steps: tuple[Step, ...]
    kept: tuple[int, ...]
    drops: tuple[Drop, ...]
    rejected: int
    uncorrected: tuple[int, ...]


class ImpureError(ValueError):
    """A failed attempt cannot be dropped; the message says which and why."""


def purify(steps: Sequence[Step], interface: Interface, *, similarity: float = 0.5) -> Purified:
    """Replace failed attempts by their corrections.

    A call corrects an attempt if it is the first later one of the same tool that succeeds; a
    program must also be similar to the failed one, and after a call that was refused the tool may
    differ. An attempt that an injected fault struck is not a mistake and stays.

    Args:
        steps: All steps of an episode.
        interface: The tools of its task.
        similarity: Smallest ratio of equal characters (`difflib.SequenceMatcher`) of a program and
            its correction, 0..1.

    Raises:
        ImpureError: A corrected attempt may have changed the state.
    """
    drops, uncorrected, budget = list[Drop](), list[int](), Budget(_COMPARISONS)
    several = {n for first, end in replies(steps) if end - first > 1 for n in range(first, end)}
    for number, step in enumerate(steps):
        if step.observation.effect not in (Effect.ERROR, Effect.TIMEOUT) or injected(step):
            continue
        refusal = _refusal(step.action, interface)
        later = _correction(steps, number, similarity, budget, refused=bool(refusal))
        if later is None:
            uncorrected.append(number)
            continue
        if several & {number, later}:
            raise ImpureError(f"step {number} is one of several calls of a reply")
        if step.events:
            raise ImpureError(f"the world or the user acted in the failed step {number}")
        evidence = refusal or _evidence(step, steps[:number], interface)
        if not evidence:
            raise ImpureError(
                f"the failed {step.action.tool} of step {number} may have changed the state"
            )
        direct = later == number + 1
        repair = (
            "shallow" if direct and _are_alike(step, steps[later], similarity, budget) else "deep"
        )
        drops.append(Drop(number, later, evidence, repair))
    return _rewritten(steps, drops, uncorrected)


def purification(
    left_out: LeftOut, *, similarity: float, of_tokens: bool
) -> Callable[[RecordedEpisode, Interface, list[bool]], Rewritten | None]:
    """Return the rewriting of episodes for a supervised data set.

    Args:
        left_out: Takes the reasons of refused episodes.
        similarity: Of a program and its correction.
        of_tokens: Whether the data set holds the recorded token ids, which hold the attempts.
    """

    def rewrite(
        episode: RecordedEpisode, interface: Interface, trained: list[bool]
    ) -> Rewritten | None:
        try:
            found = purify(episode.steps, interface, similarity=similarity)
        except ImpureError as error:
            left_out.note(f"refused: {_general(error)}", f"{episode.name}: {error}")
            return None
        if of_tokens and (found.drops or found.rejected):
            reason = "whose token ids hold the dropped attempts; add --template CONFIG"
            left_out.note(reason, episode.name)
            return None
        told: dict[str, object] = {
            "dropped": [
                {
                    "step": drop.step,
                    "call": episode.steps[drop.step].action.to_json(),
                    "corrected_by": drop.corrected_by,
                    "evidence": drop.evidence,
                    "repair": drop.repair,
                }
                for drop in found.drops
            ],
            "dropped_replies": found.rejected,
            "uncorrected": list(found.uncorrected),
        }
        return Rewritten(found.steps, [trained[n] for n in found.kept], told)

    return rewrite


def _general(error: ImpureError) -> str:
    """Return the reason of a refusal without the number of its step."""
    return re.sub(r" of step \d+| ?step \d+", "", str(error)).strip()


def _correction(
    steps: Sequence[Step], number: int, similarity: float, budget: Budget, *, refused: bool
) -> int | None:
    """Return the index of the first later call that does what an attempt failed to do."""
    failed = steps[number].action
    for later in range(number + 1, len(steps)):
        step = steps[later]
        if step.observation.effect in (Effect.ERROR, Effect.TIMEOUT):
            continue
        same = step.action.tool == failed.tool
        if same and failed.tool not in _PROGRAMS:
            return later
        if (same or refused) and _are_alike(steps[number], step, similarity, budget):
            return later
    return None


def _refusal(action: Action, interface: Interface) -> str:
    """Return that a call was refused before it was executed; empty if it was legal."""
    if action.tool == "":
        return "it was no call"
    try:
        check_call(action, interface.tools)
    except ActionError:
        return "it was refused before it was executed"
    return ""


def _evidence(step: Step, before: Sequence[Step], interface: Interface) -> str:
    """Return why a failed call changed nothing; empty if the record does not show it."""
    seen, tool = step.observation, step.action.tool
    if seen.effect is Effect.TIMEOUT:
        return ""
    if tool in interface.service_tools:
        # A service takes back all that a failing call has written.
        return "the service answered with an error" if set(seen.data) == {"error"} else ""
    if tool == "read_file":
        return "it only reads"
    if tool == "edit_file":
        return "it says that nothing was changed" if "othing was changed" in seen.text else ""
    if tool != "bash" or any(_OTHER_PROGRAMS.search(_text(one.action)) for one in before):
        return ""
    return _evidence_of_command(step.action.arguments.get("command"), seen)


def _evidence_of_command(command: object, seen: Observation) -> str:
    if not isinstance(command, str) or not _SIMPLE.fullmatch(command.strip()):
        return ""
    program = command.split()[0]
    if program in _LOOKING:
        return "its command only looks"
    missing = f"{program}: command not found" in seen.text and "/" not in program
    if missing and seen.data.get("exit_code") == _NOT_FOUND:
        return "its command was not found"
    return ""


def _are_alike(failed: Step, later: Step, similarity: float, budget: Budget) -> bool:
    """Return whether the texts of two calls are similar."""
    one, other = (_text(step.action)[:_COMPARED_CHARS] for step in (failed, later))
    return are_alike(one, other, similarity, budget)


def _text(action: Action) -> str:
    values = [action.arguments[name] for name in sorted(action.arguments)]
    return "\n".join(value if isinstance(value, str) else repr(value) for value in values)


def _rewritten(
    steps: Sequence[Step], drops: Sequence[Drop], uncorrected: Sequence[int]
) -> Purified:
    gone = {drop.step for drop in drops}
    thoughts = {
        drop.corrected_by: steps[drop.step].decision
        for drop in reversed(drops)
        if drop.repair == "shallow"
    }
    kept, found, rejected = list[int](), list[Step](), 0
    for number, step in enumerate(steps):
        decision = step.decision
        rejected += len(decision.nudges)
        if number in gone:
            continue
        if (first := thoughts.get(number)) is not None and first.thought:
            # The raw reply holds the other thought, so the message is made of thought and call.
            decision = replace(decision, thought=first.thought, reply=None)
        kept.append(number)
        decision = replace(decision, nudges=())
        found.append(replace(step, index=len(found), decision=decision))
    return Purified(tuple(found), tuple(kept), tuple(drops), rejected, tuple(uncorrected))
