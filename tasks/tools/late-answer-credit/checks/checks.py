"""What the customer was told, whichever way the amount is written."""

from agentgym import Evidence
from agentgym.verify.contracts import step_succeeded
from agentgym.verify.facts import mentions


def told(evidence: Evidence, eur: float) -> bool:
    """One message to the customer says the amount.

    Channel: trace.
    """
    amount = mentions([eur], (), (), (), 4000)
    said = [
        str(step.action.arguments.get("text", ""))
        for step in evidence.steps
        if step.action.tool == "message_user" and step_succeeded(step)
    ]
    return any(not amount.fault(text) for text in said)
