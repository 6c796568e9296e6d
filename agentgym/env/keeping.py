"""Keeps the final states of episodes, by the policy of their run, so that they can be regraded."""

from __future__ import annotations

import time
from dataclasses import replace

from agentgym.env.ending import EndedEpisode
from agentgym.env.kept_states import DEFAULT_MB, Policy
from agentgym.errors import AgentGymError, RecordError
from agentgym.record.endings import Ending
from agentgym.record.store import RunStore
from agentgym.record.volatile.masking import Masking
from agentgym.record.volatile.times import Period
from agentgym.records import Json, Verdict


class StateKeeping:
    """Keeps the final state of one episode; called after its verdict.

    A failure to keep a state never costs an episode its verdict: the record holds the reason.
    The caller writes the state together with the verdict.

    Args:
        store: The run, open for writing.
        episode_id: Id of the episode in the run.
        began_s: Recorded time of its start, in seconds since 1970.
    """

    def __init__(self, store: RunStore, episode_id: int, began_s: float) -> None:
        self._store, self._episode_id, self._began_s = store, episode_id, began_s
        self._kept: tuple[Ending, bytes | None] | None = None
        said = store.settings.get("keep_states")
        self._policy = Policy(said) if said in list(Policy) else Policy.ALL

    async def __call__(self, ended: EndedEpisode, verdict: Verdict) -> None:
        """Take the final state of an episode, or the reason why it is not kept.

        Raises:
            RecordError: The record cannot be read.
        """
        ended_s = time.time()
        masking = Masking((Period(self._began_s, ended_s),))
        evidence: dict[str, Json] = {}
        state, unkept = None, ""
        try:
            evidence = await ended.evidence(masking)
            unkept = self._refusal(verdict)
            if not unkept:
                state = await ended.state()
        except RecordError:
            raise
        except AgentGymError as error:
            unkept = str(error)
        except Exception as error:  # noqa: BLE001 - hostile files: the boundary that classifies it
            unkept = f"{type(error).__name__}: {error}"
        self._kept = Ending(0.0, ended_s, evidence, unkept=unkept[:500]), None if unkept else state

    def write(self) -> None:
        """Record what was taken, until `drop`; it waits for the disk.

        Raises:
            RecordError: It cannot be recorded.
        """
        if self._kept is None:
            return
        ending, state = self._kept
        if state is not None and (full := no_room(self._store, len(state))):
            ending, state = replace(ending, unkept=full), None
        self._store.endings.finish(self._episode_id, ending, state)

    def drop(self) -> None:
        """Forget what was taken, because it is on file."""
        self._kept = None

    def _refusal(self, verdict: Verdict) -> str:
        """Return why the policy does not keep this state; empty if it keeps it."""
        if self._policy is Policy.NONE:
            return "the run keeps no final states (--keep-states none)"
        if self._policy is Policy.FAILED and verdict.scored and verdict.outcome:
            return "the episode passed, and the run keeps failed ones (--keep-states failed)"
        return ""


def no_room(store: RunStore, size: int) -> str:
    """Return why a run keeps no final states of so many bytes any more; empty if it does.

    Args:
        store: The run.
        size: Bytes of the states.
    """
    limit = store.settings.get("keep_states_mb")
    limit_mb = limit if isinstance(limit, int) else DEFAULT_MB
    kept = store.endings.kept_bytes
    if kept + size <= limit_mb * 2**20:
        return ""
    return f"the run keeps {kept / 2**20:.0f} MB already (--keep-states-mb {limit_mb})"
