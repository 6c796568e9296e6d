"""Orders in which jobs can run."""

from relay.circles import find_circle
from relay.errors import CircleError
from relay.graph import Graph


def plan(graph: Graph) -> list[str]:
    """Return the names of all jobs, each after what it needs.

    Of the jobs that could be next, the one with the largest priority comes first, then the one with
    the smaller name.

    Raises:
        JobError: A job needs one that is not there.
        CircleError: There is a circle.
    """
    graph.check()
    if circle := find_circle(graph):
        raise CircleError(circle)
    order: list[str] = []
    while len(order) < len(graph):
        could = [
            job
            for job in graph
            if job.name not in order and all(need in order for need in job.needs)
        ]
        could.sort(key=lambda job: (-job.priority, job.name))
        order.append(could[0].name)
    return order
