"""The rate at which the miner tries candidates: a repository made for it, mined with two jobs.

Its content changes with every measurement, so that its environment is built each time.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from agentgym.errors import SandboxError
from agentgym.protocols import SandboxProvider
from agentgym.swe.clone import open_clone
from agentgym.swe.mining.mine import Mining, MiningPlan

JOBS: Final = 2
_CANDIDATES: Final = 12
_QUICK: Final = 4
_PARTS: Final = ("NAME", "EMAIL")
_BEGAN: Final = 1_700_000_000
_PROJECT: Final = (
    '[project]\nname = "figures"\nversion = "1.0"\ndescription = "{mark}"\n'
    "[tool.setuptools]\npy-modules = []\n"
    '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
)


async def candidates_per_min(provider: SandboxProvider, quick: bool) -> float:
    """Mine a small pure-Python repository and return the candidates tried per minute.

    Args:
        provider: Starts the sandboxes.
        quick: Whether the repository has fewer changes.

    Raises:
        SandboxError: A candidate was not kept, though all of them are sound.
    """
    count = _QUICK if quick else _CANDIDATES
    with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as root:
        _write_history(Path(root) / "clone", count)
        plan = MiningPlan(
            clone=open_clone(Path(root) / "clone"),
            repo="bench/figures",
            out=Path(root) / "out",
            jobs=JOBS,
        )
        report = await Mining(plan, provider, lambda line: None).run()
    if report.kept != count or report.candidates_per_min is None:
        raise SandboxError(
            f"bench: {report.kept} of {count} candidates were kept: {report.dropped}"
        )
    return report.candidates_per_min


def _write_history(folder: Path, count: int) -> None:
    """Write a repository whose commits repair one function each, with its test."""
    (folder / "tests").mkdir(parents=True)
    _git(folder, 0, "init", "-q", "-b", "main")
    (folder / "pyproject.toml").write_text(_PROJECT.format(mark=secrets.token_hex(8)))
    for number in range(count):
        wrong = f"def scaled_{number}(value):\n    return value\n"
        (folder / f"figure_{number}.py").write_text(wrong)
        (folder / "tests" / f"test_figure_{number}.py").write_text(_tests(number, fixed=False))
    _commit(folder, 0, "Begin")
    for number in range(count):
        right = f"def scaled_{number}(value):\n    return value * {number + 2}\n"
        (folder / f"figure_{number}.py").write_text(right)
        (folder / "tests" / f"test_figure_{number}.py").write_text(_tests(number, fixed=True))
        _commit(folder, number + 1, f"The figure {number} is not scaled by its factor")


def _tests(number: int, *, fixed: bool) -> str:
    module = f"from figure_{number} import scaled_{number}\n\n\ndef test_zero():\n"
    module += f"    assert scaled_{number}(0) == 0\n"
    if fixed:
        module += f"\n\ndef test_scaled():\n    assert scaled_{number}(1) == {number + 2}\n"
    return module


def _commit(folder: Path, number: int, message: str) -> None:
    _git(folder, number, "add", "-A")
    _git(folder, number, "commit", "-q", "-m", message)


def _git(folder: Path, number: int, *arguments: str) -> None:
    when = f"{_BEGAN + 3600 * number} +0000"
    people = {f"GIT_{role}_{part}": "bench" for role in ("AUTHOR", "COMMITTER") for part in _PARTS}
    times = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(
        ["git", "-C", str(folder), *arguments], env={**os.environ, **people, **times}, check=True
    )
