"""Attacks as data: each one's attempts, the mechanism that should stop it, and its outcome.

An attack is either a program that runs inside (see `probing.py`) or a coroutine function that plays
both sides. It consists of attempts, and it is blocked if no attempt succeeded.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from agentgym.protocols import Sandbox, SandboxProvider
from agentgym.records import ExecResult, Recipe
from agentgym.testing.attacks import probing
from agentgym.testing.attacks.probing import DONE, Program

_FOLDER = "/tmp/attack"
_PACKAGE = "agentgym/testing/attacks"
_KILLED = 128 + 9
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); import importlib;"
    "module = importlib.import_module(sys.argv[2]);"
    "getattr(module, sys.argv[3])(*sys.argv[4:]); print('end')"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an attack.

    Attributes:
        attempts: Outcome by attempt: ``done``, the errno of the refusal, or what stopped it in a
            few words.
    """

    attempts: Mapping[str, str] = field(default_factory=dict)

    @property
    def blocked(self) -> bool:
        """Whether at least one attempt was made and no attempt succeeded."""
        return bool(self.attempts) and DONE not in self.attempts.values()

    @property
    def how(self) -> str:
        """Every attempt with its outcome, in one line."""
        return ", ".join(f"{name}: {how}" for name, how in self.attempts.items())


Assault: TypeAlias = Callable[[SandboxProvider, Recipe], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack by a hostile guest.

    Attributes:
        name: Unique name.
        family: Group of attacks with the same target.
        tries: Summary of the attempts, in one line.
        stopped_by: The mechanism that should stop it.
        run: Runs it against a provider's sandboxes.
        program: The attack for a single sandbox, if it is a program that runs inside.
    """

    name: str
    family: str
    tries: str
    stopped_by: str
    run: Assault
    program: Program | None = None


ATTACKS: list[Attack] = []


def attack(stopped_by: str) -> Callable[[Assault], Assault]:
    """Register a coroutine function as an attack; its docstring's first line is its summary."""

    def register(function: Assault) -> Assault:
        ATTACKS.append(_describe(function, stopped_by, function))
        return function

    return register


def take_programs() -> None:
    """Register as attacks the programs that were defined since the last call."""
    for program in probing.PROGRAMS:
        ATTACKS.append(_describe(program.run, program.stopped_by, _assault(program), program))
    probing.PROGRAMS.clear()


def _describe(
    function: Callable[..., object], stopped_by: str, run: Assault, program: Program | None = None
) -> Attack:
    family = function.__module__.rpartition(".")[2].replace("_", " ")
    tries = (inspect.getdoc(function) or "").partition("\n")[0].rstrip(".")
    return Attack(function.__name__, family, tries, stopped_by, run, program)


def _assault(program: Program) -> Assault:
    async def run(provider: SandboxProvider, recipe: Recipe) -> Outcome:
        box = await provider.start(recipe)
        try:
            return await run_inside(box, program.run)
        finally:
            await box.close()

    return run


async def run_inside(
    box: Sandbox, program: Callable[..., None], *arguments: str, timeout_s: float = 60.0
) -> Outcome:
    """Run an attack program in a sandbox.

    If the program is killed, its last attempt counts as ``killed``.

    Raises:
        AssertionError: The program did not run to its end, so it proves nothing.
    """
    for path, data in sources(program).items():
        await box.write_file(path, data)
    result = await box.exec(command(program, *arguments), timeout_s=timeout_s)
    return outcome_of(program, result)


def sources(program: Callable[..., None]) -> dict[str, bytes]:
    """Return the files that a guest needs to run an attack program."""
    files = (Path(probing.__file__), Path(inspect.getfile(program)))
    return {f"{_FOLDER}/{_PACKAGE}/{file.name}": file.read_bytes() for file in files}


def command(program: Callable[..., None], *arguments: str, folder: str = _FOLDER) -> list[str]:
    """Return the command that runs an attack program from its source folder."""
    name = (program.__module__, program.__name__)
    return ["python3", "-I", "-S", "-B", "-c", _START, folder, *name, *arguments]


def outcome_of(program: Callable[..., None], result: ExecResult) -> Outcome:
    """Read the output of an attack program."""
    *lines, end = result.stdout.decode("utf-8", "replace").splitlines() or [""]
    attempts = dict(line.split("\t", 1) for line in lines if "\t" in line)
    broken = [how for how in attempts.values() if how.startswith("broken")]
    if result.exit_code == _KILLED and not broken:
        return Outcome({**attempts, "the program": "killed"})
    said = "; ".join(broken) or result.stderr.decode("utf-8", "replace")[-1000:]
    assert end == "end" and not broken, f"{program.__name__}: {result.exit_code}: {said}"
    return Outcome(attempts)


def table() -> str:
    """Return every attack with its summary and the mechanism that should stop it, in Markdown."""
    rows = [f"| `{a.name}` | {a.tries} | {a.stopped_by} |" for a in ATTACKS]
    return "\n".join(["| attack | tries to | is stopped by |", "|---|---|---|", *rows])
