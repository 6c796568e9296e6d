"""Probes of the properties of a sound task: functions that return what is wrong.

A new property is a new function and a line in `PROBES`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from agentgym.authoring.probes import cheating, failing, forging, messages, secrecy, solving
from agentgym.authoring.subject import Subject


@dataclass(frozen=True, slots=True)
class Probe:
    """A property and how it is examined.

    Attributes:
        name: One word, the heading of its column.
        claim: Statement that holds for a sound task.
        examine: Returns what is wrong, nothing if the claim holds; raises DoesNotApplyError if
            the task cannot have the property.
        afterwards: Whether it examines what the other probes have played.
    """

    name: str
    claim: str
    examine: Callable[[Subject], Awaitable[Sequence[str]]]
    afterwards: bool = False


PROBES = (
    Probe(
        "schema",
        "The task loads, its rubric is valid for every seed, its setup runs, and the calls of its "
        "solution are legal.",
        solving.binds,
    ),
    Probe(
        "oracle", "The solution scores 1 in two runs, and its script exits with 0.", solving.solves
    ),
    Probe(
        "repeat",
        "Runs of the setup leave the same bytes; runs of the solution have equal observations, "
        "final states and scores.",
        solving.repeats,
    ),
    Probe("noop", "Doing nothing scores 0.", failing.nothing),
    Probe("refusal", "Giving up scores 0 unless it can be right.", failing.refusal),
    Probe("random", "Random calls score below one half and do not pass.", failing.chance),
    Probe("mutants", "No mutant passes.", failing.mutants),
    Probe(
        "messages",
        "Its message checks, and those of giving up, accept good texts and refuse bad ones.",
        messages.calibrated,
    ),
    Probe(
        "reads", "Harmless reads before and after do not lower the solution's score.", solving.reads
    ),
    Probe(
        "partial",
        "A longer part of the solution never scores less, and no part passes while work is left.",
        solving.partial,
    ),
    Probe(
        "template",
        "The seeds give different instances, and the solution scores 1 in each.",
        solving.template,
    ),
    Probe(
        "forged", "No check raises or hangs on files that an agent could leave.", forging.withstands
    ),
    Probe("offline", "Grading connects to no other machine.", secrecy.offline, afterwards=True),
    Probe("gold", "No gold file can be read in the sandbox.", secrecy.gold),
    Probe("redteam", "Cheats score 0.", cheating.cheats),
    Probe("excess", "An unrequested write lowers the score.", cheating.excess),
)
