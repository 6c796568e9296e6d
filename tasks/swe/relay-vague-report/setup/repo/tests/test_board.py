import pytest

from relay import Board, Graph, Job, JobError


@pytest.fixture
def board():
    jobs = [Job("fetch"), Job("parse", ("fetch",)), Job("index", ("parse",)), Job("mail", ("index",))]
    return Board(Graph([*jobs, Job("clean", priority=3)]))


def test_ready_jobs_follow_the_plan(board):
    assert board.ready() == ["clean", "fetch"]
    assert board.finish("fetch") == ["parse"]
    assert board.ready() == ["clean", "parse"]


def test_a_failure_blocks_what_needs_the_job(board):
    board.finish("fetch")
    assert board.fail("parse") == ["index", "mail"]
    assert board.blocked() == ["index", "mail"]
    board.retry("parse")
    assert board.blocked() == [] and board.ready() == ["clean", "parse"]


def test_only_ready_jobs_end(board):
    with pytest.raises(JobError, match="not ready"):
        board.finish("parse")
    board.finish("fetch")
    with pytest.raises(JobError, match="done"):
        board.fail("fetch")
    with pytest.raises(JobError, match="unknown"):
        board.finish("nothing")
