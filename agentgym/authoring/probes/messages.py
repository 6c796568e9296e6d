"""Tests whether a task tells good texts from bad ones: in messages, and when an agent gives up."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from agentgym.authoring.finding import DoesNotApplyError
from agentgym.authoring.subject import Subject
from agentgym.verify.calibration.give_ups import field_checks, give_up_complaints
from agentgym.verify.calibration.messages import complaints, message_checks
from agentgym.verify.thread import in_thread


async def calibrated(subject: Subject) -> Sequence[str]:
    """Judge the texts of ``checks/calibration.toml`` for every examined seed.

    Raises:
        DoesNotApplyError: No check of the task is about a message, or about the fields of giving
            up.
    """
    if subject.task.foreign is not None:
        raise DoesNotApplyError("no check of pack messages")
    first = subject.instance(subject.seeds[0])
    if not message_checks(first) and not field_checks(first):
        raise DoesNotApplyError("no check of pack messages, and none of the fields of giving up")
    found: list[str] = []
    for seed in subject.seeds:
        instance = subject.instance(seed)
        found += complaints(instance)
        found += await in_thread(functools.partial(give_up_complaints, instance))
    return list(dict.fromkeys(found))
