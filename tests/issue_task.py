"""A small task about a repository, whose hidden tests overlook something."""

import json
from pathlib import Path

SUMS = """import threading

_lock = threading.Lock()


def add(a, b):
    return a - b


def mean(values):
    values = list(values)
    if not values:
        raise ValueError("mean: expected values")
    with _lock:
        return sum(values) / len(values)
"""
SOLUTION = "cd /srv/calc\nsed -i 's/a - b/a + b/' calc/sums.py\n"
TEST = """import pytest

from calc.sums import add, mean


def test_add():
    assert add(1, 2) == 3


def test_mean():
    assert mean(iter([1, 3])) == 2


def test_mean_of_nothing():
    with pytest.raises(ValueError):
        mean([])
"""
FILES = {
    "task.toml": (
        'schema_version = "agentgym.task/1"\nid = "demo/calc-v1"\ntitle = "Sums"\n'
        'difficulty = "easy"\nenv = "swe"\nneeds = ["python3"]\n'
    ),
    "instruction.md": "The repository is `/srv/calc`. **add subtracts**\n",
    "setup/setup.sh": 'cp -r "$AGENTGYM_SETUP/repo" /srv/calc\n',
    "setup/repo/pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\n",
    "setup/repo/calc/__init__.py": "",
    "setup/repo/calc/sums.py": SUMS,
    "setup/repo/tests/test_old.py": "def test_old():\n    assert True\n",
    "solution/solve.sh": SOLUTION,
    "checks/rubric.toml": (
        'schema_version = "agentgym.rubric/1"\n[[checkpoint]]\nid = "resolved"\n'
        'title = "Resolved"\nuse = "checks.resolved"\n'
    ),
    "checks/issue.toml": (
        'schema_version = "agentgym.issue/1"\nroot = "/srv/calc"\ntests = ["tests"]\n'
    ),
    "checks/hidden/tests/test_calc.py": TEST,
    "checks/tests.json": json.dumps(
        {
            "fail_to_pass": ["tests/test_calc.py::test_add"],
            "pass_to_pass": [
                "tests/test_calc.py::test_mean",
                "tests/test_calc.py::test_mean_of_nothing",
                "tests/test_old.py::test_old",
            ],
        }
    ),
    "checks/checks.py": (
        "from pathlib import Path\n\nfrom agentgym.swe.native import judge_issue\n\n\n"
        "def resolved(evidence):\n    return judge_issue(evidence, Path(__file__).parent)\n"
    ),
}


def write_issue(root: Path, changes: dict[str, str | None] = {}) -> Path:  # noqa: B006
    """Write the task, with other contents in the files that are named; return its folder."""
    folder = root / "tasks" / "demo" / "calc"
    for path, text in (FILES | changes).items():
        if text is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    return folder
