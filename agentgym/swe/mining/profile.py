"""Environment profiles: one image serves the changes of a quarter of a year.

The first way to install that works is taken: packages of that quarter, today's packages, none.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from agentgym.errors import AgentGymError, SandboxError
from agentgym.sandbox.build.builder import Builds, Tell
from agentgym.swe.clone import Clone
from agentgym.swe.instance import EnvironmentSpec
from agentgym.swe.instance_rooms import build_context
from agentgym.swe.mining.split import DroppedError
from agentgym.swe.specs.image import CONTEXT, environment_image
from agentgym.swe.task_folder import ENVIRONMENT, write_files

_RAISED: Final = re.compile(r"(\w+\.)*[A-Z]\w*(Error|Exception): .*\w")
_ERROR: Final = re.compile(r"(error|E|fatal|npm error): .*\w", re.IGNORECASE)
"""Lines that name an error: of Python, then of pip, APT, Git and npm."""


@dataclass(frozen=True, slots=True)
class Profile:
    """An environment that was built.

    Attributes:
        quarter: The quarter that it serves.
        commit: The commit whose files it holds.
        spec: What is installed.
        until: Packages uploaded later are absent; None for today's.
        context: Folder of its Dockerfile.
        how: How it was installed, for the report.
    """

    quarter: str
    commit: str
    spec: EnvironmentSpec
    until: datetime | None
    context: Path
    how: str


def build_profile(
    clone: Clone,
    quarter: str,
    commit: str,
    spec: EnvironmentSpec,
    folder: Path,
    builds: Builds,
    tell: Tell,
) -> Profile:
    """Build the environment of a quarter.

    Args:
        clone: The clone.
        quarter: Like ``"2024q2"``.
        commit: A commit of that quarter.
        spec: The environment that its files ask for.
        folder: Folder to write the build context to.
        builds: Executes the builds.
        tell: Called with the problems.

    Raises:
        DroppedError: No way to install works.
    """
    context = folder / quarter / ENVIRONMENT
    shutil.rmtree(context, ignore_errors=True)
    (context / CONTEXT).mkdir(parents=True)
    write_files(clone, commit, context / CONTEXT)
    problems, version = [], clone.release(commit)
    for how, each, until in _ways(spec, end_of(quarter)):
        try:
            image = environment_image(each, until, version)
            (context / "Dockerfile").write_text(image.dockerfile, "utf-8")
            build_context(context, builds, tell)
        except SandboxError as error:
            problems.append(f"{how}: {build_failure(str(error))}")
            tell(f"profile {quarter}: {problems[-1]}")
        except AgentGymError as error:
            raise DroppedError("no environment", str(error)) from error
        else:
            return Profile(quarter, commit, each, until, context, how)
    raise DroppedError("no environment", "; ".join(problems))


def build_failure(output: str) -> str:
    """Return the line of a failed build's output that names the error."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [line for line in lines if not line.lower().startswith(("hint:", "note:", "[notice]"))]
    for names in (_RAISED, _ERROR):
        if named := [line for line in lines if names.match(line)]:
            return named[-1][:200]
    return (lines or ["the build failed"])[-1][:200]


def _ways(
    spec: EnvironmentSpec, until: datetime
) -> Iterator[tuple[str, EnvironmentSpec, datetime | None]]:
    yield f"packages until {until:%Y-%m-%d}", spec, until
    if spec.packages or spec.install:
        yield "today's packages", spec, None
        yield "not installed", replace(spec, packages=(), install=(), pre_install=()), None


def end_of(quarter: str) -> datetime:
    """Return the end of a quarter like ``"2024q2"``, in UTC."""
    year, number = (int(part) for part in quarter.split("q"))
    return datetime(year + number // 4, number % 4 * 3 + 1, 1, tzinfo=UTC)
