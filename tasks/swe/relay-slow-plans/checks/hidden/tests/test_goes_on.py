"""Long chains in every call, and what boards and graphs say otherwise."""

import os
import subprocess
import sys

import pytest

from relay import Board, CircleError, Graph, Job, JobError, plan, read_jobs

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


@pytest.mark.parametrize(
    ("use", "name", "told"),
    [
        ("finish", "j00000", "j00000: done, expected that it waits"),
        ("fail", "j00000", "j00000: done, expected that it waits"),
        ("finish", "j00001", "j00001: failed, expected that it waits"),
        ("retry", "j00000", "j00000: done, expected that it failed"),
        ("retry", "j00003", "j00003: waits, expected that it failed"),
        ("finish", "j00002", "j00002: is not ready"),
        ("fail", "j00003", "j00003: is not ready"),
        ("finish", "no", "no: unknown job"),
        ("state", "no", "no: unknown job"),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_before(use, name, told):
    board = Board(chain(4))
    board.finish("j00000")
    board.fail("j00001")
    with pytest.raises(JobError) as caught:
        getattr(board, use)(name)
    assert str(caught.value) == told
    states = [board.state(f"j0000{number}").value for number in range(4)]
    assert states == ["done", "failed", "waits", "waits"]


def test_graphs_tell_what_is_wrong_in_the_words_of_before():
    graph = chain(2)
    for act, told in [
        (lambda: graph.add(Job("j00000")), "j00000: defined twice"),
        (lambda: graph.job("no"), "no: unknown job"),
        (lambda: plan(Graph([Job("a", ("b",))])), "a: needs b, which is unknown"),
        (lambda: Board(Graph([Job("a", ("b",))])), "a: needs b, which is unknown"),
        (lambda: plan(Graph([Job("b", ("a",)), Job("a", ("b",))])), "a circle: a -> b -> a"),
        (lambda: plan(Graph([Job("a", ("a",))])), "a circle: a -> a"),
    ]:
        with pytest.raises(JobError) as caught:
            act()
        assert str(caught.value) == told
    assert len(graph) == 2 and graph.job("j00001") == Job("j00001", ("j00000",)) and "j00002" not in graph
    assert graph.job("j00001") is graph.job("j00001")


def test_a_job_that_is_refused_leaves_no_trace():
    graph = Graph([Job("a"), Job("b")])
    with pytest.raises(JobError):
        graph.add(Job("b", ("a",), 7))
    assert graph.dependents("a") == [] and plan(graph) == ["a", "b"] and graph.names() == ["a", "b"]
    assert Board(graph).finish("a") == []


@pytest.mark.parametrize(
    ("line", "job"),
    [
        ("a", Job("a")),
        ("  a.b-c_1  # and why: !3", Job("a.b-c_1")),
        ("a !5", Job("a", (), 5)),
        ("a!-5", Job("a", (), -5)),
        ("a:", Job("a")),
        ("a:x  y\tz", Job("a", ("x", "y", "z"))),
        ("a : x y !05", Job("a", ("x", "y"), 5)),
        ("ä: x", Job("ä", ("x",))),
    ],
)
def test_lines_of_job_files(tmp_path, line, job):
    (tmp_path / "jobs").write_text(f"# jobs\n\n \nx\n{line}\ny\nz\n", encoding="utf-8")
    for path in (tmp_path / "jobs", str(tmp_path / "jobs")):
        assert list(read_jobs(path)) == [Job("x"), job, Job("y"), Job("z")]


@pytest.mark.parametrize("line", ["a b", ": x", "a !x", "a !5 x", "a: x !5 6", "!5", "a:: !1 !2"])
def test_what_is_no_line_of_a_job_file(tmp_path, line):
    (tmp_path / "jobs").write_text(f"x\n\n{line} # no\n")
    with pytest.raises(JobError) as caught:
        read_jobs(tmp_path / "jobs")
    assert str(caught.value) == f"{tmp_path / 'jobs'}:3: expected NAME: NEEDS !PRIORITY, got {line!r}"


def test_job_files_need_jobs_that_are_there(tmp_path):
    (tmp_path / "jobs").write_text("b: a\nc: no\na\n")
    with pytest.raises(JobError, match="^c: needs no, which is unknown$"):
        read_jobs(tmp_path / "jobs")


def test_job_files_are_read_as_utf_8_wherever(tmp_path):
    (tmp_path / "jobs").write_text("ä: b\nb # ö\n", encoding="utf-8")
    code = "import sys; from relay import plan, read_jobs; print(ascii(plan(read_jobs(sys.argv[1]))))"
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "jobs"], env={**os.environ, **plain}, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("['b', '\\xe4']\n", "")


def test_jobs_are_values():
    assert len({Job("a", ("b",), 1), Job("a", ("b",), 1), Job("a", ("b",), 2)}) == 2
    with pytest.raises(AttributeError):
        Job("a").priority = 2


def test_a_job_is_blocked_by_a_job_that_is():
    graph = Graph([Job("a"), Job("b"), Job("c", ("a",)), Job("d", ("c", "b")), Job("e", ("b",))])
    board = Board(graph)
    assert board.fail("a") == ["c", "d"] and board.blocked() == ["c", "d"] and board.ready() == ["b"]
    assert board.finish("b") == ["e"] and board.ready() == ["e"]
    board.retry("a")
    assert board.blocked() == [] and board.finish("a") == ["c"] and board.finish("c") == ["d"]
