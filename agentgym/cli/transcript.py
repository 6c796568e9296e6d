"""A recorded episode, printed in a terminal: steps, folded output, the verdict's checkpoints.

Text of an agent or a sandbox is printed with its control characters made visible, so that a record
cannot control the reader's terminal.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentgym.eval.printable import as_text, clean
from agentgym.record.store import EpisodeRow
from agentgym.records import (
    Action,
    Audit,
    CheckpointResult,
    CheckStatus,
    Connection,
    Effect,
    Json,
    Process,
    Step,
    WebRequest,
)

FOLD_LINES = 12
FOLD_CHARS = 400

_EFFECTS = {Effect.CHANGED: "green", Effect.ERROR: "red", Effect.TIMEOUT: "yellow"}
_SIGNS = {"pass": ("✓", "green"), "fail": ("✗", "red"), "error": ("!", "yellow")}


def episode_table(rows: Sequence[EpisodeRow]) -> Table:
    """Return the list of a run's episodes."""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    for heading in ("id", "task", "agent", "seed", "trial", "status", "score", "steps"):
        right = heading in ("id", "seed", "trial", "score", "steps")
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        verdict = row.verdict
        agent = row.plan.agent if row.parent is None else f"{row.plan.agent} ({_origin(row)})"
        scored = verdict is not None and verdict.scored
        table.add_row(
            *(str(row.id), Text(row.plan.task), Text(clean(agent))),
            *(str(row.plan.seed), str(row.plan.trial)),
            Text(verdict.status if verdict else row.state, "" if scored else "yellow"),
            f"{verdict.score:.3f}" if verdict and scored else "–",
            str(row.steps),
        )
    return table


def print_episode(
    console: Console,
    row: EpisodeRow,
    steps: Sequence[Step],
    *,
    full: bool,
    after_step: Callable[[int], None] = lambda index: None,
) -> None:
    """Print an episode from its instruction to its verdict.

    Args:
        console: Console to print on.
        row: The episode.
        steps: Its steps.
        full: Whether to print everything without folding.
        after_step: Called with the index of each step that was printed.
    """
    plan = row.plan
    _say(console, f"episode {row.id}  {plan.task}  {plan.agent}", "bold")
    origin = f"  {_origin(row)}" if row.parent else ""
    group = "" if plan.group is None else f"  group {plan.group}"
    _say(console, f"seed {plan.seed}  trial {plan.trial}  {row.state}{origin}{group}", "dim")
    if plan.metadata is not None:
        _say(console, f"metadata {_folded(json.dumps(dict(plan.metadata)), full)}", "dim")
    _say(console, "")
    _say(console, _folded(row.instruction.strip(), full))
    for step in steps:
        print_step(console, step, full=full)
        after_step(step.index)
    print_verdict(console, row, full=full)


def print_step(console: Console, step: Step, *, full: bool) -> None:
    """Print the thought, the action and the observation of one step."""
    seen = step.observation
    line = Text(f"\nstep {step.index}  ", "dim").append(
        seen.effect.value, _EFFECTS.get(seen.effect, "dim")
    )
    if "exit_code" in seen.data:
        line.append(clean(f"  exit {seen.data['exit_code']}"))
    if seen.image is not None:
        line.append(f"  image {seen.image.shape[1]}x{seen.image.shape[0]}")
    console.print(line.append(f"  {step.duration_s * 1000:.0f} ms"), soft_wrap=True)
    for nudge in step.decision.nudges:
        _say(console, _folded(f"replied: {nudge.said.strip() or '(nothing)'}", full), "italic dim")
        _say(console, _folded(f"was told: {nudge.told}", full), "yellow")
    if step.decision.thought:
        _say(console, _folded(step.decision.thought.strip(), full), "italic dim")
    _say(console, _folded(_command(step.action), full), "cyan")
    if seen.text:
        _say(console, _folded(seen.text.rstrip("\n"), full))
    for event in step.events:
        _say(console, f"{event.kind}: {event.id}  {event.detail}", "magenta")


