"""The interactive session of `agentgym task try`: commands at a prompt, and live checkpoints."""

from __future__ import annotations

import json
import readline  # noqa: F401  # gives `input` editing and history
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from agentgym.authoring.hands_on import Attempt
from agentgym.authoring.statements import is_unfinished
from agentgym.cli.console import ask
from agentgym.env.portal import portal
from agentgym.errors import ActionError, NotFoundError
from agentgym.records import (
    Action,
    CheckpointResult,
    CheckStatus,
    Observation,
    ToolSpec,
    Verdict,
)
from agentgym.records.pattern import fits_glob

_LIGHTS = {
    CheckStatus.PASS: ("●", "green"),
    CheckStatus.FAIL: ("○", "red"),
    CheckStatus.NOT_APPLICABLE: ("–", "dim"),
    CheckStatus.ERROR: ("!", "bold yellow"),
}
_HELP = """\
:check             the checkpoints as they are now
:verdict           the verdict if the episode ended now, with what each check saw
:instruction       the instruction that the agent gets
:tools [GLOB]      the tools that can be called, with arguments
:solution          play the task's solution
:reset             start again
:submit [ANSWER]   end the episode, as the agent would
:quit              end the session; shows the final verdict
TOOL {"name": …}   call a tool with its arguments as JSON"""
_SHELL_HELP = "Anything else is a command for the sandbox."


_AT_THE_END = "the task's own tests judge it, once it is submitted"


class Session:
    """Reads lines until the end and executes them.

    Args:
        attempt: The attempt to act in; the session opens it, its creator closes it.
        console: Console for all output.
    """

    def __init__(self, attempt: Attempt, console: Console) -> None:
        self._attempt, self._console = attempt, console

    def converse(self) -> None:
        """Run the session, from the instruction to the final verdict."""
        self._begin()
        for line in self._statements():
            try:
                if self._obey(line.strip()):
                    break
            except KeyboardInterrupt:
                self._say("interrupted; :reset starts again")
        show_verdict(self._console, portal().run(self._attempt.finish()), title="final verdict")

    def _begin(self) -> None:
        portal().run(self._attempt.open())
        self._say(self._attempt.instruction.rstrip() + "\n")
        self._say(":help lists what can be asked, :tools what can be called\n", "dim")
        if self._attempt.verdict is None:
            self._say(_AT_THE_END, "dim")
        else:
            self._console.print(lights(self._attempt.verdict, {}), soft_wrap=True)

    def _statements(self) -> Iterator[str]:
        """Yield whole statements: a line, or several if a quote or a loop is open."""
        pending = ""
        while not self._attempt.over:
            try:
                line = self._line(pending)
            except KeyboardInterrupt:
                pending = ""
                self._say("")
                continue
            if line is None:
                break
            pending += line + "\n"
            if not self._attempt.has_shell or pending.startswith(":") or not is_unfinished(pending):
                if pending.strip():
                    yield pending
                pending = ""
        if pending.strip():
            yield pending

    def _line(self, pending: str) -> str | None:
        if not sys.stdin.isatty():
            read = sys.stdin.readline()
            return read.removesuffix("\n") if read else None
        try:
            return ask("> " if pending or not self._attempt.has_shell else self._prompt())
        except EOFError:
            self._say("")
            return None

    def _prompt(self) -> str:
        return f"{self._attempt.cwd}$ "

    def _obey(self, line: str) -> bool:
        """Execute a line; return True if it ends the session."""
        word, _, rest = line.partition(" ")
        if not line.startswith(":"):
            self._do(line)
        elif word in (":quit", ":q"):
            return True
        elif word == ":submit":
            seen = portal().run(self._attempt.submit(rest or None))
            if not self._attempt.over and seen is not None:
                self._say(seen.text)
            return self._attempt.over
        elif word == ":reset":
            self._begin()
        elif word == ":solution":
            self._act(self._attempt.solve)
        elif word == ":tools":
            self._say(_listed(self._attempt.tools.values(), rest or "*"))
        elif word in (":check", ":verdict"):
            verdict = portal().run(self._attempt.judge())
            if verdict is None:
                self._say(_AT_THE_END)
            else:
                show_verdict(self._console, verdict, messages=word == ":verdict")
        elif word == ":instruction":
            self._say(self._attempt.instruction)
        else:
            self._say(f"{_HELP}\n{_SHELL_HELP}" if self._attempt.has_shell else _HELP)
        return False

    def _do(self, line: str) -> None:
        """Make the call, or run the command, of a line."""
        attempt = self._attempt
        try:
            action = _read_call(line, attempt.tools, attempt.has_shell)
        except ActionError as error:
            self._say(str(error))
            return

        async def one() -> list[Observation]:
            return [await (attempt.run(line) if action is None else attempt.call(action))]

        self._act(one)

    def _act(self, do: Callable[[], Coroutine[Any, Any, list[Observation]]]) -> None:
        """Act, and judge the resulting state."""
        before = _states(self._attempt.verdict)
        for observation in portal().run(do()):
            if observation.text:
                self._say(observation.text.rstrip("\n"))
        now = portal().run(self._attempt.judge())
        if now is not None and (self._console.is_terminal or _changed(before, now)):
            self._console.print(lights(now, before), soft_wrap=True)

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style), soft_wrap=True)


