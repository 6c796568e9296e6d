"""The cost of an episode, and the needs of many live episodes."""

from __future__ import annotations

import pytest

from agentgym.bench.cost import FamilyCost, FamilyCosts, measure_tasks


def test_live_episodes_need_the_processor_time_of_those_that_end() -> None:
    cost = FamilyCost("tools", 1, episode_ms=100, step_ms=10, live_mb=2, record_kb=50)

    # An episode of 20 steps thinks for 20 s and computes for 0.3 s.
    assert cost.cores(203, steps=20, think_s=1) == pytest.approx(203 * 0.3 / 20.3)
    assert cost.cores(203, steps=20, think_s=10) < cost.cores(203, steps=20, think_s=1)
    assert cost.record_gb_per_hour(20, steps=20, think_s=1) == pytest.approx(3600 * 50 / 1e6)
    assert FamilyCosts([cost]).flat()["tools.live_mb"] == 2


@pytest.mark.full
async def test_the_episodes_of_a_task_are_measured() -> None:
    cost = await measure_tasks("tools", ["tools/contact-entered-twice-v1"], live=2)

    assert (cost.suite, cost.tasks) == ("tools", 1)
    assert cost.episode_ms > 0
    assert cost.record_kb > 1
