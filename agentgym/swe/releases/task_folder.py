"""A release pair as a task folder of the native suite: base, hidden tests, gold patch."""

from __future__ import annotations

import io
import json
import os
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agentgym.errors import TaskError
from agentgym.swe.belongings import lost_words
from agentgym.swe.diff import write_diff
from agentgym.swe.patch import (
    FILE_BYTES,
    PATCH_BYTES,
    PATCH_FILES,
    Entry,
    FileChange,
    Patch,
    PatchError,
    check_path,
    is_generated,
    patch_of,
)
from agentgym.swe.releases.download import Fetch, source_archive
from agentgym.swe.releases.pair import ReleasePair

SUITE: Final = "swe-releases"
_DATE: Final = "2026-03-02T09:00:00Z"
_DROPPED: Final = ("PKG-INFO",)
"""Files that the building of an archive adds. Files of Git, such as those of submodules, go too."""
_RUBRIC: Final = """\
schema_version = "agentgym.rubric/1"
pass_score = 1.0

[[checkpoint]]
id = "resolved"
title = "The issue is resolved: hidden tests pass, and what worked still works"
use = "checks.resolved"
"""
_CHECKS: Final = '''\
"""The hidden tests decide (docs/swe.md)."""

from pathlib import Path

from agentgym import CheckResult, Evidence
from agentgym.swe.native import judge_issue


def resolved(evidence: Evidence) -> CheckResult:
    """The failing tests pass, and the others still do."""
    return judge_issue(evidence, Path(__file__).parent)
'''
_SETUP: Final = """\
#!/bin/bash
# The repository as the agent finds it: one commit, no reflog, nothing of its future.
set -euo pipefail
umask 022
cp -r "$AGENTGYM_SETUP/repo" {root}
cd {root}
export GIT_AUTHOR_DATE="{date}" GIT_COMMITTER_DATE="{date}"
git -c init.defaultBranch=main init -q --template=
git config core.logAllRefUpdates false
git add -A -f
git commit -q -m "{package} {version}"
# An index without times and inodes is the same in every setup.
rm -f .git/index .git/COMMIT_EDITMSG
git read-tree HEAD
"""


def read_source(archive: bytes, name: str) -> dict[str, Entry]:
    """Return the files of a source release by path, without what its building added.

    Raises:
        TaskError: It is no such archive, too large, or holds an unsafe path.
    """
    found: dict[str, Entry] = {}
    size = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as members:
            for member in members:
                path = member.name.partition("/")[2]
                if not member.isfile() or _is_dropped(path):
                    continue
                size += member.size
                if member.size > FILE_BYTES or size > PATCH_BYTES or len(found) >= PATCH_FILES:
                    raise TaskError(f"{name}: too large for a task")
                file = members.extractfile(member)
                assert file is not None, "it is a regular file"
                found[check_path(path)] = Entry("file", file.read(), bool(member.mode & 0o100))
    except (tarfile.TarError, EOFError, OSError, PatchError) as error:
        raise TaskError(f"{name}: cannot be read as a source release: {error}") from error
    if not found:
        raise TaskError(f"{name}: holds no files")
    return found


def _is_dropped(path: str) -> bool:
    return not path or path in _DROPPED or is_generated(path) or ".git" in path.lower().split("/")


