"""The results of one rubric, from a worker that runs its checks one after the other.

The worker evaluates the rubric as the host does, so both need the results in the same order. One
order is enough for all checks and the digest of the changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agentgym.errors import VerifierError
from agentgym.records import CheckResult
from agentgym.task.state import state_hash
from agentgym.verify.checking import Broken
from agentgym.verify.worker.host import Answers
from agentgym.verify.worker.runner import CheckRunner


class RubricPass:
    """Reads the results of one judgement in the order in which `evaluate` looks them up.

    The worker stops at a check that broke. The host decides what that means, and the next lookup
    gives another order, which contains the results so far.

    Args:
        runner: Runs the checks.
        answers: Answers their questions about the episode.
        until: Returns when the worker is stopped, in seconds on the monotonic clock.
        judged: Whether a judge is set.
        volatile_paths: Globs of paths that the digest of the changes leaves out.
    """

    def __init__(
        self,
        runner: CheckRunner,
        answers: Answers,
        until: Callable[[], float],
        *,
        judged: bool,
        volatile_paths: Sequence[str],
    ) -> None:
        self._runner, self._answers, self._until = runner, answers, until
        self._judged, self._volatile_paths = judged, volatile_paths
        self._messages: Iterator[dict[str, Any] | Broken] | None = None

    def result(self, id: str, known: Mapping[str, CheckResult]) -> CheckResult | Broken:
        """Return the result of the check that the rubric needs next.

        Args:
            id: Id of the leaf or condition.
            known: The results so far.
        """
        if self._messages is None:
            self._messages = self._runner.judge(
                *(known, self._answers, self._until),
                judged=self._judged,
                volatile_paths=self._volatile_paths,
            )
        try:
            found = next(self._messages, None)
        except VerifierError as error:
            self._messages = None
            return Broken(str(error), by_grader=True)
        if not isinstance(found, dict):
            self._messages = None
            return found or Broken("its process sent no result", spent=True)
        if found.get("found") != id:
            self._messages = None
            self._runner.drop()
            return Broken("its process sent the result of another check", spent=True)
        if "broken" in found:
            # The end of the order: nothing else comes after a check that broke.
            for _ in self._messages:
                pass
            self._messages = None
        return self._runner.read(found)

    def finish(self) -> str:
        """Return the digest of the changes, and return the worker to the pool.

        The digest is empty if the time is over or the worker ended.
        """
        messages, self._messages = self._messages, None
        if messages is None:
            if not self._answers.changes() and not self._runner.bound:
                return state_hash((), self._answers.after, ())
            digest = self._runner.hash(self._volatile_paths, self._answers, self._until())
            self._runner.close()
            return digest
        end = next(messages, None)
        if not isinstance(end, dict) or not isinstance(end.get("hash"), str):
            # It still runs a check after the deadline, or it has ended.
            self._runner.drop()
            return ""
        self._runner.give_back(sound=end.get("sound") is True)
        return str(end["hash"])
