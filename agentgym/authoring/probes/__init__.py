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
        "It loads, its rubric binds for every seed, its setup runs, its solution calls are legal.",
        solving.binds,
    ),
    Probe("oracle", "The solution scores 1, twice, and its script ends well.", solving.solves),
    Probe(
        "repeat",
        "The setup leaves the same bytes whatever it runs in; two runs of the solution see, leave "
        "and score the same.",
        solving.repeats,
    ),
    Probe("noop", "Doing nothing scores 0.", failing.nothing),
    Probe("refusal", "Giving up scores 0 unless it can be right.", failing.refusal),
    Probe("random", "Random calls score below one half and do not pass.", failing.chance),
    Probe("mutants", "No mutant passes.", failing.mutants),
    Probe(
        "messages",
        "Its message checks accept good texts and refuse bad ones.",
        messages.calibrated,
    ),
    Probe("reads", "Reading before and after costs the solution nothing.", solving.reads),
    Probe("partial", "The further the solution gets, the more it scores.", solving.partial),
    Probe("template", "Every seed has a world of its own that can be solved.", solving.template),
    Probe("forged", "No check breaks on what an agent could leave.", forging.withstands),
    Probe("offline", "Grading reaches no other machine.", secrecy.offline, afterwards=True),
    Probe("gold", "Nothing of the gold can be read in the sandbox.", secrecy.gold),
    Probe("redteam", "Cheats score 0.", cheating.cheats),
    Probe("excess", "One write more than was asked for costs.", cheating.excess),
)
