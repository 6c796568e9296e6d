"""The reference of check packs as Markdown: their docstrings and their error rates."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

from agentgym.protocols import Check
from agentgym.verify.calibration.rates import Rate, Tally
from agentgym.verify.rubric.packs import Pack

HEADER = """\
# Check packs

Written by `agentgym verifier calibrate --markdown docs/verifiers.md`; a test compares. A rubric
names a check with `use = "pack.function"` and passes its arguments in `with`. If the agent's work
is missing, hostile or too large, the check fails. If the rubric's arguments are wrong, the check is
in error. [architecture.md](architecture.md) describes how to write a rubric, a pack and calibration
cases.
"""

_RATES = """\
## Error rates

Every pack has cases with a known verdict in its `calibration.toml`, many of them near misses. A
false positive is a pass that should have been a fail. The 95% interval (Wilson) for the number of
cases is in brackets. The mistakes counted here are known limits, listed below the table. Any other
mistake makes `agentgym verifier calibrate` fail. A dash means that the check asks a judge, whose
error rate depends on the model; `agentgym verifier calibrate judge --judge openai:MODEL` measures
yours ([judging.md](judging.md)).
The last column names the evidence that the check looked at: the trace, the audit, the state of the
files, gold files, a clean room.
"""


def reference(packs: Sequence[tuple[Pack, Sequence[Tally]]]) -> str:
    """Return the whole reference: the table of mistakes, then every pack."""
    tallies = [tally for _, some in packs for tally in some]
    parts = [HEADER, _RATES, rates_table(tallies), known_limits(tallies)]
    parts += [pack_reference(pack) for pack, _ in packs]
    return "\n".join(parts)


def rates_table(tallies: Sequence[Tally]) -> str:
    """Return a Markdown table of the mistakes of checks."""
    lines = ["| check | false positives | false negatives | looks at |", "|---|---|---|---|"]
    lines += [
        f"| `{t.use}` | {show_rate(t.false_positives)} | {show_rate(t.false_negatives)} "
        f"| {', '.join(t.channels)} |"
        for t in tallies
    ]
    return "\n".join(lines) + "\n"


def known_limits(tallies: Sequence[Tally]) -> str:
    """Return a Markdown list of the known limits of checks."""
    return "".join(f"- `{t.use}`: {limit}.\n" for t in tallies for limit in t.limits)


def show_rate(rate: Rate) -> str:
    """Return e.g. ``1 of 8 (2–47%)``; a dash without cases."""
    if rate.ci95 is None:
        return "–"
    low, high = rate.ci95
    return f"{rate.wrong} of {rate.cases} ({100 * low:.0f}–{100 * high:.0f}%)"


def pack_reference(pack: Pack) -> str:
    """Return the documentation of a pack and its checks."""
    parts = [f"## {pack.name} {pack.version}\n\n{pack.summary}.\n"]
    parts += [
        f"### {pack.name}.{name}\n\n{check_reference(check)}"
        for name, check in sorted(pack.checks.items())
    ]
    return "\n".join(parts)


def check_reference(check: Check) -> str:
    """Return a check's docstring as Markdown: prose, the example as code, arguments as a list."""
    blocks = (inspect.getdoc(check) or "").split("\n\n")
    return "\n\n".join("\n".join(_block(block)) for block in blocks) + "\n"


def _block(block: str) -> Iterator[str]:
    head, *rest = block.split("\n")
    if head == "Example:":
        yield from ("```toml", *(line.removeprefix("    ") for line in rest), "```")
    elif head == "Args:":
        for line in rest:
            line = line.removeprefix("    ")
            name, colon, text = line.partition(": ")
            if line.startswith(" ") or not colon:
                yield f"  {line.strip()}"
            elif name != "evidence":
                yield f"- `{name}`: {text}"
    else:
        yield from (head, *rest)
