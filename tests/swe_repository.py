"""Small repositories with a history, and the instances that their changes make."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

FIRST = {
    "pyproject.toml": '[project]\nname = "tally"\nversion = "1.0"\n'
    '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n',
    "tally.py": "def total(values):\n    return sum(values) + 1\n\n\ndef mean(values):\n"
    "    return sum(values) / len(values)\n",
    "tests/test_tally.py": "from tally import mean\n\n\ndef test_mean():\n"
    "    assert mean([1, 3]) == 2\n",
}
FIX = {"tally.py": FIRST["tally.py"].replace(" + 1", "")}
TESTS = {
    "tests/test_tally.py": "from tally import mean, total\n\n\ndef test_mean():\n"
    "    assert mean([1, 3]) == 2\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
}


def git(folder: Path, *arguments: str, when: int = 1_700_000_000) -> str:
    """Run Git with a fixed author and time."""
    env = os.environ | {
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
        "GIT_AUTHOR_DATE": f"{when} +0000",
        "GIT_COMMITTER_DATE": f"{when} +0000",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=env, capture_output=True, check=True
    )
    return done.stdout.decode()


def commit(folder: Path, files: dict[str, str], message: str, when: int = 1_700_000_000) -> str:
    """Write files, commit them, and return the id of the commit."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message, when=when)
    return git(folder, "rev-parse", "HEAD").strip()


def make_repository(folder: Path, first: dict[str, str] = FIRST) -> str:
    """Make a repository with one commit and return its id."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    return commit(folder, first, "First")


def diff_of(folder: Path, files: dict[str, str]) -> str:
    """Return the difference that files make, and leave the repository as it was."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    found = git(folder, "diff", "--cached", "HEAD")
    git(folder, "reset", "-q", "--hard", "HEAD")
    return found


def make_instance(clones: Path, **changed: Any) -> dict[str, Any]:
    """Make the clone ``ada/tally`` and return the instance of its fix, in SWE-bench's layout."""
    folder = clones / "ada/tally"
    base = make_repository(folder)
    instance = {
        "instance_id": "ada__tally-1",
        "repo": "ada/tally",
        "base_commit": base,
        "patch": diff_of(folder, FIX),
        "test_patch": diff_of(folder, TESTS),
        "problem_statement": "total([1, 2]) is 4.",
        "hints_text": "",
        "created_at": "2025-06-01T00:00:00Z",
        "version": "1.0",
        "FAIL_TO_PASS": json.dumps(["tests/test_tally.py::test_total"]),
        "PASS_TO_PASS": json.dumps(["tests/test_tally.py::test_mean"]),
        "environment_setup_commit": base,
    }
    return instance | changed


def write_instances(path: Path, *instances: dict[str, Any]) -> Path:
    """Write instances as JSON lines."""
    path.write_text("".join(json.dumps(instance) + "\n" for instance in instances))
    return path
