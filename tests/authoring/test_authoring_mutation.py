"""Mutants of a solution: what hidden tests notice is killed, what they overlook is shown."""

from __future__ import annotations

import pytest
from built_images import take_image
from issue_task import SOLUTION, SUMS, TEST, write_issue

from agentgym.authoring.mutation import Fate, SurveyPlan, survey_task
from agentgym.errors import ConfigError, TaskError
from agentgym.task.load import load_folder

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def survey(stage, tmp_path, changes=None, **options):
    take_image("swe-python")
    said = []
    task = load_folder(write_issue(tmp_path, changes or {}))
    plan = SurveyPlan(**{"limit": 500, "jobs": 2, **options})
    found = await survey_task(task, stage.provider, plan, said.append)
    return found, said


def fate_of(found, operator, new):
    """Return the fates of the mutants of an operator whose diff adds a text."""
    return {
        one.fate
        for one in found.judged
        if one.mutant.operator == operator and f"+{new}" in one.mutant.hunk()
    }


async def test_what_no_test_looks_at_survives(stage, tmp_path):
    found, _ = await survey(stage, tmp_path)
    assert not found.of(Fate.ERROR) and not found.of(Fate.NOT_TRIED)
    assert fate_of(found, "arithmetic", "    return a - b") == {Fate.KILLED}
    assert fate_of(found, "statement removed", "        pass") == {Fate.KILLED}
    assert fate_of(found, "copy", "    values = (values)") == {Fate.KILLED}
    assert fate_of(found, "context removed", "    if True:") == {Fate.SURVIVED}
    assert fate_of(found, "text", '        raise ValueError("mean: expected values~")') == {
        Fate.SURVIVED
    }
    killed = next(one for one in found.judged if one.fate is Fate.KILLED)
    assert "tests/test_calc.py::test_" in killed.why
    assert {one.mutant.nearness for one in found.judged} == {"touched", "beside"}
    again, _ = await survey(stage, tmp_path, limit=5, seed=3)
    assert again.found == found.found and len(again.judged) == 5
    fates = {one.mutant: one.fate for one in found.judged}
    assert all(fates[one.mutant] is one.fate for one in again.judged)


@pytest.mark.full
async def test_a_test_that_is_added_kills_it(stage, tmp_path):
    more = TEST.replace("ValueError)", 'ValueError, match="^mean: expected values$")')
    found, _ = await survey(stage, tmp_path, {"checks/hidden/tests/test_calc.py": more})
    assert fate_of(found, "text", '        raise ValueError("mean: expected values~")') == {
        Fate.KILLED
    }


async def test_a_mutant_that_never_ends_does_not_stop_the_others(stage, tmp_path):
    loops = SUMS.replace(
        "    return a - b", "    while b > 0:\n        a, b = a - 1, b - 1\n    return a"
    )
    solution = SOLUTION.replace("s/a - b/a + b/", "s/a - 1/a + 1/")
    changes = {"setup/repo/calc/sums.py": loops, "solution/solve.sh": solution}
    found, _ = await survey(stage, tmp_path, changes)
    assert found.of(Fate.TIMED_OUT) and found.of(Fate.SURVIVED) and not found.of(Fate.ERROR)


@pytest.mark.full
async def test_mutants_that_end_their_process_or_harm_the_repository_are_killed(stage, tmp_path):
    harmful = (
        "import os, shutil\n\n\ndef add(a, b):\n    if a == b:\n        shutil.rmtree('calc')\n"
        "        os._exit(0)\n    return a - b\n\n\ndef mean(values):\n    values = list(values)\n"
        "    if not values:\n        raise ValueError\n    return sum(values) / len(values)\n"
    )
    found, _ = await survey(stage, tmp_path, {"setup/repo/calc/sums.py": harmful})
    assert fate_of(found, "comparison", "    if a != b:") == {Fate.KILLED}
    assert fate_of(found, "arithmetic", "    return a - b") == {Fate.KILLED}
    assert not found.of(Fate.ERROR)


async def test_nothing_is_tried_after_the_deadline(stage, tmp_path):
    found, _ = await survey(stage, tmp_path, deadline_s=0.001)
    assert {one.fate for one in found.judged} == {Fate.NOT_TRIED}


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"checks/issue.toml": None}, ConfigError, "expected a task about a repository"),
        (
            {
                "solution/solve.sh": None,
                "solution/actions.jsonl": '{"tool": "give_up", "arguments": {"reason": "vague"}}\n',
            },
            ConfigError,
            "there is nothing to mutate",
        ),
        ({"solution/solve.sh": "exit 3\n"}, TaskError, "its solution ends with 3"),
        ({"solution/solve.sh": "true\n"}, TaskError, "its solution does not pass"),
        (
            {
                "solution/solve.sh": "cd /srv/calc\ntouch NEWS\n",
                "setup/repo/calc/sums.py": SUMS.replace("a - b", "a + b"),
            },
            TaskError,
            "changes no Python module",
        ),
    ],
)
async def test_what_cannot_be_mutated_is_said(stage, tmp_path, changes, error, told):
    with pytest.raises(error, match=told):
        await survey(stage, tmp_path, changes)
