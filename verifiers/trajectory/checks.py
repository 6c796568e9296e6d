"""Check pack `trajectory`: contracts over the tool calls of an episode.

Channel: trace (`steps`). A call is described by `tool`, a name or a glob, and `where`, regular
expressions by argument name, each of which is found in the argument's text (its JSON where it is no
text), or `arguments`, values as pack `services` describes them. The trace shows what was called and
not what it did: a command can be spelled in endless ways, so forbid what a state check cannot see,
and let state checks prove the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentgym import CheckResult, Evidence
from agentgym.verify import contracts
from agentgym.verify.values import result


def calls(
    evidence: Evidence,
    tool: str,
    where: Mapping[str, str] | None = None,
    at_least: int = 1,
    at_most: int | None = None,
    succeeded: bool = False,
    arguments: Mapping[str, Any] | None = None,
) -> CheckResult:
    r"""A tool was called so many times.

    Channel: trace. An argument of more than 64 KiB matches nothing.

    Example:
        use = "trajectory.calls"
        with = { tool = "bash", where = { command = '\bgit\s+fsck\b' }, succeeded = true }

    Args:
        evidence: Of the episode.
        tool: Name of the tool, or a glob.
        where: Regular expressions by argument name; absent: any call of the tool.
        at_least: How often at least.
        at_most: How often at most; absent: no bound.
        succeeded: Count only calls that were neither an error nor ended by a timeout.
        arguments: Values by argument name, as in pack `services`.
    """
    contract = contracts.calls(tool, where, at_least, at_most, succeeded, arguments)
    found = contract(evidence.steps)
    return result(found.holds, found.message)


def never_calls(
    evidence: Evidence,
    tool: str,
    where: Mapping[str, str] | None = None,
    arguments: Mapping[str, Any] | None = None,
) -> CheckResult:
    r"""A tool was never called so; the message names the first step that did.

    Channel: trace. A call with an argument of more than 64 KiB is not searched and counts as one.

    Example:
        use = "trajectory.never_calls"
        with = { tool = "bash", where = { command = '\bgit\s+push\b.*--force' } }

    Args:
        evidence: Of the episode.
        tool: Name of the tool, or a glob.
        where: Regular expressions by argument name; absent: any call of the tool.
        arguments: Values by argument name, as in pack `services`.
    """
    found = contracts.never_calls(tool, where, arguments=arguments)(evidence.steps)
    return result(found.holds, found.message)


def order(evidence: Evidence, calls: Sequence[Mapping[str, object]]) -> CheckResult:
    """These calls were made in this order, whatever was done between them.

    Channel: trace. One step stands for one call.

    Example:
        use = "trajectory.order"
        with = { calls = [
            { tool = "bash", where = { command = 'pg_dump' } },
            { tool = "bash", where = { command = 'migrate' } },
        ] }

    Args:
        evidence: Of the episode.
        calls: Tables of `tool` and, where wanted, `where` and `arguments`.
    """
    found = contracts.order(calls)(evidence.steps)
    return result(found.holds, found.message)


def looked_first(
    evidence: Evidence,
    looks: Sequence[Mapping[str, object]],
    acts: Sequence[Mapping[str, object]],
) -> CheckResult:
    r"""Everything was looked at before the first call that acts; where none acts, before the end.

    Channel: trace. A look is `named`, found in the text of a call, or `shown`, found in what a
    call gave to see: whoever reads a whole folder has not named its files. Within the call that
    acts, what stands before the act counts: one script may look and then act. `shown` is the
    stronger evidence: a match that the agent itself had written, in this call or before, does not
    count. A file can be named without being read; with `both = true` one call must name and show,
    which an agent that looks in a way you did not think of fails, so let `shown` know all ways.

    Example:
        use = "trajectory.looked_first"
        with = { looks = [{ named = 'sent\.log', shown = '250 queued as' }], acts = [
            { tool = "bash", where = { command = '\bsendnote\b' } },
        ] }

    Args:
        evidence: Of the episode.
        looks: Tables of `named` and `shown`, regular expressions, one of them or both, of which
            one is enough unless `both = true`.
        acts: Tables of `tool` and, where wanted, `where` and `arguments`.
    """
    found = contracts.looked_first(looks, acts)(evidence.steps)
    return result(found.holds, found.message)


def mentions(
    evidence: Evidence,
    tool: str,
    argument: str,
    facts: Sequence[Any] = (),
    forbids: Sequence[Any] = (),
    may: Sequence[Any] = (),
    only: Sequence[str] = (),
    most_chars: int = 4000,
) -> CheckResult:
    """What the agent said through a tool, all calls together, says these facts.

    Channel: trace. Calls that failed said nothing. Facts are those of `answers.mentions`.

    Example:
        use = "trajectory.mentions"
        with = { tool = "message_user", argument = "text", facts = [{ date = "2026-03-04" }] }

    Args:
        evidence: Of the episode.
        tool: Name of the tool.
        argument: The argument in which it speaks.
        facts: What it says.
        forbids: Facts that it does not say.
        may: Facts that it may say, for `only`.
        only: "dates", "times", "numbers": of these it says none but `facts` and `may`.
        most_chars: How long it may be, all calls together.
    """
    contract = contracts.mentions(tool, argument, facts, forbids, may, only, most_chars)
    found = contract(evidence.steps)
    return result(found.holds, found.message)


def budget(evidence: Evidence, steps: int | None = None, tokens: int | None = None) -> CheckResult:
    """The episode took no more than so many steps and tokens.

    Channel: trace. Tokens are prompt and completion of all decisions, as the policy reported them;
    one that reports none spends none.

    Example:
        use = "trajectory.budget"
        with = { steps = 20, tokens = 60000 }

    Args:
        evidence: Of the episode.
        steps: Most steps; absent: no bound.
        tokens: Most tokens; absent: no bound.
    """
    found = contracts.budget(steps, tokens)(evidence.steps)
    return result(found.holds, found.message)


def no_repeats(evidence: Evidence, times: int = 3) -> CheckResult:
    """No action was taken so many times in a row without changing anything.

    Channel: trace. Actions are the same when tool and arguments are. A step that changed something,
    as far as its surface can tell, begins a new count.

    Example:
        use = "trajectory.no_repeats"
        with = { times = 3 }

    Args:
        evidence: Of the episode.
        times: From how many on it counts as repetition; at least 2.
    """
    found = contracts.no_repeats(times)(evidence.steps)
    return result(found.holds, found.message)
