"""Runs in a real store whose episodes are played without a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentgym.eval.settings import Settings
from agentgym.record.store import EpisodeRow, RunStore
from agentgym.records import (
    Action,
    CheckpointResult,
    CheckStatus,
    Decision,
    Json,
    Observation,
    Phase,
    Step,
    StepEvent,
    TokenUsage,
    Verdict,
)


def scored(score: float, *, outcome: bool | None = None) -> Verdict:
    passed = score == 1 if outcome is None else outcome
    status = CheckStatus.PASS if passed else CheckStatus.FAIL
    node = CheckpointResult("report", Phase.OUTCOME, status, score, 1.0, "line 1 is right")
    return Verdict("scored", passed, score, checkpoints=(node,), state_hash="00")


def telling(score: float) -> Verdict:
    """Return a verdict with something in each of its fields."""
    nodes = (
        CheckpointResult(
            *("early", Phase.PROCESS, CheckStatus.PASS, 1.0, 1.0),
            step=2,
            channels=("trace", "state"),
        ),
        CheckpointResult(
            "down",
            Phase.OUTCOME,
            CheckStatus.FAIL,
            0.0,
            1.0,
            controllable=False,
            channels=("room",),
        ),
        CheckpointResult("extra", Phase.OUTCOME, CheckStatus.FAIL, 0.5, 1.0, bonus=True, step=-1),
    )
    return Verdict(
        *("scored", score == 1, score, 1.0, (), nodes, "00", 0.5, ("down",), "0123456789ab")
    )


def unscored(boundary: str) -> Verdict:
    return Verdict(f"error:{boundary}", False, 0.0)


class Runs:
    """Makes runs and plays episodes into them without a sandbox."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: list[RunStore] = []

    def start(
        self,
        tasks: Sequence[str] = ("demo/one-v1", "demo/two-v1"),
        agents: Sequence[str] = ("noop",),
        trials: int = 1,
        **more: Any,
    ) -> RunStore:
        settings = Settings(
            *(tuple(tasks), tuple(agents), trials),
            seed=10,
            jobs=1,
            agentgym="0.1.0",
            started="2026-01-02T03:04:05+00:00",
            **more,
        )
        store = RunStore.create(self.folder, asdict(settings), settings.episodes())
        self._open.append(store)
        return store

    def play(
        self,
        store: RunStore,
        row: EpisodeRow,
        verdict: Verdict | None,
        *,
        output: str = "hello\n",
        command: str = "echo hello",
        error: str = "",
        events: tuple[StepEvent, ...] = (),
        more: Mapping[str, Json] = MappingProxyType({}),
        steps: int = 1,
        instruction: str = "Say hello.",
    ) -> None:
        recorder = store.begin(
            row.id,
            params={},
            instruction=instruction,
            sandbox="bubblewrap",
            reset_s=0.03,
            first=Observation(instruction),
        )
        decision = Decision(
            Action("bash", {"command": command, **more}),
            thought="I greet.",
            usage=TokenUsage(100, 10),
        )
        seen = Observation(output, data={"exit_code": 0})
        for index in range(steps):
            recorder.step(Step(index, decision, seen, 0.01, events if index == 0 else ()))
        if verdict is not None:
            recorder.finish(verdict, duration_s=1.5, error=error)

    def close(self) -> None:
        for store in self._open:
            store.close()
