"""Checks of the calls in the audit of services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify import contracts
from agentgym.verify.calls import call_like, step_succeeded
from agentgym.verify.rows import check_actor
from agentgym.verify.service_calls import calls_as_steps, reading, unread_before_acting
from agentgym.verify.values import result


def called(
    evidence: Evidence,
    tool: str | Sequence[str],
    arguments: Mapping[str, Any] | None = None,
    at_least: int = 1,
    at_most: int | None = None,
    refused_too: bool = False,
    by: str = "agent",
) -> CheckResult:
    """The number of calls of a tool is within these limits.

    Channel: audit.

    Example:
        use = "services.called"
        with = { tool = "tickets_get", arguments = { ticket = 17 } }

    Args:
        evidence: Evidence of the episode.
        tool: Name of the tool, a glob, or a list of either.
        arguments: Values by argument; a call without the argument does not match.
        at_least: Minimum number of calls.
        at_most: Maximum number of calls; absent: no limit.
        refused_too: Also count calls that were answered with an error.
        by: Actor whose calls are counted.
    """
    contract = contracts.calls(tool, None, at_least, at_most, not refused_too, arguments)
    check_actor(by)
    found = contract(calls_as_steps(evidence.calls, by))
    return result(found.holds, found.message)


def never_called(
    evidence: Evidence,
    tool: str | Sequence[str],
    arguments: Mapping[str, Any] | None = None,
    refused_too: bool = True,
    by: str = "agent",
) -> CheckResult:
    """A tool was never called in this way; the message names the first such call.

    Channel: audit. A forbidden call that was refused counts as an attempt. Set `refused_too` to
    false if only successful calls should count.

    Example:
        use = "services.never_called"
        with = { tool = ["contacts_delete", "contacts_merge"] }

    Args:
        evidence: Evidence of the episode.
        tool: Name of the tool, a glob, or a list of either.
        arguments: Values by argument; absent: any call.
        refused_too: Also count calls that were answered with an error.
        by: Actor whose calls are counted.
    """
    contract = contracts.never_calls(tool, None, not refused_too, arguments)
    check_actor(by)
    found = contract(calls_as_steps(evidence.calls, by))
    return result(found.holds, found.message)


def order(evidence: Evidence, calls: Sequence[Mapping[str, Any]], by: str = "agent") -> CheckResult:
    """These calls succeeded in this order; other calls may come between them.

    Channel: audit. An event of the world is a call, too, of the tool "event ID", so a rubric can
    demand that the agent looked again after the world had changed.

    Example:
        use = "services.order"
        with = { calls = [
            { tool = "event moved" },
            { tool = "calendar_get", arguments = { event = 12 } },
            { tool = "mail_send" },
        ] }

    Args:
        evidence: Evidence of the episode.
        calls: Tables of `tool` and optionally `arguments`.
        by: Actor whose calls are compared, besides those of the world.
    """
    contract = contracts.order(calls)
    check_actor(by)
    steps = calls_as_steps(evidence.calls, by, "world")
    found = contract([step for step in steps if step_succeeded(step)])
    return result(found.holds, found.message)


def read_before_write(
    evidence: Evidence,
    reads: Sequence[Mapping[str, Any]],
    writes: Sequence[Mapping[str, Any]] = (),
) -> CheckResult:
    """Everything was read before the agent's first such write, or at all if it wrote nothing.

    Channel: audit. A read is a call that succeeded and changed nothing. With `shows`, a text has to
    occur in the result that the call itself did not contain, so any tool may be used to look.

    Example:
        use = "services.read_before_write"
        with = { reads = [
            { tool = "tickets_get", arguments = { ticket = 17 } },
            { shows = "Refunds over 500 EUR" },
        ], writes = [{ tool = "tickets_close" }] }

    Args:
        evidence: Evidence of the episode.
        reads: Tables of `tool` (default: any), `arguments` and `shows`.
        writes: Tables of `tool` and `arguments`, refused calls too; absent: any call that changed a
            row.
    """
    for name, tables in (("reads", reads), ("writes", writes)):
        if isinstance(tables, (str, Mapping)) or (name == "reads" and not tables):
            raise VerifierError(f"{name}: expected a list of tables, got {tables!r}")
    wanted, acts = [reading(table) for table in reads], [call_like(table) for table in writes]
    missing, acted = unread_before_acting(evidence.calls, wanted, acts)
    when = "the end" if acted is None else f"call {acted.sequence}, {acted.tool}"
    if not missing:
        return result(True, f"everything was read before {when}")
    return result(False, f"not read before {when}: {'; '.join(map(str, missing[:3]))}")
