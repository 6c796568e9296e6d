"""Calibration: how often each check of a pack is wrong about cases whose verdict is known.

A false positive is a pass that should have been a fail. Rates come with Wilson's score interval
(1927), because a dozen cases without a mistake do not prove a check infallible.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agentgym.errors import VerifierError
from agentgym.protocols import Judge, Room, SandboxProvider
from agentgym.records import CheckResult, CheckStatus, Json, Recipe
from agentgym.scratch import scratch_folder
from agentgym.task.model import Instance, Task, TaskManifest
from agentgym.threads import to_thread
from agentgym.verify.calibration.cases import Case, load_cases
from agentgym.verify.checking import bind_checks
from agentgym.verify.evidence import CHANNELS
from agentgym.verify.judge.agreement import Agreement, agreement
from agentgym.verify.judge.judged_checks import asks_judge
from agentgym.verify.memory_evidence import File
from agentgym.verify.room import CleanRooms
from agentgym.verify.rubric.dry_run import dry_run
from agentgym.verify.rubric.packs import Pack, find_check

_Z = 1.959963984540054
_COMMANDS_S = 60.0
TASK = TaskManifest(
    schema_version="agentgym.task/1",
    id="test/calibration-v1",
    title="A calibration case",
    difficulty="easy",
    env="terminal",
)


@dataclass(frozen=True)
class Outcome:
    """The result of a check on one calibration case."""

    case: Case
    result: CheckResult

    @property
    def agrees(self) -> bool:
        """Whether the check is right."""
        return self.result.status.value == self.case.expect

    @property
    def surprising(self) -> bool:
        """Whether the check is wrong, or is right although the case declares a known limit."""
        return self.agrees is bool(self.case.limit) or self.result.status is CheckStatus.ERROR


@dataclass(frozen=True, slots=True)
class Rate:
    """The number of mistakes among some cases."""

    wrong: int
    cases: int

    @property
    def ci95(self) -> tuple[float, float] | None:
        """Wilson's 95% interval; None without cases."""
        return wilson(self.wrong, self.cases) if self.cases else None

    def to_json(self) -> dict[str, Json]:
        """Return counts, rate and interval."""
        rate = self.wrong / self.cases if self.cases else None
        ci95 = list(self.ci95) if self.ci95 else None
        return {"wrong": self.wrong, "cases": self.cases, "rate": rate, "ci95": ci95}


