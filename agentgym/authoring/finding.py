"""Results of checking a task: one finding for each property, one report for each task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from agentgym.records import Json


class Soundness(StrEnum):
    """Whether a task has a property."""

    SOUND = "sound"
    UNSOUND = "unsound"
    NOT_APPLICABLE = "n/a"


class DoesNotApplyError(Exception):
    """Raised by a probe whose property this task cannot have; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Whether a task has one property.

    Attributes:
        property: Name of the probe.
        soundness: Sound, unsound or not applicable.
        details: Complaints, a line each; the reason if the property does not apply.
        duration_s: Wall time of the probe in seconds, including waits for other probes.
    """

    property: str
    soundness: Soundness
    details: tuple[str, ...] = ()
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Report:
    """All findings about one task.

    Attributes:
        task: Id of the task, or its folder if the id cannot be read.
        findings: In the order of the probes.
        episodes: Number of episodes played.
        duration_s: Wall time in seconds.
    """

    task: str
    findings: tuple[Finding, ...]
    episodes: int = 0
    duration_s: float = 0.0

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.unsound

    @property
    def unsound(self) -> tuple[Finding, ...]:
        """Findings of the properties that the task should have and lacks."""
        return tuple(f for f in self.findings if f.soundness is Soundness.UNSOUND)

    def to_json(self) -> Mapping[str, Json]:
        """Return the report as one object of the JSON report."""
        return {
            "task": self.task,
            "sound": self.sound,
            "episodes": self.episodes,
            "duration_s": round(self.duration_s, 3),
            "findings": [
                {
                    "property": finding.property,
                    "soundness": finding.soundness.value,
                    "details": list(finding.details),
                    "duration_s": round(finding.duration_s, 3),
                }
                for finding in self.findings
            ],
        }
