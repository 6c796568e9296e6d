"""Contracts: the first step that broke each contract of the task's rubric.

The contracts are the rubric's uses of check pack `trajectory`, looked at by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from agentgym.errors import VerifierError
from agentgym.plugins import no_argument
from agentgym.records import CheckStatus, StepGrade, Trajectory
from agentgym.verify import contracts
from agentgym.verify.contracts import Finding, TrajectoryContract
from agentgym.verify.steps.registry import GROUP

KINDS: Final[Mapping[str, Callable[..., TrajectoryContract]]] = {
    "budget": contracts.budget,
    "calls": contracts.calls,
    "looked_first": contracts.looked_first,
    "mentions": contracts.mentions,
    "never_calls": contracts.never_calls,
    "no_repeats": contracts.no_repeats,
    "order": contracts.order,
}


class ContractGrader:
    """Grades each step: ``kept``, ``broken`` if it is the first to break a contract, ``missing``.

    A demanded call that was never made is ``missing`` at the last step. A broken order is
    ``missing`` at the step that came too early. In an unfinished episode nothing is missing yet. A
    contract that did not apply is left out; a rubric without contracts gives no grades.
    """

    name = "contracts"
    version = "1"

    def __init__(self, argument: str = "") -> None:
        no_argument(GROUP, self.name, argument)

    async def grade(self, trajectory: Trajectory) -> Sequence[StepGrade]:
        """Grade every step.

        Raises:
            VerifierError: The contracts are not known, or a contract is itself in error.
        """
        if trajectory.problem:
            raise VerifierError(f"the contracts are not known: {trajectory.problem}")
        if not trajectory.contracts:
            return []
        broken = _broken_at(trajectory)
        grades = []
        for step in trajectory.steps:
            found = broken.get(step.index, [])
            if not found:
                grades.append(StepGrade(step.index, CheckStatus.PASS, "kept"))
                continue
            breaches = [is_breach(kind, finding) for _, kind, finding in found]
            label = "broken" if any(breaches) else "missing"
            told = "; ".join(f"{id}: {finding.message}" for id, _, finding in found)
            grades.append(StepGrade(step.index, CheckStatus.FAIL, label, told))
        return grades


def violations(trajectory: Trajectory) -> Iterator[tuple[str, str, Finding]]:
    """Yield id, kind and finding of every contract that applied and did not hold.

    Raises:
        VerifierError: A contract is itself in error.
    """
    verdict = trajectory.verdict
    idle = {
        result.id
        for result in (verdict.checkpoints if verdict else ())
        if result.status is CheckStatus.NOT_APPLICABLE
    }
    for contract in trajectory.contracts:
        if contract.id in idle:
            continue
        make = KINDS.get(contract.kind)
        if make is None:
            known = ", ".join(KINDS)
            raise VerifierError(f"{contract.id}: no contract {contract.kind!r}; known: {known}")
        try:
            look = make(**contract.arguments)
        except TypeError as error:
            raise VerifierError(f"{contract.id}: {error}") from None
        finding = look(trajectory.steps)
        if not finding.holds:
            yield contract.id, contract.kind, finding


def is_breach(kind: str, finding: Finding) -> bool:
    """Return whether a step broke the contract for good; a missing call could still follow."""
    return finding.step is not None and kind != "order"


def _broken_at(trajectory: Trajectory) -> dict[int, list[tuple[str, str, Finding]]]:
    found: dict[int, list[tuple[str, str, Finding]]] = {}
    for id, kind, finding in violations(trajectory):
        if trajectory.verdict is None and not is_breach(kind, finding):
            continue
        step = len(trajectory.steps) - 1 if finding.step is None else finding.step
        found.setdefault(step, []).append((id, kind, finding))
    return found
