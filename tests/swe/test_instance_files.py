"""Files of instances: the layouts that are read, and the input that is refused."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import TaskError
from agentgym.swe.instance_files import read_instances

DIFF = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"
FOUR: dict[str, Any] = {
    "instance_id": "octo__cat-17",
    "repo": "octo/cat",
    "base_commit": "ab" * 20,
    "patch": DIFF,
    "test_patch": DIFF,
    "problem_statement": "It purrs twice.",
    "hints_text": "See purr().",
    "created_at": "2023-05-01T12:00:00Z",
    "version": "3.1",
    "FAIL_TO_PASS": '["t.py::test_a", "t.py::test_b[x y]"]',
    "PASS_TO_PASS": ["t.py::test_c"],
    "environment_setup_commit": "cd" * 20,
}
MULTI: dict[str, Any] = {
    "org": "octo",
    "repo": "cat",
    "number": 3,
    "lang": "ts",
    "title": "Purr once",
    "body": None,
    "base": {"label": "octo:main", "ref": "main", "sha": "ab" * 20},
    "resolved_issues": [{"number": 1, "title": "Twice", "body": "It purrs twice."}],
    "fix_patch": DIFF,
    "test_patch": DIFF,
    "f2p_tests": {"a": {"run": "PASS", "test": "FAIL", "fix": "PASS"}},
    "n2p_tests": {"b": {"run": "NONE", "test": "FAIL", "fix": "PASS"}},
    "p2p_tests": {"c": {"run": "PASS", "test": "PASS", "fix": "PASS"}},
}
PRO: dict[str, Any] = {
    "instance_id": "instance_octo__cat-abc-v1",
    "repo": "octo/cat",
    "base_commit": "ab" * 20,
    "patch": DIFF,
    "test_patch": DIFF,
    "problem_statement": "It purrs twice.",
    "requirements": "- Purr once.",
    "interface": "None",
    "repo_language": "js",
    "fail_to_pass": "['test/a.js | purrs', \"it's quiet\"]",
    "pass_to_pass": "[]",
    "selected_test_files_to_run": '["test/a.js"]',
}


def written(folder: Path, *entries: Any) -> Path:
    path = folder / "instances.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def test_version_4_is_read(tmp_path: Path) -> None:
    (found,) = read_instances(written(tmp_path, FOUR))
    assert found.id == "octo__cat-17"
    assert found.fail_to_pass == ("t.py::test_a", "t.py::test_b[x y]")
    assert found.pass_to_pass == ("t.py::test_c",)
    assert found.created_at == datetime(2023, 5, 1, 12, tzinfo=UTC)
    assert found.environment is None and not found.fail_only


def test_version_5_states_its_command_and_parser(tmp_path: Path) -> None:
    script = (
        "#!/bin/bash\ngit apply -v - <<'EOF'\nEOF\n: '>>>>> Start Test Output'\n"
        "pytest -rA t.py\n: '>>>>> End Test Output'\ngit checkout ab t.py\n"
    )
    five = FOUR | {
        "image": "x",
        "eval_script": script,
        "log_parser": "parse_log_pytest",
        "eval_type": "fail_only",
    }
    (found,) = read_instances(written(tmp_path, five))
    assert found.environment is not None and found.fail_only
    assert found.environment.test_command == "pytest -rA t.py"
    assert found.environment.parser == "parse_log_pytest"


def test_an_install_configuration_is_read(tmp_path: Path) -> None:
    config = {"python": 3.9, "install": "pip install -e .", "pip_packages": ["a==1"],
              "test_cmd": "pytest -rA", "log_parser": "pytest"}  # fmt: skip
    (found,) = read_instances(written(tmp_path, FOUR | {"install_config": json.dumps(config)}))
    assert found.environment is not None
    assert found.environment.runtime == "3.9"
    assert found.environment.install == ("pip install -e .",)
    assert found.environment.packages == ("a==1",)


def test_multi_swe_bench_is_read(tmp_path: Path) -> None:
    (found,) = read_instances(written(tmp_path, MULTI))
    assert (found.id, found.repo, found.language) == ("octo__cat-3", "octo/cat", "typescript")
    assert found.fail_to_pass == ("a", "b") and found.pass_to_pass == ("c",)
    assert found.problem_statement == "Twice\n\nIt purrs twice."


def test_swe_bench_pro_is_read(tmp_path: Path) -> None:
    (found,) = read_instances(written(tmp_path, PRO))
    assert found.fail_to_pass == ("test/a.js | purrs", "it's quiet")
    assert found.test_files == ("test/a.js",) and found.language == "javascript"
    assert "Requirements:\n- Purr once." in found.problem_statement


def test_a_json_array_is_read(tmp_path: Path) -> None:
    path = tmp_path / "instances.json"
    path.write_text(json.dumps([FOUR, PRO]))
    assert [found.id for found in read_instances(path)] == [FOUR["instance_id"], PRO["instance_id"]]


HOSTILE = {
    "a path as the id": ({"instance_id": "../../etc"}, "instance_id"),
    "a path as the repository": ({"repo": "../.."}, "repo: expected owner/name"),
    "an option as the commit": ({"base_commit": "--upload-pack=x"}, "base_commit"),
    "no commit": ({"base_commit": ""}, "base_commit"),
    "no tests": ({"FAIL_TO_PASS": "[]"}, "names no test"),
    "code as tests": ({"FAIL_TO_PASS": "[__import__('os')]"}, "expected a list"),
    "tests of numbers": ({"FAIL_TO_PASS": [1]}, "got 1"),
    "a list with blanks and no end": ({"FAIL_TO_PASS": "[" + "'a'  " * 500}, "expected a list"),
    "a deep list": ({"FAIL_TO_PASS": "[" * 100_000}, "expected a list"),
    "no gold patch": ({"patch": "\n"}, "patch: expected the gold patch"),
    "a NUL": ({"problem_statement": "a\0b"}, "NUL"),
    "half a surrogate": ({"problem_statement": "\ud800"}, "not Unicode"),
    "no time": ({"created_at": "yesterday"}, "created_at"),
    "an endless time": ({"created_at": 1e300}, "created_at"),
    "a huge test id": ({"PASS_TO_PASS": ["x" * 30_000]}, "PASS_TO_PASS"),
    "another kind": ({"eval_type": "all"}, "eval_type"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_fields_are_refused_by_line(tmp_path: Path, case: str) -> None:
    changed, told = HOSTILE[case]
    path = written(tmp_path, FOUR, FOUR | {"instance_id": "other"} | changed)
    with pytest.raises(TaskError) as error:
        read_instances(path)
    assert str(error.value).startswith(f"{path}:2: ") and told in str(error.value)
    refused: list[str] = []
    assert len(read_instances(path, refused=refused.append)) == 1 and len(refused) == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{", "is not JSON"),
        (b"\xff{}", "not UTF-8"),
        (b"[1]", "expected a JSON object"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"instance_id": Infinity}', "not a JSON number"),
    ],
)
def test_broken_lines_are_refused(tmp_path: Path, line: bytes, told: str) -> None:
    path = tmp_path / "instances.jsonl"
    path.write_bytes(json.dumps(FOUR).encode() + b"\n\n" + line + b"\n")
    with pytest.raises(TaskError, match=f":3: .*{told}"):
        read_instances(path)


def test_a_line_of_millions_of_values_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "instances.jsonl"
    path.write_text("[" + "[]," * 2_100_000 + "[]]\n")
    with pytest.raises(TaskError, match="more than 4000000 commas"):
        read_instances(path)
    (found,) = read_instances(written(tmp_path, FOUR | {"hints_text": "[]," * 2_100_000}))
    assert len(found.hints) == 6_300_000


def test_starts_of_tests_without_an_end_are_no_command(tmp_path: Path) -> None:
    # One pattern for both took a minute for 8,000 of them.
    script = ">>>>> Start Test Output\n" * 100_000
    (found,) = read_instances(written(tmp_path, FOUR | {"eval_script": script}))
    assert found.environment is None


def test_a_value_of_any_depth_is_named(tmp_path: Path) -> None:
    # The parser of JSON and repr have the same limit, but repr is called deeper in the stack.
    for depth in range(900, 1_000):
        (tmp_path / "i.jsonl").write_text(f'{{"instance_id": {"[" * depth}{"]" * depth}}}\n')
        with pytest.raises(TaskError, match="instance"):
            read_instances(tmp_path / "i.jsonl")


def test_a_repeated_id_names_both_lines(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r":2: .*also in line 1"):
        read_instances(written(tmp_path, FOUR, FOUR))


def test_an_absent_or_empty_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no such file"):
        read_instances(tmp_path / "absent.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(TaskError, match="no usable instance"):
        read_instances(tmp_path / "empty.jsonl")
