"""A task that a plug-in returns with other types or ranges is refused by field."""

import math
from dataclasses import fields, replace
from pathlib import Path

import pytest

from agentgym.errors import PluginError
from agentgym.protocols import ForeignTask
from agentgym.records import TaskSandbox
from agentgym.task.foreign import load_foreign

SOUND = ForeignTask(format="odd", title="t", instruction="Do it.", rules=object())
ODD = (None, 7, -1, math.nan, True, "\ud800", b"x", [], ("a", 1), {"a": object()}, object())
SANDBOX = TaskSandbox(image="debian", env={"A": "b"}, cpus=2, memory_mb=64)


class Format:
    name = "odd"

    def __init__(self, given):
        self.given = given

    def load(self, folder):
        return self.given


def load(given):
    return load_foreign(Path("/nowhere/odd"), Format(given))


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"id": "suite/name-v1"},
        {"agent_s": 3, "judging_s": 0, "tests_s": 60.0},
        {"sandbox": SANDBOX, "other_sandboxes": (SANDBOX,)},
        {"tags": ("a", "é"), "difficulty": "unheard of"},
    ],
    ids=repr,
)
def test_a_sound_task_is_loaded(changed):
    task = load(replace(SOUND, **changed))
    assert task.foreign.instruction == task.instruction == "Do it."
    assert task.id == changed.get("id", "/nowhere/odd")


@pytest.mark.parametrize("field", [f.name for f in fields(ForeignTask) if f.name != "rules"])
def test_a_field_of_another_type_is_named_or_is_of_no_harm(field):
    refused = 0
    for value in ODD:
        try:
            task = load(replace(SOUND, **{field: value}))
        except PluginError as error:
            refused += 1
            assert f"{field}" in str(error) and "expected" in str(error)
        else:
            assert type(task.manifest.max_steps) is int and task.manifest.env.encode()
    assert refused >= 8


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"instruction": " \n"}, r"instruction: expected text, got ' \\n'"),
        ({"id": "Big"}, "id: expected suite/name-vN in lower case, got 'Big'"),
        ({"format": "other"}, "format: expected 'odd', got 'other'"),
        ({"max_steps": 0}, "max_steps: expected greater than or equal to 1, got 0"),
        ({"agent_s": math.inf}, "agent_s: expected a finite number, got inf"),
        ({"judging_s": -1.0}, "judging_s: expected greater than or equal to 0"),
        ({"sandbox": replace(SANDBOX, network="wide")}, "sandbox.network: expected 'none'"),
        ({"sandbox": replace(SANDBOX, env={"A": 1})}, "sandbox.env.A: expected a valid string"),
        ({"other_sandboxes": (replace(SANDBOX, cpus=0),)}, "other_sandboxes.0.cpus: expected"),
        ({"tools": ("bash",)}, "tools.0: expected an instance of ToolSpec, got 'bash'"),
    ],
    ids=repr,
)
def test_what_is_wrong_is_said(changed, told):
    with pytest.raises(PluginError, match="task format 'odd': .*" + told):
        load(replace(SOUND, **changed))


def test_every_problem_is_named_at_once():
    with pytest.raises(PluginError) as found:
        load(replace(SOUND, title=1, max_steps=-1))
    assert [word in str(found.value) for word in ("title:", "max_steps:")] == [True, True]
