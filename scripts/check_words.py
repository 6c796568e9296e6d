"""Find sentences that read badly: `python scripts/check_words.py [PATH ...]`.

Docstrings, comments and pages are short declarative sentences with a subject and an active verb.
Instructions of tasks, the documents they come with and the titles of tasks and checkpoints read as
a colleague writes. This check finds constructions that are known to creep in. It prints one line
for each, as ``path:line: text``, and exits with 1 if there is any.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOOKED_AT = ("agentgym", "docs", "envs", "scripts", "tasks", "verifiers", "README.md")

OPENING = re.compile(r"(?:What|Who|Whom|Whose|How|Where|Which)\b")
"""A docstring that opens so has no verb."""

ADVICE = {
    r"\b[Nn]one where\b|\b[Nn]one if there (?:is|are)\b": "say what is returned if it is missing",
    r"\bwhere there (?:is|are) (?:none|nothing|no)\b": "use 'if' and name the thing",
    r"\b(?:is|are|was|were) none\b": "say what is wrong, or name what is missing",
    r"\b[Nn]obody\b": "name who does not",
    r"\b[Ww]hat is none\b": "name what is meant",
    r"\b[Ww]ho(?:m|so)?ever\b": "name who it is",
}
_ADVICE = [(re.compile(pattern), advice) for pattern, advice in ADVICE.items()]

TASK_ADVICE = {
    r"\b[Nn]one where\b|\bthere is none\b|\b(?:is|are) none\b(?! of)": "name what is missing",
    r"\bWhat (?:nobody|somebody|others|I have|has|is no|is not)\b": "name the thing",
    r"\bstands? (?:on|in|below|above|beside|next to) (?:it\b|that\b|the (?!way\b))": "use 'is'",
    r"\b(?:one|line|entry|file|mail) a (?:line|file|mail)\b": "write 'one per line'",
    r"\bcan(?:not)? be had\b|\bto be had\b": "say who gets or finds it",
    r"\b(?:is|are) nobody's\b|\bnone of (?:\w+ )*\w*'?s? business\b": "say who may do it",
    r"\bnothing (?:that|which) is not so\b": "use 'nothing false'",
    r"\bo'clock that\b|\btoday still\b|\bwhen it burns\b": "use the English idiom",
}
"""The rules for texts of tasks, which are letters and notes and not documentation."""
_TASK_ADVICE = [(re.compile(pattern), advice) for pattern, advice in TASK_ADVICE.items()]
_TITLE = re.compile(r"\s*title = ")


def faults(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and advice for every bad sentence of a file."""
    text = path.read_text(encoding="utf-8")
    rules, prose = _ADVICE, enumerate(text.splitlines(), 1)
    if path.is_relative_to(ROOT / "tasks"):
        rules = _TASK_ADVICE
        if path.suffix == ".py":
            # The texts in setups are read by people and follow the voice of the person who writes.
            yield from _openings(text)
            return
        if path.suffix == ".toml":
            prose = ((line, said) for line, said in prose if _TITLE.match(said))
    elif path.suffix == ".py":
        yield from _openings(text)
        # Finding the comments of a file takes long, and few files hold any of the constructions.
        prose = _prose(text) if any(pattern.search(text) for pattern, _ in rules) else ()
    for line, sentence in prose:
        for pattern, advice in rules:
            if found := pattern.search(sentence):
                shown = sentence[max(0, found.start() - 30) : found.end() + 30].strip()
                yield line, f"{advice}: {shown!r}"


def _openings(text: str) -> Iterator[tuple[int, str]]:
    for statement in _statements(ast.parse(text)):
        match statement:
            case ast.Expr(value=ast.Constant(value=str(said))) if OPENING.match(said.strip()):
                yield statement.lineno, f"it opens with a bare question word: {said.strip()[:60]!r}"


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements below a node, without a look at their expressions."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, field, ()):
            yield child
            yield from _statements(child)


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of docstrings and comments."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and token.string.lstrip("rR").startswith('"""')
        ):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


def main(arguments: list[str]) -> int:
    """Look at the files, print what is found and return the exit code."""
    tops = [Path(argument).resolve() for argument in arguments] or [ROOT / top for top in LOOKED_AT]
    files = [file for top in tops for file in ([top] if top.is_file() else sorted(top.rglob("*")))]
    count = 0
    for file in files:
        name = str(file.relative_to(ROOT)) if file.is_relative_to(ROOT) else str(file)
        wanted = (".md", ".py", ".toml") if name.startswith("tasks/") else (".md", ".py")
        if file.suffix not in wanted or not file.is_file() or "__pycache__" in name:
            continue
        for line, advice in faults(file):
            count += 1
            print(f"{name}:{line}: {advice}")
    if count:
        print(f"{count} sentences to rewrite")
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
