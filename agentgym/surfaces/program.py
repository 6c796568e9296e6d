"""One program of an agent: it runs inside the sandbox, and its tool calls arrive here.

The program is a command of the sandbox, with its limits and a deadline. It listens on a port of
the guest's loopback; the sandbox's list of processes identifies it. The only connection to it
carries lines of JSON: calls, their replies and finally the value of its last line. The guest is
hostile: an invalid, oversized or surplus frame ends the connection. Each call is executed wholly or
not at all, in whatever way the program ends.
"""

from __future__ import annotations

import asyncio
import functools
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentgym.errors import SandboxError, ServiceError
from agentgym.protocols import Sandbox, Services
from agentgym.records import ExecResult, Json, Reply, ToolSpec
from agentgym.records.bounds import is_too_rich
from agentgym.sandbox.runtime import program_python
from agentgym.surfaces.aside import aside

MAX_CALLS: Final = 1000
"""Largest number of calls of one program."""

MAX_FRAME: Final = 2 * 2**20
"""Bytes of a line from the guest; arguments may have 1 MiB, and escapes make them longer."""

_NUMBER_CHARS: Final = 64
_PYTHONS: Final = (("python3",), tuple(program_python()))
_LOOK_S: Final = 0.01
_REST_S: Final = 1.0
_INTERPRETER: Final = Path(__file__).with_name("interpreter.py")
_START: Final = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import json
order = json.load(sys.stdin)
guest = {"__name__": "services", "__file__": "<agentgym>"}
exec(compile(order["interpreter"], "<agentgym>", "exec"), guest)
guest["main"](order)
"""


@dataclass(slots=True)
class Conversation:
    """The requests of a program and its result.

    Attributes:
        calls: Number of calls made.
        pictures: Names of the pictures that it received, in order.
        value: Value of its last line, if that is JSON.
        written: Value of its last line as Python prints it, if that is not JSON.
        closed: Reason why the host closed the connection, else empty.
        found: Whether the host found the program's port.
    """

    calls: int = 0
    pictures: list[str] = field(default_factory=list)
    value: Json = None
    written: str = ""
    closed: str = ""
    found: bool = False


async def run_program(
    sandbox: Sandbox,
    services: Services,
    tools: Sequence[ToolSpec],
    code: str,
    *,
    timeout_s: float,
) -> tuple[ExecResult, Conversation]:
    """Run a program to its end or its deadline.

    Args:
        sandbox: The sandbox in which it runs.
        services: The services that answer its calls.
        tools: The tools that it may call.
        code: The program.
        timeout_s: Deadline in seconds, at which the program is ended.

    Returns:
        The result of the command, and the conversation with the program.

    Raises:
        SandboxError: The sandbox died, or refuses to run commands.
    """
    known = {tool.name: [_parameters(tool), _manual(tool)] for tool in tools}
    order = {"interpreter": _interpreter(), "code": code, "tools": known}
    stdin = json.dumps(order).encode()
    for python in _PYTHONS:
        marker = f"agentgym-{secrets.token_hex(8)}"
        argv = [*python, "-u", "-c", _START, marker]
        talk = Conversation()
        serving = asyncio.ensure_future(_serve(sandbox, services, known, marker, talk))
        try:
            result = await sandbox.exec(argv, stdin=stdin, timeout_s=timeout_s)
            # The last frames may still be on their way.
            rests = talk.found and not result.timed_out
            await asyncio.wait({serving}, timeout=_REST_S if rests else 0)
        finally:
            await _stop(serving)
        if result.exit_code != 127 or talk.found:
            break
    return result, talk


@functools.cache
def _interpreter() -> str:
    return _INTERPRETER.read_text("utf-8")


def _parameters(tool: ToolSpec) -> list[str]:
    properties = tool.parameters.get("properties", {})
    return list(properties) if isinstance(properties, Mapping) else []


def _manual(tool: ToolSpec) -> str:
    return f"{tool.description}\n\nArguments: {json.dumps(tool.parameters, indent=1)}"


async def _stop(serving: asyncio.Future[None]) -> None:
    serving.cancel()
    await asyncio.wait({serving})
    error = None if serving.cancelled() else serving.exception()
    # If the sandbox ends meanwhile, the awaited command reports it.
    if error is not None and not isinstance(error, SandboxError):
        raise error


async def _serve(
    sandbox: Sandbox, services: Services, tools: Mapping[str, Any], marker: str, talk: Conversation
) -> None:
    """Find the program and answer its calls until its last frame."""
    port = await _port_of(sandbox, marker)
    talk.found = True
    connection = await sandbox.connect(port)
    connection.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=connection, limit=MAX_FRAME)
    try:
        while (frame := await _read(reader)) is not None:
            if "tool" not in frame:
                written = frame.get("written")
                talk.value, talk.written = (
                    frame.get("value"),
                    written if isinstance(written, str) else "",
                )
                return
            if talk.calls == MAX_CALLS:
                talk.closed = f"a program may make {MAX_CALLS} calls"
                return
            # A call may take as long as its budget allows, and other episodes share the loop.
            answering = functools.partial(_answer, services, tools, frame, talk)
            reply = await aside(services, answering)
            writer.write(_numbered(reply, frame.get("number")) + b"\n")
            await writer.drain()
    except ValueError as error:
        talk.closed = str(error)
    except OSError as error:
        talk.closed = f"the program hung up: {error.strerror}"
    finally:
        writer.close()


async def _port_of(sandbox: Sandbox, marker: str) -> int:
    while True:
        for process in await sandbox.processes():
            if marker in process.argv and process.tcp_ports:
                return process.tcp_ports[0]
        await asyncio.sleep(_LOOK_S)


async def _read(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """Return a frame, None at the end of the stream. Raises ValueError for an invalid frame."""
    try:
        line = await reader.readline()
    except ValueError:
        raise ValueError(f"a frame has more than {MAX_FRAME} bytes") from None
    if not line.endswith(b"\n"):
        return None
    if is_too_rich(line):
        raise ValueError("a frame has too many values")
    try:
        frame = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a frame is not JSON: {error}") from None
    if not isinstance(frame, dict):
        raise ValueError(f"expected an object as a frame, got {type(frame).__name__}")
    return frame


def _numbered(reply: Reply, number: object) -> bytes:
    """Return the answer to a question with its number, if the question has one."""
    text = reply.json
    if isinstance(number, str) and len(number) <= _NUMBER_CHARS:
        text = f'{{"number": {json.dumps(number)}, {text.lstrip()[1:]}'
    return text.encode()


def _answer(
    services: Services, tools: Mapping[str, Any], frame: dict[str, Any], talk: Conversation
) -> Reply:
    talk.calls += 1
    tool = frame["tool"]
    if not isinstance(tool, str) or tool not in tools:
        return Reply(error=ServiceError("invalid", f"no tool named {str(tool)[:80]!r}", "tool"))
    reply = services.call(tool, frame.get("arguments", {}))
    talk.pictures += reply.images
    return reply
