"""Solutions and mutants as actions; the shell text is judged by a real bash."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from task_folder import write_task

from agentgym.errors import TaskError
from agentgym.records import Action, Json, Observation
from agentgym.task.load import load_task
from agentgym.task.model import Instance
from agentgym.task.reference_actions import (
    oracle,
    read_cues,
    read_reference,
    read_reference_actions,
)
from agentgym.task.reference_policy import ReferencePolicy


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    return load_task(write_task(tmp_path)).instance(5)


def with_params(instance: Instance, **params: Json) -> Instance:
    return Instance(instance.task, instance.seed, params, instance.instruction)


@pytest.mark.parametrize(
    "awkward", ["plain", 'o\'possum "$HOME" `id` \\ ; exit 9', "two\nlines", "é‮ ✓", "", "-n"]
)
def test_a_script_is_one_bash_call_that_sees_its_parameters(
    instance: Instance, tmp_path: Path, awkward: str
) -> None:
    path = tmp_path / "x.sh"
    path.write_text('printf "%s\\0" "$PARAM_NAME" "$PARAM_COUNT" "$AGENTGYM_PARAMS"\n')
    call, end = read_reference_actions(path, with_params(instance, name=awkward, count=3))
    assert end == Action("submit")
    assert call.tool == "bash"
    assert call.arguments["timeout_s"] == 300
    done = subprocess.run(
        ["bash", "-c", str(call.arguments["command"])], capture_output=True, check=True, timeout=20
    )
    name, count, document, _ = done.stdout.decode().split("\0")
    assert (name, count) == (awkward, "3")
    assert json.loads(document) == {"name": awkward, "count": 3}


def test_braces_in_a_script_belong_to_the_script(instance: Instance, tmp_path: Path) -> None:
    path = tmp_path / "x.sh"
    path.write_text("echo {{animal}}\n")
    assert str(read_reference_actions(path, instance)[0].arguments["command"]).endswith(
        "echo {{animal}}\n"
    )


def test_actions_are_read_line_by_line_with_slots_filled(
    instance: Instance, tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        "# Must not pass: says what to do and does not do it.\n\n"
        '{"tool": "write_file", "arguments": {"path": "/{{name}}.txt", "n": "{{count}}"}}\r\n'
        '{"tool": "bash", "arguments": {"command": "echo # {{count}}\\u2028"}}\n'
    )
    assert read_reference_actions(path, with_params(instance, name="a", count=3)) == (
        Action("write_file", {"path": "/a.txt", "n": 3}),
        Action("bash", {"command": "echo # 3\u2028"}),
        Action("submit"),
    )


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ('"{{count}}"', "20"),
        ('"{{share}}"', "0.5"),
        ('"{{paid}}"', "true"),
        ('"{{name}}"', "a"),
        ('"{{count}} EUR"', "20 EUR"),
        ("7", "7"),
    ],
)
def test_an_answer_is_text_whatever_its_slot_holds(
    instance: Instance, tmp_path: Path, answer: str, read: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(f'{{"tool": "submit", "arguments": {{"answer": {answer}}}}}')
    drawn = with_params(instance, name="a", count=20, share=0.5, paid=True)
    assert read_reference_actions(path, drawn) == (Action("submit", {"answer": read}),)


def test_cues_tell_where_each_action_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = '# First.\n{"tool": "look"}\n\n{"tool": "feed"}\n'
    changes = {"solution/solve.sh": None, "solution/actions.jsonl": lines}
    instance = load_task(write_task(tmp_path, changes)).instance(5)
    Path("x.patch").write_text('# Wrong.\n@@\n-{"tool": "feed"}\n+{"tool": "pet"}\n')
    found = [(cue.action.tool, cue.where) for cue in read_cues(tmp_path / "x.patch", instance)]
    assert found == [
        ("look", "zoo/feed/solution/actions.jsonl:2"),
        ("pet", "x.patch:4"),
        ("submit", "x.patch:4"),
    ]


def test_a_mutant_can_be_a_patch_of_a_policy(tmp_path: Path) -> None:
    policy = 'def solve(view):\n    yield view.act("look")\n    yield view.act("feed")\n'
    wrong = '# Wrong.\n@@\n-    yield view.act("feed")\n+    yield view.act("pet")\n'
    changes = {"solution/solve.sh": None, "solution/policy.py": policy, "mutants/pets.patch": wrong}
    task = load_task(write_task(tmp_path, changes))
    path = read_reference(task.mutants()["pets"], task.instance(5))
    assert isinstance(path, Path)
    played = ReferencePolicy(path, "")
    assert [played.act(Observation("")).tool for _ in range(3)] == ["look", "pet", "submit"]
    path.write_text(wrong.replace("feed", "fed"))
    with pytest.raises(TaskError, match=r"pets\.patch:3"):
        load_task(task.folder)


@pytest.mark.parametrize("end", ["submit", "give_up"])
def test_nothing_is_added_after_an_action_that_ends_the_episode(
    instance: Instance, tmp_path: Path, end: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"tool": end, "arguments": {"a": "b"}}))
    assert read_reference_actions(path, instance) == (Action(end, {"a": "b"}),)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("x.jsonl", "", "x.jsonl: expected at least one command or action, got none"),
        ("x.jsonl", "# only words\n", "x.jsonl: expected at least one command or action, got none"),
        ("x.jsonl", '{"tool": "submit"}\n[]', "x.jsonl:2: an action is an object with"),
        ("x.jsonl", '\n{"tool": 3}', "x.jsonl:2: an action needs 'tool'"),
        ("x.jsonl", '{"tool": "a", "arguments": {"b": "{{anmal}}"}}', "x.jsonl:1: unknown slot"),
        ("x.jsonl", "[" * 100_000, "x.jsonl:1: expected an action in JSON: maximum recursion"),
        ("x.sh", "  \n", "x.sh: expected at least one command or action, got none"),
        ("x.sh", b"echo\n\xff\n", "x.sh:2: expected UTF-8, got byte 0xff"),
        ("none.sh", None, "none.sh: cannot be read: No such file"),
    ],
)
def test_what_is_not_a_solution_is_named_by_line(
    instance: Instance,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    text: str | bytes | None,
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(TaskError) as caught:
        read_reference_actions(tmp_path / name, instance)
    assert str(caught.value).startswith(expected)


def test_a_patch_changes_the_script_that_solves(instance: Instance, tmp_path: Path) -> None:
    path = tmp_path / "x.patch"
    path.write_text('# Must not pass.\n@@\n+cd /\n echo "$PARAM_ANIMAL"\n')
    whole = path.with_suffix(".sh")
    whole.write_text('# Must not pass.\ncd /\necho "$PARAM_ANIMAL"\n')
    assert read_reference_actions(path, instance) == read_reference_actions(whole, instance)


def test_a_patch_changes_the_actions_that_solve(tmp_path: Path) -> None:
    actions = '{"tool": "look"}\n{"tool": "feed", "arguments": {"animal": "{{animal}}"}}\n'
    patch = tmp_path / "x.patch"
    patch.write_text('# Must not pass.\n@@\n {"tool": "look"}\n+{"tool": "pet"}\n')
    changes = {"solution/solve.sh": None, "solution/actions.jsonl": actions}
    instance = load_task(write_task(tmp_path, changes)).instance(5)
    animal = instance.params["animal"]
    assert read_reference_actions(patch, instance) == (
        Action("look"),
        Action("pet"),
        Action("feed", {"animal": animal}),
        Action("submit"),
    )
    patch.write_text('@@\n {"tool": "look"}\n+{"tool": 3}\n')
    with pytest.raises(TaskError, match=r"x.patch:3: an action needs 'tool'"):
        read_reference_actions(patch, instance)


def test_the_oracle_plays_whichever_solution_there_is(tmp_path: Path, instance: Instance) -> None:
    assert "PARAM_ANIMAL" in str(oracle(instance)[0].arguments["command"])
    solution = tmp_path / "zoo/feed/solution"
    (solution / "solve.sh").unlink()
    (solution / "actions.jsonl").write_text('{"tool": "submit", "arguments": {"answer": "42"}}')
    assert oracle(instance) == (Action("submit", {"answer": "42"}),)


@pytest.mark.parametrize("place", ["solution/policy.py", "mutants/pets.py"])
def test_no_policy_is_executed_where_a_task_is_only_read(tmp_path: Path, place: str) -> None:
    left = tmp_path / "left"
    policy = f"open({str(left)!r}, 'w').close()\ndef solve(view):\n    yield view.act('look')\n"
    changes: dict[str, str | None] = {place: policy}
    if place.startswith("solution"):
        changes["solution/solve.sh"] = None
    task = load_task(write_task(tmp_path, changes))
    assert task.id and not left.exists()
    ReferencePolicy(task.folder / place, "")
    assert left.exists()


@pytest.mark.parametrize(
    "policy",
    [
        "from .moves import solve\n",
        "from .moves import *\n",
        "solve = make()\n",
        "solve: Solve = make()\n",
        "if FAST:\n    from quick import *\nelse:\n    from slow import other as solve\n",
        "try:\n    import solve\nexcept ImportError:\n    pass\n",
        "class solve:\n    pass\n",
        "def make():\n    global solve\n    solve = 1\nmake()\n",
        "globals()['solve'] = make()\n",
    ],
)
def test_every_way_to_define_a_policy_is_one(tmp_path: Path, policy: str) -> None:
    load_task(write_task(tmp_path, {"mutants/pets.py": policy}))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("def solved(view):\n    yield\n", r"pets\.py: expected a function solve\(view\)"),
        ("x = 1\ndef solve(view:\n", r"pets\.py:2: cannot be loaded: SyntaxError"),
        ("x = " + "(" * 5000, r"pets\.py(:1)?: cannot be loaded: "),
        ("x = 1\n" * 300_000, r"pets\.py: cannot be loaded: LargeSourceError"),
    ],
)
def test_what_is_no_policy_is_named(tmp_path: Path, policy: str, expected: str) -> None:
    with pytest.raises(TaskError, match=expected):
        load_task(write_task(tmp_path, {"mutants/pets.py": policy}))
