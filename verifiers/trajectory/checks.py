"""Check pack `trajectory`: contracts over the tool calls of an episode.

Channel: trace (`steps`). A call is described by `tool`, a name or a glob, and `where`, regular
expressions by argument name, each of which has to match in the argument's text (its JSON if it is
not text), or `arguments`, values as pack `services` describes them. The trace shows the calls and
not their effects: a command can be written in many ways. Forbid here only what a state check cannot
see, and let state checks prove the rest.
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
    r"""The number of calls of a tool is within these limits.

    Channel: trace. An argument of more than 64 KiB matches nothing.

    Example:
        use = "trajectory.calls"
        with = { tool = "bash", where = { command = '\bgit\s+fsck\b' }, succeeded = true }

    Args:
        evidence: Evidence of the episode.
        tool: Name of the tool, or a glob.
        where: Regular expressions by argument name; absent: any call of the tool.
        at_least: Minimum number of calls.
        at_most: Maximum number of calls; absent: no limit.
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
    r"""A tool was never called in this way; the message names the first step that did.

    Channel: trace. An argument of more than 64 KiB is not searched, and the call counts as
    forbidden.

    Example:
        use = "trajectory.never_calls"
        with = { tool = "bash", where = { command = '\bgit\s+push\b.*--force' } }

    Args:
        evidence: Evidence of the episode.
        tool: Name of the tool, or a glob.
        where: Regular expressions by argument name; absent: any call of the tool.
        arguments: Values by argument name, as in pack `services`.
    """
    found = contracts.never_calls(tool, where, arguments=arguments)(evidence.steps)
    return result(found.holds, found.message)


def order(evidence: Evidence, calls: Sequence[Mapping[str, object]]) -> CheckResult:
    """These calls were made in this order; other calls may come between them.

    Channel: trace. One step counts for one call.

    Example:
        use = "trajectory.order"
        with = { calls = [
            { tool = "bash", where = { command = 'pg_dump' } },
            { tool = "bash", where = { command = 'migrate' } },
        ] }

    Args:
        evidence: Evidence of the episode.
        calls: Tables of `tool` and optionally `where` and `arguments`.
    """
    found = contracts.order(calls)(evidence.steps)
    return result(found.holds, found.message)


def looked_first(
    evidence: Evidence,
    looks: Sequence[Mapping[str, object]],
    acts: Sequence[Mapping[str, object]],
) -> CheckResult:
    r"""Everything was looked at before the first acting call, or else before the end.

    Channel: trace. A look is `named`, found in the text of a call, or `shown`, found in the result
    of a call; reading a whole folder does not name its files. Text of the acting call before the
    act counts, since one script may look and then act. `shown` is the stronger evidence: a match
    that the agent itself had written, in this call or before, does not count. A file can be named
    without being read. With `both = true` one call must name and show. This fails an agent that
    looks in an unexpected way, so `shown` should cover all ways.

    Example:
        use = "trajectory.looked_first"
        with = { looks = [{ named = 'sent\.log', shown = '250 queued as' }], acts = [
            { tool = "bash", where = { command = '\bsendnote\b' } },
        ] }

    Args:
        evidence: Evidence of the episode.
        looks: Tables of `named` and `shown`, regular expressions, one or both; one of them has to
            match, or both with `both = true`.
        acts: Tables of `tool` and optionally `where` and `arguments`.
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
    """All calls of a tool together state these facts and no forbidden ones.

    Channel: trace. Failed calls do not count. Facts are those of `answers.mentions`.

    Example:
        use = "trajectory.mentions"
        with = { tool = "message_user", argument = "text", facts = [{ date = "2026-03-04" }] }

    Args:
        evidence: Evidence of the episode.
        tool: Name of the tool.
        argument: The argument that holds the text.
        facts: Facts that have to be stated.
        forbids: Facts that must not be stated.
        may: Further facts that `only` allows.
        only: "dates", "times", "numbers": of these only `facts` and `may` may be stated.
        most_chars: Maximum length of all calls together, in characters.
    """
    contract = contracts.mentions(tool, argument, facts, forbids, may, only, most_chars)
    found = contract(evidence.steps)
    return result(found.holds, found.message)


def budget(evidence: Evidence, steps: int | None = None, tokens: int | None = None) -> CheckResult:
    """The episode took at most this number of steps and tokens.

    Channel: trace. Tokens are prompt and completion of all decisions, as the policy reported them;
    a policy that reports no tokens counts as zero.

    Example:
        use = "trajectory.budget"
        with = { steps = 20, tokens = 60000 }

    Args:
        evidence: Evidence of the episode.
        steps: Maximum number of steps; absent: no limit.
        tokens: Maximum number of tokens; absent: no limit.
    """
    found = contracts.budget(steps, tokens)(evidence.steps)
    return result(found.holds, found.message)


def no_repeats(evidence: Evidence, times: int = 3) -> CheckResult:
    """No action was repeated this number of times in a row without changing anything.

    Channel: trace. Actions are equal if tool and arguments are. A step that changed something, as
    far as its surface can tell, starts a new count.

    Example:
        use = "trajectory.no_repeats"
        with = { times = 3 }

    Args:
        evidence: Evidence of the episode.
        times: Number of repetitions that is too high; at least 2.
    """
    found = contracts.no_repeats(times)(evidence.steps)
    return result(found.holds, found.message)
