"""The `shell` surface: a persistent bash session, three file tools and a search.

Errors of the guest are observations; an exception means that the sandbox itself has ended.
"""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agentgym.errors import ConfigError, GuestFileError, SandboxLimitError, SurfaceError
from agentgym.protocols import Sandbox, Shell, SurfaceContext
from agentgym.records import (
    Action,
    Effect,
    Json,
    Observation,
    ObservationLimits,
    ShellResult,
    SurfaceConfig,
    ToolSpec,
)
from agentgym.surfaces.search import SEARCH, search
from agentgym.surfaces.selection import selected_tools
from agentgym.surfaces.truncation import MAX_MESSAGE, bounded

DEFAULT_TIMEOUT_S = 60.0
MAX_TIMEOUT_S = 600.0
_NONE = SurfaceConfig()
_MAX_FILE_BYTES = 8 * 2**20
_MAX_VIEW_CHARS = 32_000
_REMARKS_BYTES = 4_096
_DATA_BYTES = 65_536


def _schema(required: Sequence[str], **properties: Json) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


_PATH: Json = {
    "type": "string",
    "minLength": 1,
    "description": "Absolute, or relative to the session's working directory.",
}
_COUNT: Json = {"type": "integer", "minimum": 1}

TOOLS = (
    ToolSpec(
        "bash",
        "Run a command in a persistent bash session: the working directory, variables, "
        "functions and background jobs are still there at the next call. Standard input is "
        "empty. A command that runs over timeout_s is interrupted; the session goes on.",
        _schema(
            ["command"],
            command={"type": "string", "minLength": 1},
            timeout_s={
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": MAX_TIMEOUT_S,
                "description": f"Seconds; default {DEFAULT_TIMEOUT_S:g}.",
            },
        ),
    ),
    ToolSpec(
        "read_file",
        "Read a text file, or some of its lines.",
        _schema(
            ["path"],
            path=_PATH,
            offset={**_COUNT, "description": "First line, counted from 1."},  # type: ignore[dict-item]
            limit={**_COUNT, "description": "Number of lines."},  # type: ignore[dict-item]
        ),
    ),
    ToolSpec(
        "write_file",
        "Write a text file, replacing what was there; missing folders are made.",
        _schema(["path", "content"], path=_PATH, content={"type": "string"}),
    ),
    ToolSpec(
        "edit_file",
        "Replace a piece of text in a file. The old text must occur exactly once, unless "
        "replace_all is true.",
        _schema(
            ["path", "old", "new"],
            path=_PATH,
            old={"type": "string", "minLength": 1},
            new={"type": "string"},
            replace_all={"type": "boolean"},
        ),
    ),
    SEARCH,
)
USUAL = ("bash", "read_file", "write_file", "edit_file")
"""The tools that the surface offers unless its option `tools` says otherwise."""


class ShellKind:
    """The SurfaceKind `shell`; episodes share nothing.

    Args:
        config: The option `tools` selects some of `TOOLS` by globs; by default `USUAL`.

    Raises:
        ConfigError: An option is unknown, a glob fits nothing, or the environment has no sandbox.
    """

    name = "shell"

    def __init__(self, config: SurfaceConfig = _NONE) -> None:
        self._tools = selected_tools(self.name, TOOLS, config.options, USUAL)
        if not config.sandbox:
            raise ConfigError("surface 'shell' needs a computer: add sandbox = '…' to env.toml")
        # A byte of output may appear as U+FFFD, which has three bytes.
        shown = max(3 * config.output_bytes, 4 * _MAX_VIEW_CHARS)
        self.limits = ObservationLimits(shown + _REMARKS_BYTES, _DATA_BYTES)

    def tools(self) -> Sequence[ToolSpec]:
        """Return the selected tools."""
        return self._tools

    async def open(self) -> None:
        """Do nothing: episodes share nothing."""

    async def attach(self, context: SurfaceContext) -> ShellSurface:
        """Start a session in the sandbox of an episode."""
        return ShellSurface(context.sandbox, await context.sandbox.open_shell())

    async def close(self) -> None:
        """Do nothing: episodes share nothing."""


