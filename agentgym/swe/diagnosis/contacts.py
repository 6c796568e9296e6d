"""Finds the files of the repository that each step of an episode searched, read or edited.

It knows the tools of the `shell` surface. Commands are read and not executed, so what a program
writes is known by name at most: such an edit counts for its file and for no function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentgym.records import Effect, Json, Step
from agentgym.swe.diagnosis.commands import Command, read_commands
from agentgym.swe.diagnosis.functions import functions_at
from agentgym.swe.diagnosis.working_files import UNKNOWN, Content, Edit, Unknown, WorkingFiles

_SEARCHES: Final = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "find", "fd", "ugrep"})
_READERS: Final = frozenset({"cat", "head", "tail", "sed", "nl", "less", "more", "bat", "awk"})
_PYTHON: Final = re.compile(r"python[\d.]*")
_HIT: Final = re.compile(r"([^\s:]+?)(?:[:-](\d{1,9})[:-]|:|$)")
_NUMBERED: Final = re.compile(r"(\d{1,9})[:-]")
_QUOTED: Final = re.compile(r"\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'")
_WRITING: Final = re.compile(
    r"write_text|write_bytes|\.write\(|writelines|,\s*['\"][wax+]b?\+?['\"]"
)
_RANGE: Final = re.compile(r"(?<!\d)(\d{1,9})(?:,(\d{1,9}|\$|\+\d{1,9}))?p")
_LINES: Final = 20_000
"""Lines of one observation in which hits are looked for."""


@dataclass(frozen=True, slots=True)
class Contact:
    """The places that one step touches. Functions are ``path::Class.method``.

    Attributes:
        searched: Files that a search found, and functions with a line that it found.
        read: Files shown, and functions with a line that was shown.
        edits: Files changed.
        tests: Whether it ran tests.
    """

    searched: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()
    edits: tuple[Edit, ...] = ()
    tests: bool = False


def find_contacts(steps: Sequence[Step], files: WorkingFiles) -> Iterator[Contact]:
    """Yield the contact of each step in order; `files` follows the edits."""
    for step in steps:
        call = _CALLS.get(step.action.tool)
        yield Contact() if call is None else call(step, files)
        cwd = step.observation.data.get("cwd")
        if isinstance(cwd, str) and cwd.startswith("/"):
            files.cwd = cwd


def _text(arguments: Mapping[str, Json], name: str) -> str:
    value = arguments.get(name)
    return value if isinstance(value, str) else ""


def _number(arguments: Mapping[str, Json], name: str, default: int) -> int:
    value = arguments.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _read_file(step: Step, files: WorkingFiles) -> Contact:
    given = step.action.arguments
    path = files.file(_text(given, "path"))
    if path is None or step.observation.effect in (Effect.ERROR, Effect.TIMEOUT):
        return Contact()
    first = _number(given, "offset", 1)
    return Contact(read=_places(files, path, first, first + _number(given, "limit", 10**9) - 1))


def _write_file(step: Step, files: WorkingFiles) -> Contact:
    path = files.resolve(_text(step.action.arguments, "path"))
    if path is None or step.observation.effect in (Effect.ERROR, Effect.TIMEOUT):
        return Contact()
    return Contact(edits=_edits(files.write(path, _text(step.action.arguments, "content"))))


def _edit_file(step: Step, files: WorkingFiles) -> Contact:
    given = step.action.arguments
    path = files.file(_text(given, "path"))
    if path is None or step.observation.effect is not Effect.CHANGED:
        return Contact()
    now, old = files.content(path), _text(given, "old")
    known = isinstance(now, str) and bool(old) and old in now
    content: Content = UNKNOWN
    if known and isinstance(now, str):
        content = now.replace(old, _text(given, "new"))
    return Contact(edits=_edits(files.write(path, content)))


def _search(step: Step, files: WorkingFiles) -> Contact:
    words = ("grep", _text(step.action.arguments, "path"))
    return Contact(searched=frozenset(_found(words, step.observation.text, files)))


def _bash(step: Step, files: WorkingFiles) -> Contact:
    searched, read, edits, tests = set[str](), set[str](), list[Edit](), False
    start = files.cwd
    for command in read_commands(_text(step.action.arguments, "command")):
        name = command.name
        if name == "cd" and len(command.words) == 2:
            target = files.resolve(command.words[1])
            files.cwd = f"{files.repair.root}/{target}" if target else command.words[1]
            files.cwd = files.cwd if files.cwd.startswith("/") else start
        elif name in _SEARCHES or command.words[:2] in (("git", "grep"), ("git", "ls-files")):
            searched |= _found(command.words, step.observation.text, files)
        elif name in _READERS and not _is_in_place(command):
            read |= _shown(command, files)
        tests = tests or _runs_tests(command)
        edits += _edited(command, files)
        read |= _named_by_script(command, files)
    return Contact(frozenset(searched), frozenset(read), tuple(edits), tests)


_CALLS: Final[Mapping[str, Callable[[Step, WorkingFiles], Contact]]] = {
    "bash": _bash,
    "read_file": _read_file,
    "write_file": _write_file,
    "edit_file": _edit_file,
    "search": _search,
}


def _edits(edit: Edit | None) -> tuple[Edit, ...]:
    return () if edit is None else (edit,)


def _places(files: WorkingFiles, path: str, first: int, last: int) -> frozenset[str]:
    """Return a file, and its functions with a line in a range."""
    names = functions_at(path, files.text(path), first, last)
    return frozenset({path, *(f"{path}::{name}" for name in names)})


# --- searches and reads in a shell ---------------------------------------------------------


def _found(words: Sequence[str], output: str, files: WorkingFiles) -> set[str]:
    """Return the places that a search shows in the step's output."""
    given = [path for word in words[1:] if (path := files.file(word)) is not None]
    found: set[str] = set()
    for line in output.split("\n")[:_LINES]:
        hit = _HIT.match(line)
        path = files.file(hit.group(1)) if hit else None
        if hit and path is not None:
            number = int(hit.group(2) or 0)
            found |= _places(files, path, number, number)
        elif len(given) == 1 and line and not line.startswith("["):
            numbered = _NUMBERED.match(line)
            number = int(numbered.group(1)) if numbered else 0
            found |= _places(files, given[0], number, number)
    return found