def print_verdict(console: Console, row: EpisodeRow, *, full: bool) -> None:
    """Print the verdict of an episode with its reasons, notes and audit."""
    verdict = row.verdict
    if verdict is None:
        _say(console, f"\nno verdict: the episode is {row.state}", "yellow")
    elif not verdict.scored:
        _say(console, f"\n{verdict.status}  {_folded(row.error, full)}", "yellow")
    else:
        apart = {"process": verdict.process, "bonus": verdict.bonus}
        more = "".join(f"  {n} {value:.3f}" for n, value in apart.items() if value is not None)
        more += f"  words: {verdict.words}" if verdict.words else ""
        word, style = ("passed", "bold green") if verdict.outcome else ("failed", "bold red")
        _say(console, f"\n{word}  score {verdict.score:.3f}{more}", style)
        if row.error:
            _say(console, f"the policy failed: {_folded(row.error, full)}", "yellow")
    for violation in verdict.safety_violations if verdict else ():
        _say(console, f"safety violation: {violation}", "red")
    for checkpoint in _parents_first(verdict.checkpoints) if verdict else ():
        sign, style = _SIGNS.get(checkpoint.status.value, ("–", "dim"))
        line = Text("  " * checkpoint.depth).append(f"{sign} ", style)
        line.append(f"{clean(checkpoint.id)}  {checkpoint.score:.2f} × {checkpoint.weight:g}")
        for word, style in _remarks(checkpoint):
            line.append(f"  {clean(word)}", style)
        if checkpoint.message:
            indent = "\n" + "  " * (checkpoint.depth + 2)
            message = clean(_folded(checkpoint.message, full)).replace("\n", indent)
            line.append(f"  {message}", "dim")
        console.print(line, soft_wrap=True)
    if verdict is not None and verdict.verifier:
        _say(console, f"verifier {verdict.verifier}", "dim")
    if row.log:
        _say(console, f"\n{_folded(row.log.rstrip(), full)}", "yellow")
    if row.audit is not None:
        _print_audit(console, row.audit, full)


def _remarks(checkpoint: CheckpointResult) -> Iterator[tuple[str, str]]:
    """Yield remarks on a result beside its credit, each with its style."""
    if checkpoint.bonus:
        yield "bonus", "magenta"
    if not checkpoint.controllable:
        yield "uncontrollable", "yellow"
    if checkpoint.step is not None:
        held = "" if checkpoint.status is CheckStatus.PASS else "held "
        when = "at the start" if checkpoint.step < 0 else f"at step {checkpoint.step}"
        yield held + when, "cyan"
    if checkpoint.channels:
        yield f"[{', '.join(checkpoint.channels)}]", "dim"


def _print_audit(console: Console, audit: Audit, full: bool) -> None:
    """Print the sandbox's audit; nothing if the audit is empty."""
    if audit.connections:
        _say(console, "\nconnections", "dim")
        _say(console, _folded("\n".join(map(_connection, audit.connections)), full))
    if audit.requests:
        _say(console, "\nrequests of the browser", "dim")
        _say(console, _folded("\n".join(map(_request, audit.requests)), full))
    if audit.page_state:
        _say(console, "\nstate of the page", "dim")
        _say(console, _one_line(json.dumps(dict(audit.page_state))))
    if audit.processes:
        _say(console, "\nprocesses still alive", "dim")
        _say(console, _folded("\n".join(map(_process, audit.processes)), full))
    if audit.killed_for_memory:
        _say(console, f"\nkilled for memory: {audit.killed_for_memory}", "yellow")


def _connection(connection: Connection) -> str:
    told = f"{connection.host}:{connection.port}  {connection.outcome}"
    amounts = f"{connection.sent_bytes} bytes sent, {connection.received_bytes} received"
    return _one_line(f"{told}  {amounts}")


def _request(request: WebRequest) -> str:
    marks = ("destructive " if request.destructive else "") or ("mutating " * request.mutating)
    outcome = request.refused or request.failed or request.location
    told = f"{request.step}  {request.method} {request.url}  {request.status} {marks}{outcome}"
    return _one_line(told.rstrip())


def _process(process: Process) -> str:
    return _one_line(f"{process.pid}  {shlex.join(process.argv)}")


def _one_line(text: str) -> str:
    return text.replace("\n", "\\n")


def _parents_first(checkpoints: Sequence[CheckpointResult]) -> Sequence[CheckpointResult]:
    """Order a rubric's results, recorded children before parents, with parents first."""
    trees: list[list[CheckpointResult]] = []
    for checkpoint in checkpoints:
        children: list[CheckpointResult] = []
        while trees and trees[-1][0].depth > checkpoint.depth:
            children = trees.pop() + children
        trees.append([checkpoint, *children])
    return [checkpoint for tree in trees for checkpoint in tree]


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(clean(text), style), soft_wrap=True)


def _origin(row: EpisodeRow) -> str:
    assert row.parent is not None
    return f"{'fork' if row.forked else 'branch'} of {row.parent[0]} at {row.parent[1]}"


def _command(action: Action) -> str:
    """Write a tool call as a person would type it."""
    command = action.arguments.get("command")
    if action.tool == "bash" and isinstance(command, str):
        return f"$ {command}"
    arguments = [f"{name}={_value(value)}" for name, value in action.arguments.items()]
    return " ".join([action.tool, *arguments])


def _value(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else as_text(value)


def _folded(text: str, full: bool) -> str:
    """Cut a text to a dozen lines, and long lines to a screenful, and note the omissions."""
    if full:
        return text
    lines = text.split("\n")
    kept = [
        line if len(line) <= FOLD_CHARS else f"{line[:FOLD_CHARS]}… {len(line) - FOLD_CHARS} more"
        for line in lines[:FOLD_LINES]
    ]
    if len(lines) > FOLD_LINES:
        kept.append(f"… {len(lines) - FOLD_LINES} more lines, shown by --full")
    return "\n".join(kept)