class ShellSurface:
    """A Surface over one shell session of a sandbox.

    Args:
        sandbox: The sandbox with the files.
        shell: The session; the surface closes it.
    """

    def __init__(self, sandbox: Sandbox, shell: Shell) -> None:
        self._sandbox = sandbox
        self._shell: Shell | None = shell
        self._calls: dict[str, Callable[..., Awaitable[Observation]]] = {
            "bash": self._bash,
            "read_file": self._read,
            "write_file": self._write,
            "edit_file": self._edit,
            "search": self._search,
        }

    async def call(self, action: Action) -> Observation:
        """Execute a schema-valid call."""
        try:
            return await self._calls[action.tool](**action.arguments)
        except (GuestFileError, SandboxLimitError) as error:
            return _failure(bounded(str(error), most=MAX_MESSAGE))

    async def observe(self) -> Observation:
        """Return an empty observation: a shell shows something only after a command."""
        self._session()
        return Observation("")

    async def save(self) -> Mapping[str, Json]:
        """Return the working directory and exported variables, without processes."""
        return await self._session().save()

    async def load(self, state: Mapping[str, Json]) -> None:
        """Restore the saved working directory and exported variables."""
        cwd, env = state.get("cwd"), state.get("env")
        if not isinstance(cwd, str) or not isinstance(env, Mapping):
            raise SurfaceError(f"load: expected what `save` returned, got {sorted(state)}")
        await self._session().close()
        exported = {name: str(value) for name, value in env.items()}
        try:
            self._shell = await self._sandbox.open_shell(cwd=cwd, env=exported)
        except GuestFileError:
            # A session can outlive its folder; a guest must not spoil the restore by removing it.
            self._shell = await self._sandbox.open_shell(cwd="/", env=exported)

    async def close(self) -> None:
        """End the session."""
        shell, self._shell = self._shell, None
        if shell is not None:
            await shell.close()

    # --- tools ---

    def _session(self) -> Shell:
        if self._shell is None:
            raise SurfaceError("the shell surface is closed; attach another one to the sandbox")
        return self._shell

    def _files(self) -> Sandbox:
        self._session()
        return self._sandbox

    async def _bash(self, command: str, timeout_s: float = DEFAULT_TIMEOUT_S) -> Observation:
        result = await self._session().run(command, timeout_s=timeout_s)
        effect = Effect.CHANGED if result.exit_code == 0 else Effect.ERROR
        return Observation(
            text=_readable(result.output) + _remarks(result, timeout_s),
            data={
                "exit_code": result.exit_code,
                "cwd": result.cwd,
                "timed_out": result.timed_out,
                "restarted": result.restarted,
                "omitted_bytes": result.omitted_bytes,
            },
            effect=Effect.TIMEOUT if result.timed_out else effect,
        )

    async def _text(self, path: str) -> str:
        data = await self._files().read_file(path, max_bytes=_MAX_FILE_BYTES)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise GuestFileError(
                f"{path}: not UTF-8 text (byte {error.start}); look at it with bash"
            ) from None

    async def _read(self, path: str, offset: int = 1, limit: int | None = None) -> Observation:
        text = await self._text(self._absolute(path))
        lines = text.splitlines(keepends=True)
        offset = min(offset, len(lines) + 1)
        last = len(lines) if limit is None else min(len(lines), offset - 1 + limit)
        view = "".join(lines[offset - 1 : last]).replace("\0", "\u2400")
        if len(view) > _MAX_VIEW_CHARS:
            view = view[:_MAX_VIEW_CHARS] + "\n[cut here; read on with offset and limit]"
        if offset > 1 or last < len(lines):
            view += f"\n[lines {offset} to {last} of {len(lines)}]"
        return Observation(text=view, data={"lines": len(lines)})

    async def _write(self, path: str, content: str) -> Observation:
        path = self._absolute(path)
        await self._files().write_file(path, content.encode())
        return Observation(
            text=f"wrote {len(content.encode())} bytes to {path}", effect=Effect.CHANGED
        )

    async def _edit(self, path: str, old: str, new: str, replace_all: bool = False) -> Observation:
        path = self._absolute(path)
        text = await self._text(path)
        count = text.count(old)
        size = len(text.encode()) + count * (len(new.encode()) - len(old.encode()))
        if count == 0:
            return _failure(f"{path}: the old text does not occur; nothing was changed")
        if count > 1 and not replace_all:
            return _failure(
                f"{path}: the old text occurs {count} times; add context to make it unique, "
                "or set replace_all. Nothing was changed"
            )
        if size > _MAX_FILE_BYTES:
            return _failure(
                f"{path}: {count} replacements would make it {size} bytes; expected at most "
                f"{_MAX_FILE_BYTES}. Nothing was changed; use bash for larger files"
            )
        await self._files().write_file(path, text.replace(old, new).encode())
        effect = Effect.NO_CHANGE if old == new else Effect.CHANGED
        return Observation(
            text=f"replaced {count} occurrence{'s' * (count > 1)} in {path}",
            data={"replaced": count},
            effect=effect,
        )

    async def _search(self, **arguments: Any) -> Observation:
        return await search(self._files(), self._session().cwd, **arguments)

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self._session().cwd, path))


def _failure(message: str) -> Observation:
    return Observation(text=f"error: {message}", effect=Effect.ERROR)


def _readable(output: bytes) -> str:
    """Decode output; invalid UTF-8 and NULs become visible replacement marks."""
    return output.decode("utf-8", "replace").replace("\0", "\u2400")


def _remarks(result: ShellResult, timeout_s: float) -> str:
    """Return remarks on everything that the output alone does not show."""
    remarks = []
    if result.timed_out:
        remarks.append(f"interrupted after {timeout_s:g} s")
    if result.exit_code and not result.timed_out and not result.restarted:
        remarks.append(f"exit code {result.exit_code}")
    if result.restarted:
        remarks.append(
            f"the shell ended with code {result.exit_code}; a new session starts in {result.cwd}"
        )
    joint = "\n" if result.output and not result.output.endswith(b"\n") else ""
    return joint + f"[{'; '.join(remarks)}]" if remarks else ""
