"""The contract suite of `agentgym.protocols.Judge`, which every judge must pass.

Subclass `JudgeContract` in a test module; pytest finds the inherited tests. The judge may be a real
model: no test depends on its decisions.
"""

from __future__ import annotations

import math

from agentgym.errors import VerifierError
from agentgym.protocols import Judge
from agentgym.records import Criterion, Exhibit, Judgement, Level, Met

CRITERION = Criterion("The agent listed the files in its home folder.")
SCALE = Criterion(
    "How much of its home folder did the agent look at?",
    (
        Level("nothing", 0.0, "It listed nothing."),
        Level("some", 0.5, "It listed a part."),
        Level("all", 1.0, "It listed everything."),
    ),
)
EXHIBITS = (
    Exhibit("E1", "step", "Step 0", "The agent called bash\ncommand = ls ~\nIt saw:\nnotes.txt"),
    Exhibit("E2", "answer", "The agent submitted this answer:", "There is one file."),
)


class JudgeContract:
    """Tests that every judge passes."""

    def make(self) -> Judge:
        """Return a judge that answers; override this."""
        raise NotImplementedError

    def test_it_says_who_it_is_and_how_long_it_takes(self) -> None:
        """The judge has a name, and a finite number of seconds for which grading waits."""
        judge = self.make()
        assert judge.name
        assert 0 < judge.grading_s < math.inf

    def test_a_criterion_is_decided(self) -> None:
        """The result is yes, no or unclear, with a matching score, and cites shown exhibits."""
        found = self.make().decide(CRITERION, EXHIBITS)
        assert found.met in tuple(Met) and found.level == ""
        assert found.score == float(found.met is Met.YES)
        _assert_whole(found, votes=1)

    def test_a_scale_gives_a_level(self) -> None:
        """The judgement is one of the levels, with its score."""
        found = self.make().decide(SCALE, EXHIBITS)
        assert found.met is None
        assert (found.level, found.score) in [(x.name, x.score) for x in SCALE.levels]
        _assert_whole(found, votes=1)

    def test_every_vote_is_kept(self) -> None:
        """The judgement has as many votes as were asked for."""
        _assert_whole(self.make().decide(CRITERION, EXHIBITS, votes=3), votes=3)

    def test_nothing_to_look_at_is_no_error(self) -> None:
        """An episode may leave nothing to show; then a cited exhibit is invented."""
        assert self.make().decide(CRITERION, ()).cited == ()

    def test_what_cannot_be_asked_is_refused(self) -> None:
        """An empty text, zero votes or a scale of one level is an error of the rubric."""
        one = Criterion("x", (Level("only", 1.0),))
        for criterion, votes in ((Criterion(" "), 1), (CRITERION, 0), (one, 1)):
            _assert_refused(self.make(), criterion, votes)

    def test_no_time_is_an_error_and_no_verdict(self) -> None:
        """A judge without time raises an error and does not decide."""
        other = Criterion(CRITERION.text + " It did so first of all.")
        _assert_refused(self.make(), other, 1, timeout_s=0.0)


def _assert_whole(found: Judgement, votes: int) -> None:
    assert len(found.votes) == votes
    shown = {exhibit.id for exhibit in EXHIBITS}
    assert set(found.cited) <= shown
    assert all(set(vote.cited) <= shown for vote in found.votes)
    assert found.reasons and found.judge


def _assert_refused(
    judge: Judge, criterion: Criterion, votes: int, timeout_s: float | None = None
) -> None:
    try:
        judge.decide(criterion, EXHIBITS, votes=votes, timeout_s=timeout_s)
    except VerifierError:
        return
    raise AssertionError(f"expected a VerifierError for {criterion!r} with {votes} votes")
