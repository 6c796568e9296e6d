"""An episode of format 3 is executed again and judged again as one of today's.

`runs/catalogue` holds its task as it was then, so that a later change of the task is no difference.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from agentgym import catalogue
from agentgym.record.store import RunStore
from agentgym.rollout.regrade import Fate, regrade_episode
from agentgym.rollout.replay import Agreement, verify_episode
from agentgym.sandbox.bubblewrap import BubblewrapProvider

PROBLEMS = BubblewrapProvider().problems()
pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox here: {PROBLEMS}")

RUNS = Path(__file__).parent / "runs"
ORACLE, NOOP = 1, 2


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A copy of the run, open for writing."""
    monkeypatch.setenv("AGENTGYM_PATH", str(RUNS / "catalogue"))
    monkeypatch.setenv(catalogue.SHADOW, "tasks/terminal/drop-folder-script")
    shutil.copytree(RUNS / "finished", tmp_path / "run")
    with closing(RunStore.open(tmp_path / "run", readonly=False)) as store:
        yield store


@pytest.fixture
async def provider(tmp_path):
    provider = BubblewrapProvider(tmp_path / "sandboxes")
    yield provider
    await provider.close()


async def test_it_is_executed_again_with_the_same_end(store, provider):
    found = await verify_episode(store, ORACLE, provider)
    assert (found.agreement, found.first) == (Agreement.SAME, None)


async def test_it_is_judged_again_by_its_kept_final_state(store, provider):
    before = {row.id: row.verdict for row in store.episodes()}
    for episode_id in (ORACLE, NOOP):
        row = store.episode(episode_id)
        done = await regrade_episode(store, row, provider, force=True)
        assert (done.fate, done.reason) == (Fate.REPLACED, "")
        now, then = store.episode(episode_id).verdict, before[episode_id]
        assert (now.outcome, now.score) == (then.outcome, then.score)
        assert [c.status for c in now.checkpoints] == [c.status for c in then.checkpoints]
        (past,) = store.history.past_verdicts(episode_id)
        assert past.verdict == then
