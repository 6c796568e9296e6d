"""Dockerfiles as text: instructions with their lines, words with quotes and ``$variables``.

The grammar is that of Docker's reference, "Dockerfile reference": continuation lines, comments,
flags, exec and shell form, heredocs. `instructions.py` defines what an instruction means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_FLAG = re.compile(r"--([a-z]+)(?:=(\S*))?(?:\s+|$)")
# It must begin a word: << has another meaning in quotes and in arithmetic.
_HEREDOC = re.compile(r"""\d*<<(-?)(["']?)([A-Za-z_][A-Za-z0-9_]*)\2""")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:[-+])([^{}]*))?\})")
_WITH_HEREDOC = ("RUN", "COPY", "ADD")


MOST_INSTRUCTIONS = 1_000
_MOST_CHARACTERS = 128 * 2**10
"""Largest value of a variable, as the kernel takes it (MAX_ARG_STRLEN of execve(2))."""


class DockerfileError(ValueError):
    """An invalid line. Attributes: `line`, from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


@dataclass(frozen=True, slots=True)
class Heredoc:
    """The text between ``<<NAME`` and ``NAME``; `quoted`: its variables are not expanded."""

    name: str
    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its name in capitals, its flags, the unparsed rest, its heredocs."""

    line: int
    name: str
    flags: Mapping[str, str]
    rest: str
    heredocs: tuple[Heredoc, ...] = ()

    @property
    def exec_form(self) -> tuple[str, ...] | None:
        """The words of ``["a", "b"]``; None if the instruction has the shell form."""
        try:
            words = json.loads(self.rest)
        except (ValueError, RecursionError):
            return None
        is_words = isinstance(words, list) and all(isinstance(word, str) for word in words)
        return tuple(words) if is_words else None


def parse(text: str) -> list[Instruction]:
    """Return the instructions of a Dockerfile.

    Raises:
        DockerfileError: A line is invalid.
    """
    found: list[Instruction] = []
    lines = iter(enumerate(text.replace("\r\n", "\n").split("\n"), 1))
    for number, line in lines:
        if re.fullmatch(r"#\s*escape\s*=\s*[^\\\s]\s*", line) and not found:
            raise DockerfileError(number, "an escape character other than \\ is not supported")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, rest = _logical(number, line, lines)
        flags, rest = _flags(rest) if name != "ENV" else ({}, rest)
        heredocs = tuple(_heredocs(number, rest, lines)) if name in _WITH_HEREDOC else ()
        found.append(Instruction(number, name, flags, rest, heredocs))
        if len(found) > MOST_INSTRUCTIONS:
            raise DockerfileError(number, f"more than {MOST_INSTRUCTIONS} instructions")
    return found


def _logical(number: int, line: str, lines: Iterator[tuple[int, str]]) -> tuple[str, str]:
    """Join an instruction's lines; return its name and the rest."""
    joined = ""
    while True:
        stripped = line.rstrip()
        if not stripped.endswith("\\"):
            break
        joined += stripped[:-1]
        # Comments and empty lines between continued lines are not part of the instruction.
        _, line = next(((n, t) for n, t in lines if not _is_blank(t)), (0, ""))
    joined = (joined + line).strip()
    name, _, rest = joined.partition(" ") if " " in joined else joined.partition("\t")
    if not re.fullmatch("[A-Za-z]+", name):
        raise DockerfileError(number, f"expected an instruction such as RUN, got {name[:40]!r}")
    return name.upper(), rest.strip()


def _is_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _flags(rest: str) -> tuple[dict[str, str], str]:
    flags: dict[str, str] = {}
    at = 0
    while found := _FLAG.match(rest, at):
        flags[found[1]] = found[2] or ""
        at = found.end()
    return flags, rest[at:]


def _heredoc(word: str) -> tuple[str, str, str] | None:
    found = _HEREDOC.fullmatch(word)
    return found and (found[1], found[2], found[3])


def _heredocs(number: int, rest: str, lines: Iterator[tuple[int, str]]) -> Iterator[Heredoc]:
    try:
        found = [heredoc for word in words(rest) if (heredoc := _heredoc(word)) is not None]
    except ValueError:
        # The shell or the reader of the instruction reports an open quote.
        return
    for dash, quote, name in found:
        body = []
        for _, line in lines:
            shown = line.lstrip("\t") if dash else line
            if shown == name:
                break
            body.append(f"{shown}\n")
        else:
            raise DockerfileError(number, f"the text that begins with <<{name} has no end")
        yield Heredoc(name, "".join(body), bool(quote))


def words(text: str) -> list[str]:
    """Split at white space outside quotes; keep quotes and escapes for `expand`.

    Raises:
        ValueError: A quote is not closed.
    """
    found: list[str] = []
    word, quote = "", ""
    characters = iter(text)
    for character in characters:
        if character == "\\" and quote != "'":
            word += character + next(characters, "")
        elif character.isspace() and not quote:
            found.append(word)
            word = ""
        else:
            if character == quote:
                quote = ""
            elif character in "\"'" and not quote:
                quote = character
            word += character
    if quote:
        raise ValueError(f"a {quote} is not closed in: {text[:60]}")
    return [word for word in [*found, word] if word]


def expand(word: str, variables: Mapping[str, str]) -> str:
    """Return a word with expanded variables and without quotes and escapes.

    Unknown variables are empty. ``${name:-other}`` and ``${name:+other}`` are supported.

    Raises:
        ValueError: A ``$`` begins an expression that is not supported, or the word becomes longer
            than any variable may be.
    """
    result, quote, at = "", "", 0
    while at < len(word):
        character = word[at]
        if character == "\\" and quote != "'" and at + 1 < len(word):
            following = word[at + 1]
            # Within quotes a backslash escapes only these characters.
            result += following if not quote or following in '"\\$' else character + following
            at += 2
        elif character == "$" and quote != "'":
            value, at = _substitute(word, at, variables)
            result += value
            if len(result) > _MOST_CHARACTERS:
                raise ValueError(f"{word[:40]!r} becomes longer than {_MOST_CHARACTERS} characters")
        else:
            if character == quote:
                quote = ""
            elif character in "\"'" and not quote:
                quote = character
            else:
                result += character
            at += 1
    return result


def _substitute(word: str, at: int, variables: Mapping[str, str]) -> tuple[str, int]:
    found = _VARIABLE.match(word, at)
    if found is None:
        if word.startswith("${", at):
            raise ValueError(f"cannot put a value in place of {word[at : at + 40]!r}")
        return "$", at + 1
    value = variables.get(found[1] or found[2], "")
    if found[3] == ":-" and not value:
        value = expand(found[4], variables)
    elif found[3] == ":+":
        value = expand(found[4], variables) if value else ""
    return value, found.end()