def write_release_task(
    suite_folder: Path, name: str, pair: ReleasePair, *, fetch: Fetch | None = None
) -> Path:
    """Write the task folder of a pair, in place of an earlier one, and return it.

    Args:
        suite_folder: Folder of the suite.
        name: Name of the definition, and of the task.
        pair: The definition.
        fetch: See `source_archive`.

    Raises:
        TaskError: A release cannot be had, or does not fit the definition.
    """
    sources = {
        one.file: read_source(source_archive(pair.package, one, fetch=fetch), one.file)
        for one in (pair.base, pair.fixed)
    }
    base, fixed = sources[pair.base.file], sources[pair.fixed.file]
    for path in (*pair.tests, pair.config):
        if path not in (base if path == pair.config else fixed):
            raise TaskError(f"{name}: the release has no {path}")
    changes = patch_of(
        FileChange(path, base.get(path), fixed.get(path)) for path in {*base, *fixed}
    )
    gold = changes.only(lambda path: not _is_restored(path, pair))
    # Tests that did not change are restored from the base, where the agent may read them.
    hidden = {
        path: entry
        for path, entry in fixed.items()
        if _is_restored(path, pair) and entry != base.get(path)
    }
    suite_folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=suite_folder) as aside:
        fresh = Path(aside) / name
        _write_files(fresh / "setup" / "repo", base)
        _write_files(fresh / "checks" / "hidden", hidden)
        _write_texts(fresh, name, pair, gold)
        target = suite_folder / name
        if target.exists():
            target.rename(Path(aside) / "old")
        fresh.rename(target)
    return target


def _is_restored(path: str, pair: ReleasePair) -> bool:
    return any(path == top or path.startswith(f"{top}/") for top in pair.restore)


def _write_files(folder: Path, files: Mapping[str, Entry]) -> None:
    for path, entry in files.items():
        full = folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(entry.data)
        full.chmod(0o755 if entry.executable else 0o644)


def _write_texts(folder: Path, name: str, pair: ReleasePair, gold: Patch) -> None:
    root = f"/srv/{pair.package}"
    quoted = json.dumps
    texts = {
        "task.toml": "\n".join(
            [
                'schema_version = "agentgym.task/1"',
                f'id = "{SUITE}/{name}-v1"',
                f"title = {quoted(pair.title)}",
                'tags = ["python", "release"]',
                f'difficulty = "{pair.difficulty}"',
                'env = "swe"',
                'needs = ["git", "python3"]',
                "",
                "[grading]",
                "timeout_s = 270",
                "",
                "[replay]",
                f'volatile_paths = ["{root}/.git/index"]',
                'volatile_text = ["in \\\\d+\\\\.\\\\d+s"]',
                "",
            ]
        ),
        "instruction.md": f"The repository is `{root}`.\n\n{pair.issue.strip()}\n",
        "setup/setup.sh": _SETUP.format(
            root=root, package=pair.package, version=pair.base.version, date=_DATE
        ),
        "solution/solve.sh": _solution(root, gold),
        "checks/rubric.toml": _RUBRIC,
        "checks/checks.py": _CHECKS,
        "checks/issue.toml": "\n".join(
            [
                'schema_version = "agentgym.issue/1"',
                f"root = {quoted(root)}",
                f"tests = {quoted(list(pair.tests))}",
                f"restore = {quoted(list(pair.restore))}",
                # A release may print for its own reasons.
                "prints = true",
                # And it changes interfaces on purpose.
                'redesigned = ["*"]',
                f"config = {quoted(pair.config)}",
                f"python_path = {quoted(list(pair.python_path))}",
                # The authors wrote these anew, so the gold patch does.
                f"rewritten = {quoted(sorted(lost_words(gold)))}",
                "timeout_s = 60",
                "",
            ]
        ),
        "checks/tests.json": json.dumps(
            {"fail_to_pass": pair.fail_to_pass, "pass_to_pass": pair.pass_to_pass}, indent=1
        )
        + "\n",
    }
    for path, text in texts.items():
        full = folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(os.fsencode(text))
        full.chmod(0o755 if path.endswith(".sh") else 0o644)


def _solution(root: str, gold: Patch) -> str:
    end = "END_OF_THE_GOLD_PATCH"
    patch = write_diff(gold)
    if end in patch:
        raise TaskError("the gold patch holds the mark at which its here-document ends")
    return f"#!/bin/bash\ncd {root}\ngit apply --whitespace=nowarn <<'{end}'\n{patch}{end}\n"