def _shown(command: Command, files: WorkingFiles) -> set[str]:
    """Return the places that a command such as `cat` shows."""
    found: set[str] = set()
    for word in command.words[1:]:
        if (path := files.file(word)) is not None:
            for first, last in _ranges(command, files.text(path).count("\n") + 1):
                found |= _places(files, path, first, last)
    return found


def _ranges(command: Command, lines: int) -> list[tuple[int, int]]:
    """Return the lines that a command shows of a file, counted from 1."""
    arguments = " ".join(command.words[1:])
    if command.name == "sed" and "-n" in command.words:
        return [
            (int(first), _last(int(first), last, lines))
            for first, last in _RANGE.findall(arguments)
        ] or [(1, lines)]
    count = re.search(r"-(?:n\s*)?(\d{1,9})(?!\d)", arguments)
    if count is not None and command.name == "head":
        return [(1, int(count.group(1)))]
    if count is not None and command.name == "tail":
        return [(max(1, lines - int(count.group(1))), lines)]
    return [(1, 10)] if command.name == "head" else [(1, lines)]


def _last(first: int, last: str, lines: int) -> int:
    if not last:
        return first
    return lines if last == "$" else first + int(last) if last[0] == "+" else int(last)


# --- edits in a shell ----------------------------------------------------------------------


def _edited(command: Command, files: WorkingFiles) -> list[Edit]:
    made: list[Edit | None] = []
    name, words = command.name, command.words
    known = name in ("cat", "tee") and command.stdin is not None and _is_plain(command)
    text = command.stdin if known and len(words) == 1 + (name == "tee") else None
    targets = [
        *command.writes,
        *([(word, "-a" in words) for word in words[1:]] if name == "tee" else []),
    ]
    for word, appends in targets:
        path = files.resolve(word)
        if path is not None:
            made.append(files.write(path, _written(files.content(path), text, appends)))
    if _is_in_place(command):
        made += [files.write(path, UNKNOWN) for path in map(files.file, words[1:]) if path]
    elif name in ("rm", "mv", "cp") or words[:2] in (("git", "rm"), ("git", "mv")):
        made += _moved(command, files)
    elif name == "patch" or words[:2] == ("git", "apply"):
        made += files.apply(command.stdin or "")
    elif name == "git":
        made += _git(command, files)
    script = _script(command)
    if script and _WRITING.search(script):
        made += [files.write(path, UNKNOWN) for path in _quoted_files(script, files)]
    return [edit for edit in made if edit is not None]


