import pytest

from relay import CircleError, Graph, Job, JobError, plan


def graph(**needs):
    return Graph(Job(name, tuple(of.split())) for name, of in needs.items())


def test_a_job_comes_after_what_it_needs():
    assert plan(graph(report="parse index", parse="fetch", index="parse", fetch="")) == [
        "fetch",
        "parse",
        "index",
        "report",
    ]


def test_priorities_and_then_names_decide():
    jobs = [Job("a"), Job("b", priority=2), Job("c", priority=2), Job("d", ("a",), priority=9)]
    assert plan(Graph(jobs)) == ["b", "c", "a", "d"]


def test_a_circle_is_named_from_its_smallest_name():
    with pytest.raises(CircleError) as caught:
        plan(graph(a="c", c="d", d="b", b="c"))
    assert caught.value.names == ["b", "c", "d"]


def test_a_job_that_needs_itself():
    with pytest.raises(CircleError, match="a circle: a -> a"):
        plan(graph(a="a"))


def test_unknown_and_double_jobs():
    with pytest.raises(JobError, match="b, which is unknown"):
        plan(graph(a="b"))
    with pytest.raises(JobError, match="twice"):
        Graph([Job("a"), Job("a")])
