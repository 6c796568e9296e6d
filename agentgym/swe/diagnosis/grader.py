"""The step grader `diagnosis`: how an agent found its way to the fault in a repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from agentgym.errors import VerifierError
from agentgym.plugins import no_argument
from agentgym.records import CheckStatus, StepGrade, Trajectory
from agentgym.swe.diagnosis.contacts import Contact, find_contacts
from agentgym.swe.diagnosis.measures import GoldPlaces, edited_places, gold_places, measures
from agentgym.swe.diagnosis.working_files import WorkingFiles
from agentgym.verify.steps.registry import GROUP

_NAMED = 4


class DiagnosisGrader:
    """Grades the steps that search, read, edit or test; the last one states the measures.

    A step passes if it reads or edits a place that the gold patch changes. `value` is the share of
    these places that it is the first to read or edit; the values of an episode add up to 1 at most.
    """

    name = "diagnosis"
    version = "1"

    def __init__(self, argument: str = "") -> None:
        no_argument(GROUP, self.name, argument)

    async def grade(self, trajectory: Trajectory) -> Sequence[StepGrade]:
        """Grade the steps; no grades if the task is about no repository.

        Raises:
            VerifierError: The task's gold patch cannot be read.
        """
        if trajectory.repair_problem:
            raise VerifierError(f"the gold patch is not known: {trajectory.repair_problem}")
        if trajectory.repair is None or not trajectory.steps:
            return []
        gold = gold_places(trajectory.repair)
        contacts = list(find_contacts(trajectory.steps, WorkingFiles(trajectory.repair)))
        grades, found = list[StepGrade](), set[str]()
        last = len(contacts) - 1
        for step, contact in enumerate(contacts):
            seen = contact.read | edited_places(contact)
            new = (seen & gold.targets) - found
            found |= new
            label = _label(contact)
            if step == last:
                grades.append(_summary(step, new, contacts, gold))
            elif label:
                status = _status(bool(seen & (gold.files | gold.targets | gold.added)))
                value = len(new) / len(gold.targets) if gold.targets else None
                grades.append(StepGrade(step, status, label, _places(contact), value))
        return grades


def _status(good: bool) -> CheckStatus:
    return CheckStatus.PASS if good else CheckStatus.NOT_APPLICABLE


def _label(contact: Contact) -> str:
    if contact.edits:
        return "revert" if all(edit.reverted for edit in contact.edits) else "edit"
    if contact.tests:
        return "test"
    return "read" if contact.read else "search" if contact.searched else ""


def _places(contact: Contact) -> str:
    places = edited_places(contact) or contact.read or contact.searched
    # A file is named by its functions, if some are known.
    owners = {place.partition("::")[0] for place in places if "::" in place}
    named = sorted(place for place in places if place not in owners)
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return ", ".join(named[:_NAMED]) + more


def _summary(step: int, new: Set[str], contacts: Sequence[Contact], gold: GoldPlaces) -> StepGrade:
    found = measures(contacts, gold)
    value = len(new) / len(gold.targets) if gold.targets else None
    reached = found["localised_function"] if gold.functions else found["localised_file"]
    return StepGrade(step, _status(reached == 1.0), "summary", _told(found), value, None, found)


def _told(found: Mapping[str, float | None]) -> str:
    """Return the measures in one line."""
    localised = [
        f"{noun}s {'found' if found[f'localised_{noun}'] else 'not all found'}"
        for noun in ("file", "function")
        if found[f"localised_{noun}"] is not None
    ]
    kinds = [
        f"{kind} {_share(found[f'{kind}_file_{rate}'])}/{_share(found[f'{kind}_function_{rate}'])}"
        f" {rate}"
        for kind in ("search", "read", "edit")
        for rate in ("precision", "recall")
    ]
    steps = found["steps_to_file"]
    way = "no right file" if steps is None else f"first right file at step {steps:.0f}"
    habits = (
        f"{found['edits']:.0f} edits, {found['edits_reverted']:.0f} reverted, "
        f"{found['test_runs']:.0f} test runs"
    )
    return "; ".join([", ".join(localised) or "nothing to find", way, habits, ", ".join(kinds)])


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
