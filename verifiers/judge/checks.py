"""Check pack `judge`: a model reads the evidence and decides one criterion.

Channel: judge. For qualities that state cannot show: tone, reasoning, whether a text says the right
things. Write a criterion that can be decided from the exhibits alone. Check everything that files,
databases or commands can show with another pack. `docs/judging.md` describes what the judge sees,
how it is protected from what it reads, and which endpoint is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentgym import CheckResult, CheckStatus, Evidence, VerifierError
from agentgym.records import Criterion, Judgement, Level
from agentgym.verify.judge.exhibits import Show, check_show, shown_messages
from agentgym.verify.judge.question import check_question

_SHOW = ("steps", "answer", "changes")
_UNDECIDED = {
    "fail": CheckStatus.FAIL,
    "not_applicable": CheckStatus.NOT_APPLICABLE,
    "error": CheckStatus.ERROR,
}


def criterion(
    evidence: Evidence,
    criterion: str,
    show: Sequence[Show] = _SHOW,
    votes: int = 1,
    top_k: int = 5,
    unclear: str = "fail",
    unwritten: str = "ask",
    left_out: str = "fail",
) -> CheckResult:
    """A criterion is met according to more than half of the judge's votes.

    Channel: judge. Without an endpoint or a working model, the check is in error and the episode
    unscored. If only the agent's output keeps the judge from answering, it is a fail.

    Example:
        use = "judge.criterion"
        with = { criterion = "The answer names a cause that a step shows.", show = ["steps"] }

    Args:
        evidence: Evidence of the episode.
        criterion: The demand, decidable from the exhibits.
        show: Of `steps`, `answer`, `changes`, `screenshots`, `messages` (all that the agent wrote
            to people), `files:GLOB` (text files of the end state, e.g. `files:/srv/*.md`) and
            sources of messages as in pack `messages`, e.g. `{ mail = "ada@x.example" }`.
        votes: Number of answers; a tie is unclear.
        top_k: Number of screenshots shown: those most relevant to the criterion.
        unclear: Result without a majority of the votes: `fail`, `not_applicable` or `error`.
        unwritten: Result if only messages are shown and the agent wrote no message: `ask` the judge
            anyway, or one of `fail` and `not_applicable`.
        left_out: Result of a yes if the answer, a message or a file was too long or too many to
            show, so that an agent can hide something there: `fail`, or `ignore` for the yes.
    """
    _check_left_out(left_out)
    asked = _question(criterion, (), show, votes, top_k)
    if unclear not in _UNDECIDED:
        raise VerifierError(f"unclear: expected one of {', '.join(_UNDECIDED)}; got {unclear!r}")
    if unwritten not in ("ask", "fail", "not_applicable"):
        raise VerifierError(f"unwritten: expected ask, fail or not_applicable; got {unwritten!r}")
    if unwritten != "ask" and shown_messages(evidence, show) == []:
        return CheckResult(_UNDECIDED[unwritten], "no such message was written")
    found = evidence.judge(asked, show, votes=votes, top_k=top_k)
    assert found.met is not None
    if hidden := _hidden(found, left_out):
        return hidden
    status = {"yes": CheckStatus.PASS, "no": CheckStatus.FAIL}.get(found.met.value)
    return CheckResult(status or _UNDECIDED[unclear], _message(found, found.met.value))


def scale(
    evidence: Evidence,
    criterion: str,
    levels: Sequence[Mapping[str, object]],
    show: Sequence[Show] = _SHOW,
    votes: int = 1,
    top_k: int = 5,
    pass_from: float = 1.0,
    left_out: str = "fail",
) -> CheckResult:
    """A criterion is met to a degree: the level that the judge chooses gives the credit.

    Channel: judge. Of several votes the lower median counts.

    Example:
        use = "judge.scale"
        with = { criterion = "The report can be acted on.", show = ["files:/srv/*.md"], levels = [
            { name = "no", score = 0, meaning = "It names nothing to do." },
            { name = "partly", score = 0.5, meaning = "It names steps, some without a place." },
            { name = "fully", score = 1, meaning = "Every step says what is to be done where." },
        ] }

    Args:
        evidence: Evidence of the episode.
        criterion: The question, decidable from the exhibits.
        levels: Tables of `name`, `score` in 0..1 and `meaning`, worst first.
        show: As for `judge.criterion`.
        votes: Number of answers.
        top_k: Number of screenshots shown.
        pass_from: Lowest score that passes.
        left_out: As for `judge.criterion`, for every level above the lowest.
    """
    _check_left_out(left_out)
    asked = _question(criterion, _levels(levels), show, votes, top_k)
    if isinstance(pass_from, bool) or not isinstance(pass_from, (int, float)):
        raise VerifierError(f"pass_from: expected a number, got {pass_from!r}")
    if pass_from not in [level.score for level in asked.levels] or pass_from == 0:
        raise VerifierError(f"pass_from: expected the score of a level above 0, got {pass_from!r}")
    found = evidence.judge(asked, show, votes=votes, top_k=top_k)
    if hidden := _hidden(found, left_out):
        return hidden
    status = CheckStatus.PASS if found.score >= pass_from else CheckStatus.FAIL
    return CheckResult(status, _message(found, found.level), found.score)


def _check_left_out(left_out: str) -> None:
    if left_out not in ("fail", "ignore"):
        raise VerifierError(f"left_out: expected fail or ignore; got {left_out!r}")


def _hidden(found: Judgement, left_out: str) -> CheckResult | None:
    """Return the failure of a good answer about texts that were not shown in whole."""
    if left_out == "ignore" or found.score == 0 or not found.left_out:
        return None
    answer = found.level or str(found.met)
    told = f"{', '.join(found.left_out)} could not be shown in whole"
    return CheckResult(
        CheckStatus.FAIL, f"{told}, so this does not count: {_message(found, answer)}"
    )


def _question(
    text: str, levels: tuple[Level, ...], show: Sequence[Show], votes: int, top_k: int
) -> Criterion:
    asked = Criterion(text, levels)
    check_question(asked, votes, top_k)
    check_show(show)
    return asked


def _levels(tables: Sequence[Mapping[str, object]]) -> tuple[Level, ...]:
    if isinstance(tables, (str, Mapping)) or not isinstance(tables, Sequence) or not tables:
        raise VerifierError(f"levels: expected a list of tables, got {tables!r}")
    levels = []
    for table in tables:
        if not isinstance(table, Mapping) or table.keys() - {"name", "score", "meaning"}:
            raise VerifierError(f"levels: expected tables of name, score, meaning; got {table!r}")
        name, score, meaning = (table.get(key, "") for key in ("name", "score", "meaning"))
        if not isinstance(name, str) or not name or not isinstance(meaning, str):
            raise VerifierError(f"levels: expected a name and a meaning in words, got {table!r}")
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            raise VerifierError(f"levels: expected a number for score, got {table!r}")
        levels.append(Level(name, float(score), meaning))
    return tuple(levels)


def _message(found: Judgement, answer: str) -> str:
    said = ", ".join(vote.answer for vote in found.votes)
    of = f" (votes: {said})" if len(found.votes) > 1 else ""
    where = f" [{', '.join(found.cited)}]" if found.cited else ""
    return f"{found.judge}: {answer}{of}: {found.reasons}{where}"
