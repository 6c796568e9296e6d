"""`agentgym bench swe` measures every task of the suite that hidden tests decide."""

from agentgym import catalogue
from agentgym.bench.swe import SUITE, measured_tasks
from agentgym.swe.native import Issue


def test_tasks_without_hidden_tests_are_not_measured():
    measured = measured_tasks()
    assert measured and all(Issue(task.folder / "checks").fail_to_pass for task in measured)
    left_out = set(catalogue.match_tasks(SUITE)) - {task.id for task in measured}
    assert left_out == {"swe/relay-vague-report-v1", "swe/tally-thousands-settled-v1"}
