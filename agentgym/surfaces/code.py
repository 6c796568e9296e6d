"""The `code` surface: one action is one Python program, in which tools of services are functions.

The program runs in the sandbox and can use all files and packages there. Each of its calls is a
call of the agent, checked and audited like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgym.errors import ConfigError, GuestFileError, SandboxLimitError, SurfaceError
from agentgym.protocols import Sandbox, Services, SurfaceContext
from agentgym.records import Action, Effect, ExecResult, Json, Observation, SurfaceConfig, ToolSpec
from agentgym.surfaces.aside import aside
from agentgym.surfaces.attached_services import AttachedServices
from agentgym.surfaces.program import MAX_CALLS, Conversation, run_program
from agentgym.surfaces.service_tools import chosen_tools, first_picture
from agentgym.surfaces.truncation import LIMITS, MAX_TEXT, bounded, bounded_data, readable

DEFAULT_TIMEOUT_S = 60.0
MAX_TIMEOUT_S = 600.0
_TELL = (
    "Run a Python program on the computer. The tools below are functions in it: they take their "
    "arguments by name or in this order, return their results as Python values and raise "
    "ServiceError (code, message, field) where a call is refused; print(FUNCTION.__doc__) tells "
    f"more. You see what it prints, then the value of its last line. Up to {MAX_CALLS} calls; a "
    "program that runs over timeout_s is ended, and what it had changed by then stays changed. "
    "Nothing else is kept from one program to the next.\n"
)


class CodeKind:
    """The SurfaceKind `code`; episodes share nothing.

    Args:
        config: The service tools; the option `tools` selects some of them by globs.

    Raises:
        ConfigError: The environment has no services or no sandbox, an option is unknown, or a glob
            matches nothing.
    """

    name = "code"
    limits = LIMITS

    def __init__(self, config: SurfaceConfig) -> None:
        self._callable = chosen_tools(config, self.name)
        if not config.sandbox:
            raise ConfigError("surface 'code' needs a computer: add sandbox = '…' to env.toml")
        self._tools = (_run_python(self._callable),)

    def tools(self) -> Sequence[ToolSpec]:
        """Return `run_python`."""
        return self._tools

    async def open(self) -> None:
        """Do nothing: episodes share nothing."""

    async def attach(self, context: SurfaceContext) -> CodeSurface:
        """Return a surface over the sandbox and the services of an episode.

        Raises:
            SurfaceError: The episode has no services.
        """
        if context.services is None:
            raise SurfaceError("surface 'code': the environment has no services")
        return CodeSurface(context.sandbox, context.services, self._callable)

    async def close(self) -> None:
        """Do nothing: episodes share nothing."""


class CodeSurface(AttachedServices):
    """A Surface that runs programs over live services.

    Args:
        sandbox: The sandbox in which programs run.
        services: The services that programs call.
        tools: Tools of the services that are functions in a program.
    """

    def __init__(self, sandbox: Sandbox, services: Services, tools: Sequence[ToolSpec]) -> None:
        super().__init__("code", services)
        self._sandbox, self._callable = sandbox, tools

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid call; errors of the program are part of the observation."""
        services, arguments = self._live(), action.arguments
        timeout_s = arguments.get("timeout_s", DEFAULT_TIMEOUT_S)
        assert isinstance(timeout_s, (int, float))
        before = await aside(services, lambda: services.hash)
        try:
            result, talk = await run_program(
                self._sandbox,
                services,
                self._callable,
                str(arguments["code"]),
                timeout_s=timeout_s,
            )
        except (GuestFileError, SandboxLimitError) as error:
            return Observation(f"error: {error}", effect=Effect.ERROR)
        # A large value or picture takes its time, and other episodes share the loop.
        return await aside(services, lambda: _seen(services, result, talk, timeout_s, before))


def _seen(
    services: Services, result: ExecResult, talk: Conversation, timeout_s: float, before: str
) -> Observation:
    """Return the observation of a program that has ended."""
    text = _text_of(result, talk)
    named = (name for name in talk.pictures if name in text)
    return Observation(
        text + _remarks(text, result, talk, timeout_s),
        image=first_picture(named, services),
        data={
            **bounded_data("value", talk.value),
            "calls": talk.calls,
            "exit_code": result.exit_code,
            "timed_out": result.timed_out,
        },
        effect=_effect_of(result, changed=services.hash != before),
    )


def _run_python(tools: Sequence[ToolSpec]) -> ToolSpec:
    described = "".join(f"\n{tool.name}({_signature(tool)})" for tool in tools)
    properties: dict[str, Json] = {
        "code": {"type": "string", "minLength": 1},
        "timeout_s": {
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": MAX_TIMEOUT_S,
            "description": f"Seconds; default {DEFAULT_TIMEOUT_S:g}.",
        },
    }
    schema: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": ["code"],
        "additionalProperties": False,
    }
    return ToolSpec("run_python", _TELL + described, schema)


def _signature(tool: ToolSpec) -> str:
    """Return the parameters of a tool in their order; optional ones have a mark."""
    properties, required = (tool.parameters.get(key, ()) for key in ("properties", "required"))
    assert isinstance(properties, Mapping | tuple) and isinstance(required, Sequence)
    return ", ".join(name if name in required else f"{name}=…" for name in properties)


def _text_of(result: ExecResult, talk: Conversation) -> str:
    """Return the output of the program, and the value of its last line."""
    printed = (result.stdout + result.stderr).decode("utf-8", "replace")
    value = readable(talk.written if talk.value is None else talk.value)
    gap = "\n" if printed and value and not printed.endswith("\n") else ""
    return bounded(printed + gap + value, tail=MAX_TEXT // 2)


def _remarks(text: str, result: ExecResult, talk: Conversation, timeout_s: float) -> str:
    """Return remarks on everything that the output alone does not show."""
    remarks = []
    if result.timed_out:
        remarks.append(f"ended after {timeout_s:g} s")
    elif result.exit_code:
        remarks.append(f"exit code {result.exit_code}")
    if talk.closed:
        remarks.append(f"the connection to the services was closed: {talk.closed}")
    gap = "\n" if text and not text.endswith("\n") else ""
    return f"{gap}[{'; '.join(remarks)}]" if remarks else ""


def _effect_of(result: ExecResult, *, changed: bool) -> Effect:
    if result.timed_out:
        return Effect.TIMEOUT
    if result.exit_code:
        return Effect.ERROR
    return Effect.CHANGED if changed else Effect.NO_CHANGE