def _read_call(line: str, tools: Mapping[str, ToolSpec], has_shell: bool) -> Action | None:
    """Return the call that a line holds; None if it is a shell command.

    Raises:
        ActionError: The line is neither a call nor a command.
    """
    name, _, rest = line.partition(" ")
    rest = rest.strip()
    if has_shell and (name not in tools or not rest.startswith("{")):
        return None
    if name not in tools:
        raise ActionError(str(NotFoundError("tool", name[:80], tools, ":tools lists them")))
    try:
        return Action.from_json({"tool": name, "arguments": json.loads(rest or "{}")})
    except (json.JSONDecodeError, RecursionError) as error:
        raise ActionError(f"{name}: expected arguments as JSON, such as {{…}}: {error}") from None


def _listed(tools: Iterable[ToolSpec], glob: str) -> str:
    """Return tools with their arguments, optional ones in brackets."""
    lines = []
    for tool in tools:
        if not fits_glob(tool.name, glob):
            continue
        names: Any = tool.parameters.get("properties", {})
        required: Any = tool.parameters.get("required", ())
        shown = [name if name in required else f"[{name}]" for name in names]
        lines.append(f"{tool.name} {' '.join(shown)}: {tool.description.splitlines()[0]}")
    return "\n".join(lines) or f"no tool is called {glob}"


def lights(verdict: Verdict, before: dict[str, CheckpointResult]) -> Text:
    """Return the checkpoints in a line; those that changed are highlighted."""
    line = Text()
    for result in verdict.checkpoints:
        sign, style = _LIGHTS[result.status]
        was = before.get(result.id)
        changed = was is not None and (was.status, was.score) != (result.status, result.score)
        line.append(f"{sign} ", style)
        line.append(result.id, f"bold {style}" if changed else "dim")
        partly = result.status is CheckStatus.FAIL and result.score > 0
        line.append(f" {result.score:.2f}" if partly else "", "dim")
        line.append(" ←" if changed else "", style)
        line.append("  ")
    told = f"score {verdict.score:.2f}" if verdict.scored else verdict.status
    line.append(told, "green" if verdict.outcome else "bold")
    return line


def show_verdict(
    console: Console, verdict: Verdict, *, title: str = "now", messages: bool = True
) -> None:
    """Print a verdict: a line a checkpoint, then the result."""
    for result in verdict.checkpoints:
        sign, style = _LIGHTS[result.status]
        line = Text("  " * result.depth)
        line.append(f"{sign} {result.id}", style)
        line.append(f"  {result.score:.2f} of weight {result.weight:g}", "dim")
        if messages and result.message:
            line.append(f"  {result.message}", "dim")
        console.print(line, soft_wrap=True)
    told = f"outcome {str(verdict.outcome).lower()}, score {verdict.score:.4g}"
    if verdict.safety_violations:
        told += f", violating {', '.join(verdict.safety_violations)}"
    style = "green" if verdict.outcome else "bold"
    console.print(Text(f"{title}: {told if verdict.scored else verdict.status}", style))


def _changed(before: dict[str, CheckpointResult], now: Verdict) -> bool:
    return any(
        (was.status, was.score) != (result.status, result.score)
        for result in now.checkpoints
        if (was := before.get(result.id)) is not None
    )


def _states(verdict: Verdict | None) -> dict[str, CheckpointResult]:
    return {} if verdict is None else {result.id: result for result in verdict.checkpoints}
