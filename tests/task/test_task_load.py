"""Task folders: a sound one is read whole, each kind of fault is named with file, line, field."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from task_folder import FILES, TASK_TOML, write_task

from agentgym.errors import NotFoundError, TaskError
from agentgym.records import Limits
from agentgym.task.load import find_task, load_task


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENTGYM_PATH", raising=False)


def test_a_sound_folder_becomes_a_task(tmp_path: Path) -> None:
    task = load_task(write_task(tmp_path))
    assert task.id == "zoo/feed-v2"
    assert task.folder == tmp_path / "zoo/feed"
    assert task.manifest.needs == ("awk", "python3")
    assert task.manifest.limits.over(Limits()) == Limits(wall_s=600, pids=64)
    assert task.manifest.setup.timeout_s == 7.5
    assert task.manifest.replay.volatile_text == (r"pid \d+",)
    assert not task.manifest.abstain
    assert {name: path.name for name, path in task.mutants().items()} == {
        "eats_all": "eats_all.sh",
        "gives_up": "gives_up.jsonl",
    }


def test_an_editor_may_put_a_byte_order_mark_before_a_text(tmp_path: Path) -> None:
    marked = {name: f"\ufeff{FILES[name]}" for name in ("task.toml", "instruction.md")}
    task = load_task(write_task(tmp_path, marked))
    assert task.id == "zoo/feed-v2" and task.instruction == FILES["instruction.md"]


def test_the_least_a_task_needs(tmp_path: Path) -> None:
    text = (
        'schema_version = "agentgym.task/1"\nid = "zoo/feed-v1"\ntitle = "t"\n'
        'difficulty = "hard"\nenv = "terminal"\n'
    )
    left_out = dict.fromkeys(("setup/setup.sh", "setup/data/apples.txt", "mutants/eats_all.sh"))
    changes = {"task.toml": text, "instruction.md": "Do it.", "mutants/gives_up.jsonl": None}
    task = load_task(write_task(tmp_path, {**left_out, **changes}))
    assert task.mutants() == {}
    assert task.instance(3).instruction == "Do it."
    assert task.instance(3).params == {}


def test_a_folder_is_read_wherever_the_caller_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write_task(tmp_path))
    assert load_task(Path(".")).folder == tmp_path / "zoo/feed"


def test_hidden_files_are_not_the_tasks_business(tmp_path: Path) -> None:
    names = (".DS_Store", "mutants/.eats_all.sh.swp", "solution/.gitkeep")
    assert load_task(write_task(tmp_path, dict.fromkeys(names, ""))).id == "zoo/feed-v2"


def edited(old: str, new: str) -> dict[str, str]:
    assert TASK_TOML.count(old) == 1
    return {"task.toml": TASK_TOML.replace(old, new)}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            edited("agentgym.task/1", "agentgym.task/2"),
            "task.toml:1: schema_version: expected 'agentgym.task/1', got 'agentgym.task/2'",
        ),
        (
            edited("zoo/feed-v2", "zoo/feed"),
            "task.toml:2: id: expected suite/name-vN in lower case, e.g. 'web/shop-v1', "
            "got 'zoo/feed'",
        ),
        (
            edited("zoo/feed-v2", "zoo/feed-v0"),
            "task.toml:2: id: expected suite/name-vN in lower case, e.g. 'web/shop-v1', "
            "got 'zoo/feed-v0'",
        ),
        (
            edited("zoo/feed-v2", "farm/feed-v2"),
            "task.toml:2: id: expected 'zoo/feed-vN' after the folder, got 'farm/feed-v2'",
        ),
        (
            edited("zoo/feed-v2", "zoo/fed-v2"),
            "task.toml:2: id: expected 'zoo/feed-vN' after the folder, got 'zoo/fed-v2'",
        ),
        (
            edited("title =", "tittle ="),
            "task.toml:1: title: required, but absent\n"
            "task.toml:3: tittle: unknown field 'tittle'; did you mean 'title'?",
        ),
        (
            edited('"easy"', '"trivial"'),
            "task.toml:5: difficulty: expected 'easy', 'medium' or 'hard', got 'trivial'",
        ),
        (
            edited('["awk", "python3"]', '["awk", "rm -rf /"]'),
            "task.toml:7: needs.1: expected text that matches "
            "'^[A-Za-z0-9_][A-Za-z0-9_.+-]*$', got 'rm -rf /'",
        ),
        (
            edited("max_steps = 9", "max_steps = 0"),
            "task.toml:8: max_steps: expected greater than 0, got 0",
        ),
        (
            edited("pids = 64", "procs = 64"),
            "task.toml:12: limits.procs: unknown field 'procs'; "
            "known: memory_mb, cpus, pids, disk_mb, wall_s, output_bytes",
        ),
        (
            edited("timeout_s = 7.5", 'timeout_s = "soon"'),
            "task.toml:15: setup.timeout_s: expected a number, got 'soon'",
        ),
        (
            edited("range = [20, 90]", "range = [90, 20]"),
            "task.toml:19: params.count: expected range = [first, last], got [90, 20]",
        ),
        (
            edited("range = [20, 90]", "range = [20, 9.5]"),
            "task.toml:19: params.count.range.1: expected an integer, got 9.5",
        ),
        (
            edited("range = [20, 90]", "range = [20]"),
            "task.toml:19: params.count: expected range = [first, last], got [20]",
        ),
        (
            edited("range = [20, 90]", "rnage = [20, 90]"),
            "task.toml:19: params.count.rnage: unknown field 'rnage'; did you mean 'range'?",
        ),
        (
            edited("{ range = [20, 90] }", "{ range = [20, 90], choice = [1] }"),
            "task.toml:19: params.count: expected either choice = [...] or range = [first, last]",
        ),
        (
            edited("{ range = [20, 90] }", "{ choice = [] }"),
            "task.toml:19: params.count: expected at least one choice, got none",
        ),
        (
            edited("{ range = [20, 90] }", "{ choice = [1, true, 1] }"),
            "task.toml:19: params.count: expected distinct choices, got one of them twice",
        ),
        (
            edited("{ range = [20, 90] }", "{ choice = [1, [2]] }"),
            "task.toml:19: params.count.choice.1: "
            "expected text, a number, true or false in a choice, or a table of such",
        ),
        (
            edited("{ range = [20, 90] }", '{ choice = ["a\\u0000"] }'),
            "task.toml:19: params.count.choice.0: "
            "expected text without NUL: it has to fit into an environment variable",
        ),
        (
            edited("count = {", "Count = {"),
            "task.toml:19: params.Count: expected text that matches '^[a-z][a-z0-9_]*$', "
            "got 'Count'",
        ),
        (
            edited('"/srv/zoo/*.pid"', '"zoo/*.pid"'),
            "task.toml:22: replay.volatile_paths.0: expected an absolute path of the sandbox, "
            "got 'zoo/*.pid'",
        ),
        (
            edited(r'"pid \\d+"', '"pid ("'),
            "task.toml:23: replay.volatile_text.0: expected a regular expression, got 'pid (': "
            "missing ), unterminated subpattern at position 4",
        ),
        (
            edited(r'"pid \\d+"', '"a{99999999999}"'),
            "task.toml:23: replay.volatile_text.0: expected a regular expression, "
            "got 'a{99999999999}': the repetition number is too large",
        ),
        ({"task.toml": None}, "task.toml: cannot be read: No such file or directory"),
        ({"instruction.md": None}, "instruction.md: required, but absent"),
        ({"instruction.md": " \n"}, "instruction.md: expected text, got an empty file"),
        (
            {"instruction.md": "Give\nthe {{animals}} food"},
            "instruction.md:2: unknown slot {{animals}}; did you mean {{animal}}?",
        ),
        ({"checks/rubric.toml": None}, "checks/rubric.toml: required, but absent"),
        ({"setup/setup.sh": None}, "setup/setup.sh: required, but absent"),
        (
            {"solution/solve.sh": None},
            "solution: expected one of solve.sh, actions.jsonl, policy.py, found none of them",
        ),
        (
            {"solution/actions.jsonl": "{}"},
            "solution: expected one of solve.sh, actions.jsonl, policy.py, "
            "found solve.sh and actions.jsonl",
        ),
        (
            {"solution/slove.sh": "x"},
            "solution/slove.sh: unknown entry; did you mean 'solve.sh'?",
        ),
        (
            {"solution/solve.sh": "\n"},
            "solution/solve.sh: expected at least one command or action, got none",
        ),
        (
            {"instructions.md": "x"},
            "instructions.md: unknown entry; did you mean 'instruction.md'?",
        ),
        ({"mutant/x.sh": "x"}, "mutant: unknown entry; did you mean 'mutants'?"),
        (
            {"notes": "x"},
            "notes: unknown entry; "
            "known: task.toml, instruction.md, user.toml, setup, solution, checks, mutants, events",
        ),
        (
            {"mutants/other.txt": "x"},
            "mutants/other.txt: expected a mutant in a .sh, .jsonl, .patch or .py file",
        ),
        (
            {"mutants/other.py": "x = 1"},
            "mutants/other.py: expected a function solve(view)",
        ),
        (
            {"mutants/eats_all.jsonl": "{}", "mutants/eats_all.sh": "x"},
            "mutants/eats_all.sh: expected another name, eats_all.jsonl has it too",
        ),
        (
            {"mutants/gives_up.jsonl": '{"tool": "submit"}\n{"tool": "bash"'},
            "mutants/gives_up.jsonl:2: expected an action in JSON: "
            "Expecting ',' delimiter: line 1 column 16 (char 15)",
        ),
        (
            {"mutants/gives_up.jsonl": '{"tool": "write_file", "argument": {}}'},
            "mutants/gives_up.jsonl:1: unknown field 'argument' in an action; "
            "expected 'tool' and 'arguments'",
        ),
        (
            {"setup/setup.sh": "set -eu\r\necho hello\r\n"},
            "setup/setup.sh:1: expected lines that end with LF, got CRLF; "
            "run: sed -i 's/\\r$//' setup/setup.sh",
        ),
        (
            {"solution/solve.sh": "\ufeff# Give.\n", "mutants/hides.patch": "# Must not pass.\r\n"},
            "mutants/hides.patch:1: expected lines that end with LF, got CRLF; "
            "run: sed -i 's/\\r$//' mutants/hides.patch\n"
            "solution/solve.sh:1: expected UTF-8 without a byte order mark",
        ),
        (
            {"mutants/hides.patch": "# Must not pass.\n@@\n-echo $PARAM_ANIMAL\n"},
            "mutants/hides.patch:3: expected a line of solution/solve.sh from line 1 on, "
            "got 'echo $PARAM_ANIMAL'; did you mean 'echo \"$PARAM_ANIMAL\"'?",
        ),
    ],
)
def test_a_fault_is_named_with_file_line_and_field(
    tmp_path: Path, changes: dict[str, str | None], expected: str
) -> None:
    folder = write_task(tmp_path, changes)
    with pytest.raises(TaskError) as caught:
        load_task(folder)
    assert str(caught.value).replace("zoo/feed/", "") == expected


def test_faults_of_the_manifest_and_of_the_folder_are_said_together(tmp_path: Path) -> None:
    changes = {**edited("zoo/feed-v2", "zoo/eat-v2"), "checks/rubric.toml": None, "extra": ""}
    with pytest.raises(TaskError) as caught:
        load_task(write_task(tmp_path, changes))
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "zoo/feed/extra",
        "zoo/feed/checks/rubric.toml",
        "zoo/feed/task.toml:2",
    ]
    with pytest.raises(TaskError) as caught:
        load_task(write_task(tmp_path, edited('"easy"', "1")))
    assert len(str(caught.value).splitlines()) == 2


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"zoo/none: expected a task folder, found none"):
        load_task(tmp_path / "zoo/none")


def test_tasks_are_found_on_the_search_path(tmp_path: Path) -> None:
    folder = write_task(tmp_path / "tasks")
    assert find_task("zoo/feed-v2").folder == folder
    with pytest.raises(NotFoundError, match=r"did you mean 'zoo/feed-v2'\?"):
        find_task("zoo/feed-v3")


def test_an_instance_is_a_function_of_the_seed(tmp_path: Path) -> None:
    task = load_task(write_task(tmp_path))
    instance = task.instance(11)
    assert instance == load_task(tmp_path / "zoo/feed").instance(11)
    animal, count = instance.params["animal"], instance.params["count"]
    assert instance.instruction == f"Give the {animal}\n{count} apples.\n"
    assert len({str(task.instance(seed).params) for seed in range(40)}) > 20


def test_a_fingerprint_changes_with_what_the_snapshot_depends_on_and_nothing_else(
    tmp_path: Path,
) -> None:
    folder = write_task(tmp_path)

    def fingerprint(seed: int = 1) -> str:
        return load_task(folder).instance(seed).fingerprint()

    first = fingerprint()
    assert fingerprint() == first
    (folder / "solution/solve.sh").write_text("other\n")
    (folder / "instruction.md").write_text("Other words.\n")
    (folder / "setup/setup.sh").touch()
    assert fingerprint() == first

    seen = [first, fingerprint(seed=2)]
    for change in (
        lambda: (folder / "setup/data/apples.txt").write_text("pear\n"),
        lambda: (folder / "setup/data/apples.txt").chmod(0o600),
        lambda: (folder / "setup/data/apples.txt").rename(folder / "setup/data/apple.txt"),
        lambda: (folder / "setup/data/empty").mkdir(),
        lambda: os.symlink("apple.txt", folder / "setup/link"),
        lambda: (folder / "task.toml").write_text(TASK_TOML.replace("7.5", "8")),
    ):
        change()
        seen.append(fingerprint())
    assert len(set(seen)) == len(seen)


def test_a_setup_folder_with_a_pipe_is_refused_not_waited_for(tmp_path: Path) -> None:
    folder = write_task(tmp_path)
    os.mkfifo(folder / "setup/pipe")
    with pytest.raises(TaskError, match=r"setup/pipe: expected a file, a folder or a link"):
        load_task(folder).instance(0).fingerprint()
