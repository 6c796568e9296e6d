"""Reads a text of bash as simple commands, without expansion and without executing anything.

It follows the Shell Command Language of POSIX as far as agents use it: lists, pipelines, quotes,
redirections and here-documents. Text with quotes that are not closed holds no command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_LONGEST: Final = 20_000
"""Characters that are read of a text, here-documents not counted."""
_HEREDOC: Final = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|(\\?)([\w.]+))")
_DESCRIPTOR: Final = re.compile(r"(?<=[ \t])\d(?=[<>])")
_COMMENT: Final = re.compile(r"^[ \t]*#.*$", re.M)
_MARK: Final = "\uf8ff"
_REFERENCE: Final = re.compile(rf"{_MARK}([0-9]{{1,9}})")
_PUNCTUATION: Final = ";&|()<>\n"
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_PREFIXES: Final = frozenset(
    {"sudo", "env", "time", "nice", "then", "do", "else", "if", "while", "!"}
)


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command.

    Attributes:
        words: Name and arguments, quotes removed, without assignments before them.
        stdin: Text of its here-document, None if it has none.
        expands: Whether the shell expands that text.
        writes: Files to which its output is redirected; of each, whether it is appended to.
    """

    words: tuple[str, ...]
    stdin: str | None = None
    expands: bool = False
    writes: tuple[tuple[str, bool], ...] = ()

    @property
    def name(self) -> str:
        """The name without folders."""
        return self.words[0].rpartition("/")[2] if self.words else ""


def read_commands(text: str) -> list[Command]:
    """Return the simple commands of a text in their order; none if it cannot be read."""
    plain, documents = _take_documents(text)
    plain = _DESCRIPTOR.sub("", _COMMENT.sub("", plain[:_LONGEST]))
    lexer = shlex.shlex(plain, posix=True, punctuation_chars=_PUNCTUATION)
    lexer.whitespace, lexer.commenters = " \t\r", ""
    lexer.whitespace_split = True
    try:
        tokens = list(lexer)
    except ValueError:
        return []
    found: list[Command] = []
    part: list[str] = []
    for token in [*tokens, "\n"]:
        if token and set(token) <= set(";&|()\n"):
            if part:
                found.append(_command(part, documents))
            part = []
        else:
            part.append(token)
    return [command for command in found if command.words or command.writes]


def _take_documents(text: str) -> tuple[str, list[tuple[str, bool]]]:
    """Return the text without its here-documents, a mark in place of each, and the documents."""
    kept: list[str] = []
    documents: list[tuple[str, bool]] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line, at = lines[at], at + 1
        found = [] if "<<<" in line else list(_HEREDOC.finditer(line))
        for match in found:
            dash, single, double, escape, bare = match.groups()
            end, body = single or double or bare, []
            while at < len(lines) and (lines[at].lstrip("\t") if dash else lines[at]) != end:
                body.append(lines[at] + "\n")
                at += 1
            at += 1
            documents.append(("".join(body), bool(bare) and not escape))
        for number, match in reversed([*enumerate(found, len(documents) - len(found))]):
            line = f"{line[: match.start()]} {_MARK}{number} {line[match.end() :]}"
        kept.append(line)
    return "\n".join(kept), documents


def _command(tokens: Sequence[str], documents: Sequence[tuple[str, bool]]) -> Command:
    words: list[str] = []
    writes: list[tuple[str, bool]] = []
    stdin, expands = None, False
    rest = iter(tokens)
    for token in rest:
        if (found := _REFERENCE.fullmatch(token)) and int(found[1]) < len(documents):
            stdin, expands = documents[int(found[1])]
        elif token in (">", ">>", ">|", "&>", "&>>"):
            writes.append((next(rest, ""), token.endswith(">>")))
        elif set(token) <= set("<>&"):
            next(rest, "")
        elif words or not (_ASSIGNMENT.match(token) or token in _PREFIXES):
            words.append(token)
    return Command(tuple(words), stdin, expands, tuple(pair for pair in writes if pair[0]))
