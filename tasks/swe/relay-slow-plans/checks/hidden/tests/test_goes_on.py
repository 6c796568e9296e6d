"""Long chains in every call, and what boards and graphs say otherwise."""

import sys

import pytest

from relay import Board, CircleError, Graph, Job, JobError, plan

LONG = 3000


def chain(size=LONG):
    return Graph(Job(f"j{n:05}", (f"j{n - 1:05}",) if n else ()) for n in range(size))


@pytest.fixture
def quick():
    """Fail at once where a short chain takes so many steps that a long one would not end."""
    left = 100_000

    def count(frame, event, argument):
        nonlocal left
        left -= 1
        if left < 0:
            sys.settrace(None)
            raise RuntimeError("too many steps")
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        board = Board(chain(150))
        board.fail("j00000")
        board.blocked()
    finally:
        sys.settrace(before)


def test_a_long_chain_is_blocked_and_waits_again(quick):
    board = Board(chain())
    rest = [f"j{n:05}" for n in range(1, LONG)]
    assert board.ready() == ["j00000"] and board.blocked() == []
    assert board.fail("j00000") == rest and board.blocked() == rest and board.ready() == []
    board.retry("j00000")
    assert board.blocked() == [] and board.ready() == ["j00000"]
    assert board.finish("j00000") == ["j00001"] and board.finish("j00001") == ["j00002"]


def test_a_long_circle_is_named(quick):
    graph = chain()
    graph.add(Job("end", (f"j{LONG - 1:05}",)))
    assert plan(graph)[-1] == "end"
    circle = Graph(Job(f"j{n:05}", (f"j{(n - 1) % LONG:05}",)) for n in range(LONG))
    with pytest.raises(CircleError) as caught:
        plan(circle)
    assert caught.value.names == ["j00000", *(f"j{n:05}" for n in range(LONG - 1, 0, -1))]


def test_the_interpreter_is_left_as_it_was(quick):
    limit, hooks = sys.getrecursionlimit(), (sys.gettrace(), sys.getprofile())
    board = Board(chain())
    board.fail("j00000")
    board.blocked()
    assert (sys.getrecursionlimit(), (sys.gettrace(), sys.getprofile())) == (limit, hooks)
    assert limit <= 2000


def test_what_is_returned_is_the_callers():
    graph = chain(3)
    graph.add(Job("a", ("j00000",)))
    board = Board(graph)
    for answer in (graph.names, lambda: graph.dependents("j00000"), lambda: plan(graph), board.ready, board.blocked):
        first = answer()
        kept = list(first)
        first.append("x")
        first.reverse()
        assert answer() == kept
    assert graph.dependents("j00000") == ["a", "j00001"] and graph.dependents("none") == []
    assert board.finish("j00000") == ["a", "j00001"]


@pytest.mark.parametrize("use", ["finish", "fail", "retry"])
def test_jobs_in_another_state_are_refused(use):
    board = Board(chain(4))
    board.finish("j00000")
    board.fail("j00001")
    for name in {"finish": "j00000 j00001 j00002 j00003 no", "fail": "j00000 j00001 j00002 j00003 no", "retry": "j00000 j00002 no"}[use].split():
        with pytest.raises(JobError):
            getattr(board, use)(name)
    assert board.blocked() == ["j00002", "j00003"] and board.ready() == []


def test_the_first_need_that_is_not_there_is_named():
    graph = Graph([Job("z", ("q", "b")), Job("a", ("c",))])
    with pytest.raises(JobError, match="z: needs q,"):
        plan(graph)
    graph.add(Job("q"))
    with pytest.raises(JobError, match="z: needs b,"):
        plan(graph)
    for name in "bc":
        graph.add(Job(name))
    assert plan(graph) == ["b", "c", "a", "q", "z"] and len(graph) == 5 and [job.name for job in graph] == ["z", "a", "q", "b", "c"]


def test_answers_are_in_the_order_of_the_plan():
    graph = Graph([Job("top"), *(Job(name, ("top",), priority) for name, priority in (("a", 1), ("c", 5), ("b", 5), ("d", 0)))])
    graph.add(Job("early", (), -3))
    board = Board(graph)
    assert plan(graph) == ["top", "b", "c", "a", "d", "early"] and board.ready() == ["top", "early"]
    assert board.finish("top") == ["b", "c", "a", "d"] and board.ready() == ["b", "c", "a", "d", "early"]
