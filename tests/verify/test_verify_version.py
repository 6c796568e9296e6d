"""What changes the version of a verifier, and what does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentgym.task.model import Task, TaskManifest
from agentgym.verify.version import verifier_version

RUBRIC = """
schema_version = "agentgym.rubric/1"
[[condition]]
id = "c"
use = "one.check"
[[checkpoint]]
id = "a"
kind = "all"
[[checkpoint.checkpoint]]
id = "b"
use = "two.check"
only_if = ["c"]
with = { use = "three.check" }
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a task and three packs, the search path's last."""
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    for name in ("one", "two", "three"):
        folder = tmp_path / "verifiers" / name
        folder.mkdir(parents=True)
        for file in ("pack.toml", "checks.py", "calibration.toml", "samples.py", "prompt.md"):
            (folder / file).write_text(f"{name} {file}")
    (tmp_path / "task" / "checks").mkdir(parents=True)
    (tmp_path / "task" / "checks" / "rubric.toml").write_text(RUBRIC)
    (tmp_path / "task" / "checks" / "samples.py").write_text("mine")
    return tmp_path


def version(root: Path, **settings: object) -> str:
    manifest = TaskManifest.model_validate(
        {
            "schema_version": "agentgym.task/1",
            "id": "test/case-v1",
            "title": "t",
            "difficulty": "easy",
            "env": "terminal",
            **settings,
        }
    )
    return verifier_version(Task("test/case-v1", root / "task", manifest, ""))


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("task/checks/rubric.toml", True),
        ("task/checks/samples.py", True),
        ("task/checks/calibration.toml", False),
        ("task/checks/data/new.json", True),
        ("task/checks/__pycache__/checks.pyc", False),
        ("task/checks/.rubric.toml.swp", False),
        ("task/instruction.md", False),
        ("verifiers/one/checks.py", True),
        ("verifiers/two/pack.toml", True),
        ("verifiers/two/prompt.md", True),
        ("verifiers/two/calibration.toml", False),
        ("verifiers/two/samples.py", False),
        ("verifiers/three/checks.py", False),
    ],
)
def test_a_version_changes_with_what_decides(root: Path, file: str, counts: bool) -> None:
    before = version(root)
    path = root / file
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text() if path.exists() else "") + "\n# changed\n")
    assert (version(root) != before) is counts


def test_it_does_not_change_with_time_place_or_order(root: Path, tmp_path: Path) -> None:
    before = version(root)
    os.utime(root / "task/checks/rubric.toml", (1, 1))
    assert version(root) == before
    (root / "task").rename(root / "elsewhere")
    (root / "elsewhere").rename(root / "task")
    assert version(root) == before


def test_the_same_size_at_the_same_time_is_seen_too(root: Path) -> None:
    path = root / "verifiers/one/checks.py"
    stat, before = path.stat(), version(root)
    path.write_text("one checks.pY")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert version(root) != before


def test_what_decides_in_the_manifest_is_part_of_it(root: Path) -> None:
    other = [{}, {"abstain": True}, {"grading": {"timeout_s": 90.0}}]
    assert len({version(root, **settings) for settings in other}) == 3
    assert version(root, setup={"timeout_s": 90.0}) == version(root)


@pytest.mark.parametrize("text", ["not toml [", 'use = "absent.check"', "use = 3"])
def test_what_cannot_be_read_has_a_version_too(root: Path, text: str) -> None:
    rubric = root / "task/checks/rubric.toml"
    rubric.write_text(text)
    broken = version(root)
    assert len(broken) == 12
    rubric.unlink()
    assert version(root) not in ("", broken)


def test_a_link_that_leads_nowhere_is_no_obstacle(root: Path) -> None:
    before = version(root)
    (root / "task/checks/link").symlink_to("nowhere")
    assert version(root) != before
