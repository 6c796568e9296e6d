"""Tests whether the message checks of a task tell good texts from bad ones."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.authoring.finding import DoesNotApplyError
from agentgym.authoring.subject import Subject
from agentgym.verify.calibration.messages import complaints, message_checks


async def calibrated(subject: Subject) -> Sequence[str]:
    """Judge the texts of ``checks/calibration.toml`` for every examined seed.

    Raises:
        DoesNotApplyError: No check of the task is about a message.
    """
    if subject.task.foreign is not None or not message_checks(subject.instance(subject.seeds[0])):
        raise DoesNotApplyError("no check of pack messages")
    found = (one for seed in subject.seeds for one in complaints(subject.instance(seed)))
    return list(dict.fromkeys(found))
