"""What `[clock]`, `[[event]]` and `[[fault]]` may say, and how a mistake is told."""

import pytest
from task_folder import FILES, write_task

from agentgym.errors import TaskError
from agentgym.task.dynamics import FaultKind
from agentgym.task.load import load_task

LIVING = """
[clock]
start = "2026-03-02T09:00:00Z"
step_s = 30

[[event]]
id = "rotate"
at_step = 3
run = "events/rotate.sh"
announce = "the {{animal}} has moved"

[[fault]]
id = "flaky"
tool = "bash"
rate = 0.2
at_most = 3
kind = "error"
message = "error: no {{animal}} here"
"""


def written(tmp_path, text=LIVING, **files):
    changes = {"task.toml": FILES["task.toml"] + text, "events/rotate.sh": "true\n", **files}
    return write_task(tmp_path, changes)


def test_the_tables_are_read(tmp_path):
    manifest = load_task(written(tmp_path)).manifest
    assert (manifest.clock.begins.hour, manifest.clock.step_s) == (9, 30.0)
    assert [event.id for event in manifest.event] == ["rotate"]
    (fault,) = manifest.fault
    assert (fault.kind, fault.rate, fault.is_executed) == (FaultKind.ERROR, 0.2, False)


def test_a_task_without_events_has_a_clock(tmp_path):
    manifest = load_task(write_task(tmp_path)).manifest
    assert (manifest.event, manifest.fault, manifest.clock.step_s) == ((), (), 60.0)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('T09:00:00Z"', 'T09:00:00"', ":26: clock.start: expected a time in UTC such as"),
        ("03-02T", "13-02T", ":26: clock.start: expected a time in UTC such as"),
        ("= 30", "= 0", ":27: clock.step_s: expected greater than 0, got 0"),
        (
            "at_step = 3",
            "at_step = 3\nafter_s = 5",
            ":29: event.0: expected exactly one of at_step, after_s and when, "
            "got at_step and after_s",
        ),
        ("at_step = 3\n", "", ":29: event.0: expected exactly one of at_step, after_s and when"),
        ("at_step", "at_stop", ":31: event.0.at_stop: unknown field 'at_stop'; did you mean"),
        (
            'run = "events/rotate.sh"\nannounce = "the {{animal}} has moved"\n',
            "",
            ":29: event.0: it does nothing: expected run = ",
        ),
        ("events/rotate", "events/../setup/setup", ":32: event.0.run: expected a script below"),
        ("events/rotate", "setup/setup", ":32: event.0.run: expected a script below events/"),
        ("events/rotate", "events/rot", ":32: event.0.run: no such file: "),
        ("the {{animal}}", "the {{animl}}", ":33: event.0.announce: unknown slot {{animl}}; did"),
        ("no {{animal}}", "no {{x}}", ":41: fault.0.message: unknown slot {{x}}; known: animal"),
        ('id = "flaky"', 'id = "rotate"', ":36: fault.0.id: expected another id, 'rotate' is"),
        ('"bash"', '"submit"', ":35: fault.0: expected a tool of a surface, got 'submit'"),
        ("rate = 0.2\nat_most = 3\n", "", ":35: fault.0: expected either calls = [2, 5] or rate"),
        ("rate = 0.2", "calls = [1]", ":35: fault.0: expected the numbers of calls, and at_most"),
        ("rate = 0.2\nat_most = 3", "calls = [2, 2]", ":35: fault.0: expected distinct numbers"),
        ("rate = 0.2\nat_most = 3", "calls = [0]", ":38: fault.0.calls.0: expected greater than"),
        ("rate = 0.2", "rate = 2", ":38: fault.0.rate: expected less than or equal to 1, got 2"),
        ('"error"\n', '"slow"\npoint = "before"\n', ":35: fault.0: expected no point: kind slow"),
        (
            '"error"\n',
            '"garbled"\n',
            ":35: fault.0: expected no message: kind garbled",
        ),
        ('"error"\n', '"error"\ndelay_s = 3\n', ":35: fault.0: expected delay_s only of a slow"),
        ('"error"', '"broken"', ":40: fault.0.kind: expected 'error', 'timeout', 'slow'"),
    ],
)
def test_a_mistake_is_named_with_file_line_and_field(tmp_path, old, new, message):
    assert LIVING.count(old) == 1
    with pytest.raises(TaskError) as caught:
        load_task(written(tmp_path, LIVING.replace(old, new)))
    assert f"zoo/feed/task.toml{message}" in str(caught.value)
