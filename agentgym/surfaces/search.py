"""The tool `search` of the `shell` surface: lines of files that match a pattern.

The guest's grep searches. The result is sorted and bounded, so equal files give equal answers.
"""

from __future__ import annotations

from typing import Final

from agentgym.protocols import Sandbox
from agentgym.records import Effect, ExecResult, Observation, ToolSpec

TIMEOUT_S: Final = 60.0
LINES: Final = 200
"""Largest number of lines that one answer shows."""

LINE_CHARS: Final = 300
_NO_MATCH: Final = 1
# In the locale C, files of any encoding are text unless they hold a NUL.
_COMMAND: Final = f"""\
set -o pipefail
export LC_ALL=C
grep -rnHIP --exclude-dir=.git "$@" | sort -t: -k1,1 -k2,2n \\
| cut -b 1-{4 * LINE_CHARS} | head -n {LINES + 1}
"""

SEARCH: Final = ToolSpec(
    "search",
    "Search the text files below a path for a Perl-compatible regular expression. Shows "
    f"path:line:text of at most {LINES} lines, sorted. Folders called .git are left out.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "minLength": 1},
            "path": {
                "type": "string",
                "minLength": 1,
                "description": "A file or folder, absolute or relative to the session's working "
                "directory, which is the default.",
            },
            "glob": {
                "type": "string",
                "minLength": 1,
                "description": "Only files with such a name, e.g. *.py.",
            },
            "ignore_case": {"type": "boolean"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
)


async def search(
    sandbox: Sandbox,
    cwd: str,
    *,
    pattern: str,
    path: str | None = None,
    glob: str | None = None,
    ignore_case: bool = False,
) -> Observation:
    """Return the lines that match.

    Args:
        sandbox: The sandbox with the files.
        cwd: The folder that a relative path starts from.
        pattern: A Perl-compatible regular expression.
        path: File or folder to search, None for `cwd`.
        glob: Glob of the names of files, None for all.
        ignore_case: Whether upper and lower case are the same.
    """
    arguments = ["--ignore-case"] if ignore_case else []
    arguments += [] if glob is None else [f"--include={glob}"]
    arguments += ["-e", pattern, *([] if path is None else ["--", path])]
    if "\n" in pattern or any("\0" in one for one in arguments):
        return _failure("a pattern is one line, and no argument holds a NUL")
    done = await sandbox.exec(
        ["/bin/bash", "-c", _COMMAND, "search", *arguments], cwd=cwd, timeout_s=TIMEOUT_S
    )
    if done.timed_out:
        seconds = f"{TIMEOUT_S:g} s"
        text = f"error: the search took more than {seconds}; name a smaller folder or a glob"
        return Observation(text, effect=Effect.TIMEOUT)
    if done.exit_code > _NO_MATCH and not done.stdout:
        return _failure(done.stderr.decode("utf-8", "replace").strip()[-500:])
    return _found(done)


def _found(done: ExecResult) -> Observation:
    text = done.stdout.decode("utf-8", "replace").replace("\0", "\u2400")
    lines = text.removesuffix("\n").split("\n") if text else []
    shown = "".join(f"{_cut(line)}\n" for line in lines[:LINES])
    cut = done.omitted_bytes > 0 or len(lines) > LINES
    if cut:
        shown += "[more lines match; narrow the pattern, the path or the glob]"
    return Observation(shown or "[no line matches]", data={"cut": cut})


def _cut(line: str) -> str:
    return line if len(line) <= LINE_CHARS else line[:LINE_CHARS] + "…"


def _failure(message: str) -> Observation:
    return Observation(f"error: {message}", effect=Effect.ERROR)
