"""Check pack `page`: values that the environment reads from the page in the browser.

Channel: state (`page_state`). `[surface.browser] state` of an environment or a task names the
values and the expressions that give them (docs/browser.md). The agent does not see them. A page
that the agent can make lie needs other checks.
"""

from __future__ import annotations

from agentgym import CheckResult, CheckStatus, Evidence, VerifierError
from agentgym.records import Json
from agentgym.verify.values import brief, is_number, result


def state(evidence: Evidence, name: str, equals: Json) -> CheckResult:
    """A value of the page is this one.

    Channel: state.

    Example:
        use = "page.state"
        with = { name = "orders", equals = 1 }

    Args:
        evidence: Evidence of the episode.
        name: Name of the value in `[surface.browser] state`.
        equals: The expected value. A number equals a number of any type, but never a truth value.
    """
    seen = evidence.page_state.get(name)
    same = seen == equals and isinstance(seen, bool) == isinstance(equals, bool)
    return result(same, f"{name} is {brief(seen)}, expected {brief(equals)}")


def reward(evidence: Evidence, name: str = "reward", full: float = 1.0) -> CheckResult:
    """The page gives a reward above 0; the credit is its part of the full reward.

    Channel: state. A value that is absent or no number is no reward.

    Example:
        use = "page.reward"
        with = { name = "reward" }

    Args:
        evidence: Evidence of the episode.
        name: Name of the value in `[surface.browser] state`.
        full: The full reward, above 0.
    """
    if not is_number(full) or not 0 < full < float("inf"):
        raise VerifierError(f"page.reward: full: expected a number above 0, got {full!r}")
    seen = evidence.page_state.get(name)
    value = float(seen) if is_number(seen) else 0.0
    # NaN compares false with everything, so it is no reward.
    credit = min(value / full, 1.0) if value > 0 else 0.0
    status = CheckStatus.PASS if credit > 0 else CheckStatus.FAIL
    return CheckResult(status, f"{name} is {brief(seen)}, {full:g} is the full one", credit)
