"""Tries many mutants in one sandbox; what it finds is a hint, since nothing watches the code."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from agentgym.errors import SandboxError
from agentgym.protocols import Sandbox, SandboxProvider
from agentgym.records import Recipe, Snapshot
from agentgym.swe.mutation.mutants import Mutant
from agentgym.swe.patch import Patch, overlay
from agentgym.swe.program import trial_program
from agentgym.swe.test_run import ENVIRONMENT, PytestPlan

_PLACE = "/tmp/try.py"
_PYTHON = "/usr/bin/python3"
_START_S = 30.0


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a quick run of the tests.

    Attributes:
        passed: Number of tests that passed before the first that did not.
        failed: Node id of that one; empty if all passed, or if the run ended otherwise.
        whole: Whether pytest ran to its end without a failure.
        timed_out: Whether it took too long.
        duration_s: Its wall time.
    """

    passed: int
    failed: str
    whole: bool
    timed_out: bool
    duration_s: float


class Trials:
    """Quick runs of an issue's tests over its solution and its mutants.

    Args:
        provider: Starts the sandboxes.
        recipe: Their recipe, that of a clean room.
        base: The files before the solution.
        plan: How the tests run.
        gold: The solution, as far as it counts.
    """

    def __init__(
        self,
        provider: SandboxProvider,
        recipe: Recipe,
        base: Snapshot,
        plan: PytestPlan,
        gold: Patch,
    ) -> None:
        self._provider, self._recipe, self._base = provider, recipe, base
        self._plan, self._gold = plan, gold

    async def run(self, mutants: Sequence[Mutant | None], timeout_s: float) -> list[Trial | None]:
        """Run the tests over mutants, in a fresh sandbox.

        Args:
            mutants: The mutants; None stands for the solution itself.
            timeout_s: Longest time of one run.

        Returns:
            What was seen of each; None if the sandbox broke before.
        """
        found: list[Trial | None] = []
        try:
            sandbox = await self._provider.start(self._recipe, self._base)
            try:
                found += await self._tried(sandbox, mutants, timeout_s)
            finally:
                await sandbox.close()
        except SandboxError:
            # A mutant may end its sandbox; each that is left is graded alone.
            pass
        return found + [None] * (len(mutants) - len(found))

    async def _tried(
        self, sandbox: Sandbox, mutants: Sequence[Mutant | None], timeout_s: float
    ) -> list[Trial]:
        plan = self._plan
        whole = overlay(self._gold, plan.gold)
        files = [(each.path, each.after) for each in whole.changes if each.after is not None]
        tries = [("", b"") if one is None else (one.path, one.after) for one in mutants]
        env = {**ENVIRONMENT, "PYTHONSAFEPATH": "", **plan.env}
        order = {
            "root": plan.root,
            "remove": list(whole.paths),
            "files": [(path, int(one.git_mode, 8), len(one.data)) for path, one in files],
            "tries": [(path, len(data)) for path, data in tries],
            "targets": list(plan.targets),
            "config_name": plan.config_name,
            "config": plan.config,
            "python_path": [
                posixpath.join(plan.root, path).rstrip("/") for path in plan.python_path
            ],
            "plugins": list(plan.plugins),
            "env": env,
            "timeout_s": timeout_s,
        }
        contents = (*(one.data for _, one in files), *(data for _, data in tries))
        await sandbox.write_file(_PLACE, trial_program())
        done = await sandbox.exec(
            [_PYTHON, "-sP", _PLACE],
            cwd="/",
            env=env,
            stdin=b"".join((json.dumps(order).encode(), b"\n", *contents)),
            timeout_s=_START_S + (timeout_s + 1) * len(tries),
        )
        return _read(done.stdout)


def _read(said: bytes) -> list[Trial]:
    found = []
    for line in said.splitlines():
        try:
            seen = json.loads(line)
            found.append(
                Trial(
                    passed=int(seen["passed"]),
                    failed=str(seen["failed"]),
                    whole=seen["code"] == 0 and not seen["failed"],
                    timed_out=bool(seen["timed_out"]),
                    duration_s=float(seen["s"]),
                )
            )
        except (ValueError, KeyError, TypeError):
            break
    return found
