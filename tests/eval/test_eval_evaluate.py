"""The scheduler over honest episodes without sandboxes, and one real evaluation."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from types import TracebackType

import pytest
from synthetic_run import Runs, scored, unscored

from agentgym.errors import RecordError
from agentgym.eval.evaluate import run_all
from agentgym.record.store import EpisodePlan, EpisodeRow, RunStore
from agentgym.records import Step, TokenUsage, Verdict
from agentgym.rollout.run import EpisodeResult


class Heard:
    """A progress that keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.planned = 0

    def __enter__(self) -> Heard:
        self.events.append("enter")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.events.append("exit")

    def plan(self, episodes: Sequence[EpisodeRow]) -> None:
        self.planned = len(episodes)

    def begin(self, episode: EpisodeRow) -> None:
        self.events.append(f"begin {episode.id}")

    def step(self, episode: EpisodeRow, step: Step) -> None:
        self.events.append(f"step {episode.id}.{step.index}")

    def end(self, episode: EpisodeRow, verdict: Verdict, error: str) -> None:
        self.events.append(f"end {episode.id} {verdict.status}")


class Episodes:
    """Plays episodes into the store and counts how many go on at once."""

    def __init__(self, runs: Runs, store: RunStore) -> None:
        self.runs, self.store = runs, store
        self.now = self.most = 0
        self.ran: list[int] = []
        self.failing: set[int] = set()

    async def __call__(self, row: EpisodeRow, on_step: Callable[[Step], None]) -> EpisodeResult:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            verdict = unscored("sandbox") if row.id in self.failing else scored(1.0)
            error = "it died" if row.id in self.failing else ""
            self.runs.play(self.store, row, verdict, error=error)
            on_step(self.store.steps(row.id)[0])
            self.ran.append(row.id)
            return EpisodeResult(verdict, 1, TokenUsage(), 0.0, 0.0, error)
        finally:
            self.now -= 1


@pytest.mark.parametrize("jobs", [1, 3, 50])
async def test_at_most_so_many_jobs_and_each_episode_once(runs: Runs, jobs: int) -> None:
    store = runs.start(trials=4)
    episodes, heard = Episodes(runs, store), Heard()
    await run_all(store.episodes(), episodes, jobs=jobs, progress=heard)
    assert sorted(episodes.ran) == list(range(1, 9))
    assert episodes.most == min(jobs, 8)
    assert heard.planned == 8
    assert heard.events[0] == "enter" and heard.events[-1] == "exit"


async def test_a_failing_episode_stops_nobody(runs: Runs) -> None:
    store = runs.start(trials=2)
    episodes, heard = Episodes(runs, store), Heard()
    episodes.failing = {2}
    await run_all(store.episodes(), episodes, jobs=2, progress=heard)
    statuses = [r.verdict.status for r in store.episodes() if r.verdict]
    assert statuses == ["scored", "error:sandbox", "scored", "scored"]
    assert "end 2 error:sandbox" in heard.events


async def test_what_is_done_and_branches_are_not_run_again(runs: Runs) -> None:
    store = runs.start()
    runs.play(store, store.episode(1), scored(0.0))
    store.add(EpisodePlan("demo/one-v1", 10, 0, "noop"), parent=(1, 1))
    episodes, heard = Episodes(runs, store), Heard()
    await run_all(store.episodes(), episodes, jobs=2, progress=heard)
    assert episodes.ran == [2]
    assert heard.planned == 2


async def test_a_record_that_fails_stops_the_run_with_its_own_error(runs: Runs) -> None:
    store = runs.start(trials=4)
    heard = Heard()

    async def full(row: EpisodeRow, on_step: Callable[[Step], None]) -> EpisodeResult:
        await asyncio.sleep(0)
        raise RecordError("the disk is full")

    with pytest.raises(RecordError, match="the disk is full"):
        await run_all(store.episodes(), full, jobs=3, progress=heard)
    assert heard.events[-1] == "exit"


async def test_a_cancelled_run_leaves_what_is_done(runs: Runs) -> None:
    store = runs.start(trials=4)
    episodes, heard = Episodes(runs, store), Heard()
    started = asyncio.Event()

    async def second_hangs(row: EpisodeRow, on_step: Callable[[Step], None]) -> EpisodeResult:
        if row.id == 2:
            started.set()
            await asyncio.Event().wait()
        return await episodes(row, on_step)

    run = asyncio.create_task(run_all(store.episodes(), second_hangs, jobs=1, progress=heard))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert [row.state for row in store.episodes()][:3] == ["done", "planned", "planned"]
    assert heard.events[-1] == "exit"


async def test_a_cancelled_run_ends_though_an_episode_takes_no_notice(runs: Runs) -> None:
    store = runs.start(trials=4)
    episodes, heard = Episodes(runs, store), Heard()
    started, begun = asyncio.Event(), []

    async def deaf(row: EpisodeRow, on_step: Callable[[Step], None]) -> EpisodeResult:
        begun.append(row.id)
        if row.id == 2:
            started.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        return await episodes(row, on_step)

    run = asyncio.create_task(run_all(store.episodes(), deaf, jobs=1, progress=heard))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert begun == [1, 2]
    assert [row.state for row in store.episodes()][:3] == ["done", "done", "planned"]
