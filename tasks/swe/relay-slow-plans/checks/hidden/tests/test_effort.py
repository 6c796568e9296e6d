"""The effort of plans and boards: calls of functions are counted, so no clock decides."""

import sys
import tracemalloc

import pytest

from relay import Board, CircleError, Graph, Job, JobError, plan, read_jobs

SIZE = 400
ELSEWHERE = {"fork", "fork_exec", "forkpty", "posix_spawn", "start_new", "start_new_thread"}


class TooMuch(Exception):
    pass


def refuse(frame, event, argument):
    """No steps are counted in other threads and processes, so none may begin."""
    if event == "c_call" and getattr(argument, "__name__", "") in ELSEWHERE:
        raise TooMuch(argument.__name__)


@pytest.fixture
def within():
    """Return a function that makes a call, and fails once it needs more steps than allowed."""

    def within(steps, call):
        left = steps

        def count(frame, event, argument):
            nonlocal left
            frame.f_trace_opcodes = False
            if event in ("call", "line"):
                left -= 1
                if left < 0:
                    # The interpreter would take it away in the frame that is counted.
                    sys.settrace(None)
                    raise TooMuch(f"more than {steps} steps")
            return count

        before = sys.gettrace(), sys.getprofile()
        sys.setprofile(refuse)
        sys.settrace(count)
        try:
            return call()
        finally:
            sys.settrace(before[0])
            sys.setprofile(before[1])

    return within


def chain(size):
    return Graph(Job(f"j{n:05}", (f"j{n - 1:05}",) if n else ()) for n in range(size))


def diamonds(size):
    """Pairs of jobs, each of which needs both of the pair before."""
    jobs = []
    for n in range(size // 2):
        needs = (f"a{n - 1:05}", f"b{n - 1:05}") if n else ()
        jobs += [Job(f"a{n:05}", needs), Job(f"b{n:05}", needs)]
    return Graph(jobs)


def star(size):
    return Graph([Job("root"), *(Job(f"j{n:05}", ("root",), n % 7) for n in range(size))])


@pytest.mark.parametrize("make", [chain, diamonds, star])
def test_a_plan_takes_steps_in_proportion_to_its_jobs(within, make):
    assert len(within(400 * SIZE, lambda: plan(make(SIZE)))) >= SIZE


def test_large_chains_have_no_depth_that_ends_the_interpreter(within):
    assert len(within(400 * 3000, lambda: plan(chain(3000)))) == 3000


def test_a_circle_in_a_large_graph_is_found_soon(within):
    jobs = [*diamonds(SIZE), Job("y", ("z", "a00000")), Job("z", ("y",))]
    with pytest.raises(CircleError) as caught:
        within(400 * SIZE, lambda: plan(Graph(jobs)))
    assert caught.value.names == ["y", "z"]


@pytest.mark.parametrize("make", [diamonds, star])
def test_what_is_blocked_is_found_soon(within, make):
    board = within(400 * SIZE, lambda: Board(make(SIZE)))
    first = board.ready()[0]
    blocked = within(300 * SIZE, lambda: board.fail(first))
    assert len(blocked) >= SIZE - 2
    assert within(150 * SIZE, board.blocked) == blocked


def test_ending_one_job_takes_no_look_at_all_the_others(within):
    board = within(400 * SIZE, lambda: Board(chain(SIZE)))
    assert within(300, lambda: board.finish("j00000")) == ["j00001"]
    assert within(300, lambda: board.finish("j00001")) == ["j00002"]


def test_what_a_finished_job_makes_ready_is_in_the_order_of_the_plan():
    jobs = [Job("a"), Job("x", ("a",), 1), Job("c", ("a",)), Job("b", ("a",)), Job("d", ("a", "b"))]
    assert Board(Graph(jobs)).finish("a") == ["x", "b", "c"]


def test_a_need_that_is_named_twice_counts_once():
    graph = Graph([Job("a"), Job("b", ("a", "a"))])
    assert plan(graph) == ["a", "b"]
    assert graph.dependents("a") == ["b"]
    assert Board(graph).finish("a") == ["b"]


def test_jobs_may_be_added_after_a_plan():
    graph = Graph([Job("b", ("a",)), Job("a")])
    assert plan(graph) == ["a", "b"]
    graph.add(Job("c", ("a",), 5))
    assert plan(graph) == ["a", "c", "b"]
    assert graph.dependents("a") == ["b", "c"]


def test_the_circle_with_the_smallest_name_is_reported():
    needs = {"d": "e", "e": "d", "f": "d", "a": "b", "b": "c g", "c": "b", "g": ""}
    graph = Graph(Job(name, tuple(of.split())) for name, of in needs.items())
    with pytest.raises(CircleError) as caught:
        plan(graph)
    assert caught.value.names == ["b", "c"]


@pytest.mark.parametrize(
    "needs, circle",
    [
        ({"a": "c b", "b": "a", "c": "a"}, ["a", "b"]),
        ({"a": "b", "b": "d c", "c": "a", "d": "a"}, ["a", "b", "c"]),
        ({"a": "c d", "c": "e", "e": "d", "d": "a"}, ["a", "c", "e", "d"]),
        ({"a": "y", "y": "z", "z": "y", "b": "c", "c": "b"}, ["b", "c"]),
    ],
)
def test_of_several_circles_the_one_of_before_is_reported(needs, circle):
    """Names that are needed are tried in their order."""
    graph = Graph(Job(name, tuple(of.split())) for name, of in needs.items())
    with pytest.raises(CircleError) as caught:
        plan(graph)
    assert caught.value.names == circle


def test_a_bad_line_is_told_as_before(tmp_path):
    path = tmp_path / "jobs"
    path.write_text("a\n\nb c\n")
    with pytest.raises(JobError) as caught:
        read_jobs(path)
    assert str(caught.value) == f"{path}:3: expected NAME: NEEDS !PRIORITY, got 'b c'"


def test_comments_priorities_and_retries_are_as_before(tmp_path):
    path = tmp_path / "jobs"
    path.write_text("a # first\nb: a !2\n# nothing\nc: a\n")
    board = Board(read_jobs(path))
    board.finish("a")
    assert board.ready() == ["b", "c"] and board.fail("b") == []
    board.retry("b")
    assert board.ready() == ["b", "c"]


def test_who_fails_again_blocks_again():
    board = Board(Graph([Job("a"), Job("b", ("a",)), Job("c", ("b",))]))
    assert board.fail("a") == ["b", "c"]
    board.retry("a")
    assert board.blocked() == [] and board.ready() == ["a"]
    assert board.fail("a") == ["b", "c"]


def test_what_is_blocked_already_is_not_told_again():
    board = Board(Graph([Job("a"), Job("b"), Job("c", ("a", "b")), Job("d", ("b",))]))
    assert board.fail("a") == ["c"]
    assert board.fail("b") == ["d"]
    board.retry("a")
    assert board.blocked() == ["c", "d"]


def test_a_graph_has_the_order_in_which_jobs_were_added():
    graph = Graph([Job("c", ("z",)), Job("a", ("y",)), Job("b")])
    assert [job.name for job in graph] == ["c", "a", "b"]
    with pytest.raises(JobError, match="c: needs z"):
        plan(graph)


def test_nothing_is_copied_when_a_job_ends(within):
    size = 4 * SIZE
    board = within(400 * size, lambda: Board(chain(size)))
    tracemalloc.start()
    try:
        for n in range(20):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            board.finish(f"j{n:05}")
            assert tracemalloc.get_traced_memory()[1] - before < 20_000
    finally:
        tracemalloc.stop()
