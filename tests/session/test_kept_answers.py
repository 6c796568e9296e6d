"""The memory of all sessions of a server for calls that are sent again."""

from __future__ import annotations

from agentgym.records import Observation
from agentgym.session.answers import FailureCode, Reply
from agentgym.session.calls import Calls
from agentgym.session.kept_answers import KeptAnswers

KILOBYTE = "x" * 250  # a character counts four bytes


async def answered(calls, *numbers):
    async def work():
        return Reply("e1", Observation(KILOBYTE))

    return [await calls.do(number, "step", work) for number in numbers]


def of(kept, account):
    calls = Calls(100, None, kept)
    kept.enter(calls, account)
    return calls


async def test_the_account_that_keeps_the_most_forgets_first():
    kept, greedy, modest = KeptAnswers(20_500), object(), object()
    many = [of(kept, greedy) for _ in range(4)]
    one = of(kept, modest)
    await answered(one, *range(1, 8))
    for calls in many:
        await answered(calls, *range(1, 8))
    assert sum(calls.kept_bytes for calls in (*many, one)) <= 20_500
    assert all(isinstance(answer, Reply) for answer in await answered(one, *range(1, 8)))
    again = [answer for calls in many for answer in await answered(calls, *range(1, 8))]
    forgotten = [answer for answer in again if not isinstance(answer, Reply)]
    assert forgotten and {answer.code for answer in forgotten} == {FailureCode.FORGOTTEN}


async def test_a_session_that_is_gone_counts_no_more():
    kept, account = KeptAnswers(10_000), object()
    for _ in range(5):
        calls = of(kept, account)
        await answered(calls, *range(1, 9))
        assert all(isinstance(answer, Reply) for answer in await answered(calls, *range(1, 9)))
        kept.leave(calls)
        await answered(calls, 9)
    assert kept._bytes == 0