def _is_plain(command: Command) -> bool:
    return not command.expands or not re.search(r"[$`\\]", command.stdin or "")


def _is_in_place(command: Command) -> bool:
    options = [word for word in command.words[1:] if word.startswith("-")]
    if command.name == "sed":
        return any(re.match(r"-[nErsz]*i|--in-place", word) for word in options)
    return command.name == "perl" and any(re.match(r"-\w*i", word) for word in options)


def _written(was: Content, text: str | None, appends: bool) -> Content:
    if text is None or (appends and isinstance(was, Unknown)):
        return UNKNOWN
    return was + text if appends and isinstance(was, str) else text


def _moved(command: Command, files: WorkingFiles) -> list[Edit | None]:
    words = [word for word in command.words if not word.startswith("-")]
    words = words[2:] if words[0] == "git" else words[1:]
    name = command.words[1] if command.name == "git" else command.name
    sources = words if name == "rm" else words[:-1]
    paths = [path for path in map(files.file, sources) if path is not None]
    held = [files.content(path) for path in paths]
    made = [files.write(path, None) for path in paths] if name != "cp" else []
    target = files.resolve(words[-1]) if words and name != "rm" else None
    if target is not None and len(paths) == 1:
        made.append(files.write(target, held[0]))
    return made


def _git(command: Command, files: WorkingFiles) -> list[Edit]:
    verb, rest = command.words[1:2], command.words[2:]
    words = [word for word in rest if not word.startswith("-") and word != "HEAD"]
    if verb in (("checkout",), ("restore",)):
        named = [word for word in words if word == "." or files.resolve(word) is not None]
        return files.restore(*named) if named and "-b" not in rest else []
    if verb == ("reset",):
        return files.restore() if "--hard" in rest else []
    if verb == ("stash",):
        back = {"pop", "apply"} & set(words)
        return files.unstash() if back else files.stash() if not words or "push" in words else []
    return []


# --- programs ------------------------------------------------------------------------------


def _script(command: Command) -> str:
    """Return the text of a Python program that a command holds, empty if it holds none."""
    if not _PYTHON.fullmatch(command.name):
        return ""
    if "-c" in command.words[:-1]:
        return command.words[command.words.index("-c") + 1]
    return command.stdin or ""


def _quoted_files(script: str, files: WorkingFiles) -> list[str]:
    words = [one or other for one, other in _QUOTED.findall(script)]
    found = [path for word in words if (path := files.file(word)) is not None]
    return list(dict.fromkeys(found))


def _named_by_script(command: Command, files: WorkingFiles) -> set[str]:
    script = _script(command)
    if not script or _WRITING.search(script):
        return set()
    found: set[str] = set()
    for path in _quoted_files(script, files):
        found |= _places(files, path, 1, 10**9)
    return found


def _runs_tests(command: Command) -> bool:
    words = list(command.words)
    name = command.name
    if _PYTHON.fullmatch(name):
        module = words[words.index("-m") + 1 :][:1] if "-m" in words else []
        files = [word for word in words[1:] if word.endswith(".py")][:1]
        return module in (["pytest"], ["unittest"], ["nose"], ["tox"]) or any(
            re.search(r"(^|/)(tests?/|test_|runtests)", file) for file in files
        )
    if name in ("npx", "npm", "yarn", "pnpm", "make", "go", "cargo"):
        return any(word in ("test", "jest", "mocha", "vitest", "check") for word in words[1:])
    return name in ("pytest", "py.test", "tox", "nox", "jest", "mocha", "ctest")
