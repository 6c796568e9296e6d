"""Packages that a user's table puts into the images of foreign tasks."""

import pytest
from foreign_folder import harbor

from agentgym.env.resolved_task import image_fallbacks, sandbox_plan
from agentgym.errors import TaskError
from agentgym.eval.judges import judged_tasks
from agentgym.sandbox.image_fallback import Sources
from agentgym.task.load import find_task

TABLE = """\
schema_version = "agentgym.prepared/1"
[tasks.hello]
apt = ["nginx"]
pip = ["numpy==2.3.1"]
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Writes the table and has it read."""

    def write(text):
        path = tmp_path / "prepared.toml"
        path.write_text(text)
        monkeypatch.setenv("AGENTGYM_PREPARED", str(path))

    return write


def test_named_tasks_get_packages_and_say_so(tmp_path, table):
    folders = [str(harbor(tmp_path / name)) for name in ("hello", "other")]
    plain, other = [
        sandbox_plan(find_task(folder).foreign.sandbox, Sources()) for folder in folders
    ]
    table(TABLE)
    task = find_task(folders[0])
    plan = sandbox_plan(task.foreign.sandbox, Sources())
    assert plan.steps[:-2] == plain.steps
    assert [step.title for step in plan.steps[-2:]] == ["apt nginx", "pip numpy==2.3.1"]
    told = {what: by for what, by in image_fallbacks(task).items() if what.startswith("package ")}
    assert told == dict.fromkeys(("package nginx", "package numpy==2.3.1"), "AGENTGYM_PREPARED")
    same = find_task(folders[1])
    assert sandbox_plan(same.foreign.sandbox, Sources()) == other
    assert not any(what.startswith("package ") for what in image_fallbacks(same))


def test_a_table_that_cannot_be_read_is_told(tmp_path, table):
    table(TABLE.replace("apt =", "atp ="))
    with pytest.raises(TaskError, match=r"prepared\.toml:3: tasks\.hello\.atp"):
        find_task(str(harbor(tmp_path / "hello")))


def test_a_foreign_task_needs_no_judge(tmp_path):
    assert judged_tasks([find_task(str(harbor(tmp_path / "hello")))]) == {}