@dataclass(frozen=True, slots=True)
class Tally:
    """The calibration result of one check.

    Attributes:
        limits: Reasons why the check is known to be wrong in some cases, in the order of the cases.
        channels: Parts of the evidence that the check looked at in any of the cases.
    """

    use: str
    version: str
    false_positives: Rate
    false_negatives: Rate
    limits: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the result as a JSON object, with its published field names."""
        return {
            "check": self.use,
            "pack_version": self.version,
            "false_positives": self.false_positives.to_json(),
            "false_negatives": self.false_negatives.to_json(),
            "limits": self.limits,
            "channels": self.channels,
        }


def wilson(wrong: int, cases: int) -> tuple[float, float]:
    """Return the 95% score interval of a proportion.

    Raises:
        ValueError: Unless ``0 <= wrong <= cases`` and there is a case.
    """
    if not 0 <= wrong <= cases or not cases:
        raise ValueError(f"needs 0 <= wrong <= cases and a case, got {wrong} of {cases}")
    share, square = wrong / cases, _Z * _Z / cases
    middle = (share + square / 2) / (1 + square)
    reach = _Z / (1 + square) * math.sqrt(share * (1 - share) / cases + square / cases / 4)
    low = 0.0 if wrong == 0 else middle - reach
    return low, 1.0 if wrong == cases else middle + reach


async def calibrate(
    folder: Path, provider: SandboxProvider, recipe: Recipe, judge: Judge | None = None
) -> tuple[Pack, list[Outcome]]:
    """Judge the calibration cases of a pack as grading would.

    Args:
        folder: Folder of the pack.
        provider: Starts clean rooms for the checks that ask for one.
        recipe: Recipe of the clean rooms.
        judge: Answers the checks that ask a judge; without a judge their cases are skipped.

    Raises:
        VerifierError: The pack or its cases cannot be read, or a case cannot be bound.
        SandboxError: A sandbox cannot be started.
    """
    pack, cases = load_cases(folder)
    left_out = judge_needed(pack) if judge is None else []
    found = [case for case in cases if case.use not in left_out]
    return pack, [Outcome(case, await _judge(case, provider, recipe, judge)) for case in found]


def judge_needed(pack: Pack) -> list[str]:
    """Return the sorted names of the checks of a pack that ask a judge."""
    return [f"{pack.name}.{name}" for name, c in sorted(pack.checks.items()) if asks_judge(c)]


def judge_agreement(outcomes: Iterable[Outcome]) -> Agreement:
    """Compare the expected verdicts with the given ones; errors are left out."""
    decided = [o for o in outcomes if o.result.status is not CheckStatus.ERROR]
    return agreement([(o.case.expect, o.result.status.value) for o in decided])


def tally(pack: Pack, outcomes: Iterable[Outcome]) -> list[Tally]:
    """Count the mistakes of every check of a pack, sorted by name."""
    found = list(outcomes)
    rates = []
    for name in sorted(pack.checks):
        use = f"{pack.name}.{name}"
        right = {
            expect: [o.agrees for o in found if (o.case.use, o.case.expect) == (use, expect)]
            for expect in ("pass", "fail")
        }
        positives, negatives = (
            Rate(r.count(False), len(r)) for r in (right["fail"], right["pass"])
        )
        limits = tuple(o.case.limit for o in found if o.case.use == use and o.case.limit)
        seen = {channel for o in found if o.case.use == use for channel in o.result.channels}
        channels = tuple(c for c in dict.fromkeys(CHANNELS.values()) if c in seen)
        rates.append(Tally(use, pack.version, positives, negatives, limits, channels))
    return rates


async def _judge(
    case: Case, provider: SandboxProvider, recipe: Recipe, judge: Judge | None
) -> CheckResult:
    with scratch_folder("calibration") as name:
        folder = Path(name) / "checks"
        folder.mkdir()
        folder.joinpath("rubric.toml").write_text(rubric_of(case), encoding="utf-8")
        dry_run(case.use, find_check(case.use, folder), case.arguments)
        task = Task(TASK.id, folder.parent, TASK, "")
        _, checks = bind_checks(Instance(task, 0, {}, ""))
    async with _rooms(case, provider, recipe) as open_room:
        seen = dataclasses.replace(case.evidence, open_room=open_room, judge_with=judge)
        return await to_thread(checks["case"], seen)


@asynccontextmanager
async def _rooms(case: Case, provider: SandboxProvider, recipe: Recipe) -> AsyncIterator[_Opener]:
    opener = _Opener(case, provider, recipe)
    try:
        yield opener
    finally:
        if opener.rooms is not None:
            await opener.rooms.close()


class _Opener:
    """Opens the clean rooms of a case; no sandbox is started for a case that needs none."""

    def __init__(self, case: Case, provider: SandboxProvider, recipe: Recipe) -> None:
        self._case, self._provider, self._recipe = case, provider, recipe
        self._loop = asyncio.get_running_loop()
        self.rooms: CleanRooms | None = None

    def __call__(self, artifacts: tuple[str, ...], shared: bool) -> Room:
        if self.rooms is None:
            started = asyncio.run_coroutine_threadsafe(self._start(), self._loop)
            self.rooms = started.result()
        return self.rooms.open(artifacts, shared)

    async def _start(self) -> CleanRooms:
        sandbox = await self._provider.start(self._recipe)
        try:
            for path, entry in self._case.before.items():
                if not isinstance(entry, File):
                    raise VerifierError(f"case {self._case.name!r}: {path} is not a plain file")
                await sandbox.write_file(path, entry.data, mode=entry.mode)
            pristine = await sandbox.seal()
        finally:
            await sandbox.close()
        after = self._case.evidence.after
        return CleanRooms(self._provider, self._recipe, pristine, after, commands_s=_COMMANDS_S)


def rubric_of(case: Case) -> str:
    """Return a rubric whose only checkpoint is the check of a case."""
    lines = [
        'schema_version = "agentgym.rubric/1"',
        "[[checkpoint]]",
        'id = "case"',
        f"use = {_toml(case.use)}",
        f"with = {_toml(case.arguments)}",
    ]
    return "\n".join(lines) + "\n"


def _toml(value: Json) -> str:
    """Return a value that was read from TOML as TOML text."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    assert value is not None
    return f"{{{', '.join(f'{_toml(key)} = {_toml(inner)}' for key, inner in value.items())}}}"
