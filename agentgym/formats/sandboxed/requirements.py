"""Read from a test script the packages of PyPI and Debian that it installs.

The packages are prepared when the task is built. Only the plain commands that such scripts consist
of are understood; computed commands are found only when the script runs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentgym.formats.sandboxed.rules import SandboxRules
from agentgym.formats.sandboxed.task_file import read_task_file

_PLUGIN = "pytest-json-ctrf"
"""The package that agentgym's own plug-in replaces."""
_DEFAULT = "pytest"
_JOINTS = frozenset(("&&", "||", ";", "|", "&"))
# Options of uv and pip that take a value.
_VALUED = frozenset(
    ("-p", "--python", "-w", "--with", "--index", "--index-url", "-i", "--extra-index-url")
    + ("--index-strategy", "--default-index", "--find-links", "-f", "--from", "-t", "--target")
)


@dataclass(frozen=True, slots=True)
class ScriptRequirements:
    """The packages that test scripts install.

    Attributes:
        pip: Requirements as they are written, sorted; at least a pytest.
        apt: Debian packages, sorted.
        own_python: Whether they install into the Python of the image and test its packages.
        python: The requested version of Python; empty if none is requested.
    """

    pip: tuple[str, ...]
    apt: tuple[str, ...] = ()
    own_python: bool = False
    python: str = ""


def requirements_of(rules: SandboxRules) -> ScriptRequirements:
    """Return the requirements of a task's test scripts."""
    texts = []
    for stage in rules.stages:
        files = [script for folder in stage.tests for script in sorted(folder.glob("*.sh"))]
        files += [stage.script_file] if stage.script_file is not None else []
        found = (read_task_file(path) for path in files if path.is_file())
        texts += [data.decode("utf-8", "replace") for data in found]
    return read_requirements(texts)


def read_requirements(scripts: Iterable[str]) -> ScriptRequirements:
    """Return the requirements of all scripts together."""
    pip: set[str] = set()
    apt: set[str] = set()
    own_python, python = False, ""
    for words in (command for text in scripts for command in _commands(text)):
        match _bare(words):
            case ["uvx" | "uv", *_] as bare:
                rest = bare[1:]
                pip |= set(_values(rest, ("-w", "--with", "--from")))
                python = next(iter(_values(rest, ("-p", "--python"))), python)
                if rest[:1] == ["add"]:
                    pip |= set(_arguments(rest[1:]))
                elif rest[:2] == ["pip", "install"]:
                    pip |= set(_arguments(rest[2:]))
            case ["pip" | "pip3", "install", *rest]:
                pip |= set(_arguments(rest))
                own_python = True
            case ["python" | "python3", "-m", "pip", "install", *rest]:
                pip |= set(_arguments(rest))
                own_python = True
            case ["apt-get" | "apt", *rest] if "install" in rest:
                apt |= set(_arguments(rest[rest.index("install") + 1 :]))
    pip = {each for each in pip if not each.startswith(_PLUGIN)}
    if not any(re.match(r"pytest([^A-Za-z0-9_-]|$)", each) for each in pip):
        pip.add(_DEFAULT)
    return ScriptRequirements(tuple(sorted(pip)), tuple(sorted(apt)), own_python, python)


def _commands(text: str) -> Iterable[list[str]]:
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            # An open quote: a text over several lines, which installs nothing.
            continue
        command: list[str] = []
        for word in [*words, ";"]:
            if word in _JOINTS:
                if command:
                    yield command
                command = []
            else:
                command.append(word)


def _bare(words: Sequence[str]) -> list[str]:
    """Return a command without the variables set for it and without `sudo`."""
    rest = list(words)
    while rest and (re.match(r"[A-Za-z_]\w*=", rest[0]) or rest[0] in ("sudo", "then", "if", "!")):
        del rest[0]
    return rest


def _values(words: Sequence[str], options: Sequence[str]) -> list[str]:
    found = []
    for index, word in enumerate(words):
        name, has_value, value = word.partition("=")
        if word in options and index + 1 < len(words):
            found.append(words[index + 1])
        elif has_value and name in options and name.startswith("--"):
            found.append(value)
    return found


def _arguments(words: Sequence[str]) -> list[str]:
    """Return the words that are neither options nor values of options."""
    found = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in _VALUED
        else:
            found.append(word)
    return found
