"""The image of an environment, as a Dockerfile over a recipe; packages are pinned by date.

pip chooses only releases that were uploaded before the date (``--uploaded-prior-to``, pip 26).
Packages come before the repository, so that instances with equal packages share these layers.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from agentgym import catalogue
from agentgym.errors import TaskError
from agentgym.swe.instance import EnvironmentSpec

REPOSITORY: Final = "/testbed"
"""Folder of the repository in the sandbox, as SWE-bench has it."""
CONTEXT: Final = "repository"
"""Folder of the repository in the build context."""
_RECIPES: Final = {
    "python": "swe-python",
    "javascript": "swe-node",
    "typescript": "swe-node",
    "go": "swe-go",
}
_ONE_COMMIT: Final = (
    "git init -q -b main && git add -A -f . && "
    "GIT_AUTHOR_DATE='946684800 +0000' GIT_COMMITTER_DATE='946684800 +0000' git -c user.name=dev "
    "-c user.email=dev@example.com commit -q --allow-empty -m Base && rm -rf .git/hooks"
)
"""The repository's only commit is made of its files, so that no later object can be in it."""
_PIP: Final = "python3 -m pip install --quiet --no-cache-dir"


@dataclass(frozen=True, slots=True)
class EnvironmentImage:
    """A Dockerfile and what it replaces.

    Attributes:
        dockerfile: Its text; it copies `CONTEXT`.
        replaced: The recipe that stands in for what the instance asks for, by the latter.
    """

    dockerfile: str
    replaced: dict[str, str] = field(default_factory=dict)


def environment_image(
    spec: EnvironmentSpec, until: datetime | None, version: str = ""
) -> EnvironmentImage:
    """Return the image of an environment with a repository.

    Args:
        spec: The environment.
        until: Packages uploaded later are not used; None for the newest ones.
        version: The version that packages which ask Git for one are told; "" is 1.0.0.

    Raises:
        TaskError: No recipe has the toolchain of the language.
    """
    recipe, replaced = _recipe(spec)
    lines = [f"FROM {recipe}", *_packages(spec, until)]
    lines += [f"COPY {CONTEXT} {REPOSITORY}", f"WORKDIR {REPOSITORY}", f"RUN {_ONE_COMMIT}"]
    lines += [_run(command, until, version) for command in (*spec.pre_install, *spec.install)]
    return EnvironmentImage("\n".join(lines) + "\n", replaced)


def _recipe(spec: EnvironmentSpec) -> tuple[str, dict[str, str]]:
    """Return the recipe of a language and version, and the declared stand-in."""
    known = catalogue.folders("sandboxes")
    base = _RECIPES.get(spec.language)
    if base is None or base not in known:
        able = ", ".join(language for language, name in _RECIPES.items() if name in known)
        raise TaskError(
            f"language {spec.language!r}: no recipe has its toolchain; expected one of {able}"
        )
    exact = f"{base}{spec.runtime}"
    if not spec.runtime or exact in known:
        return (exact if spec.runtime else base), {}
    if spec.language == "python" and spec.runtime == "3.11":
        return base, {}
    return base, {f"{spec.language} {spec.runtime}": base}


def _packages(spec: EnvironmentSpec, until: datetime | None) -> Iterator[str]:
    if spec.system_packages:
        names = shlex.join(spec.system_packages)
        yield _run(
            f"apt-get update -q && apt-get install -q -y --no-install-recommends {names}", None
        )
    if spec.language != "python" or not (spec.packages or spec.install or spec.pre_install):
        return
    yield "ENV PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore"
    if until is not None:
        # Debian's pip cannot choose by date; ignoring the installed one keeps its files in place.
        yield f"RUN unset PIP_NO_INDEX; {_PIP} --ignore-installed 'pip>=26.1'"
    if spec.packages:
        yield _run(f"{_PIP} {shlex.join(spec.packages)}", until)


def _run(command: str, until: datetime | None, version: str = "") -> str:
    """Return a RUN instruction; pip inside the command obeys the date."""
    # Versions that come from tags are stated: the repository of the image has no tags.
    export = f"unset PIP_NO_INDEX; export SETUPTOOLS_SCM_PRETEND_VERSION={version or '1.0.0'}"
    if until is not None:
        export += f"; export PIP_UPLOADED_PRIOR_TO={until:%Y-%m-%dT%H:%M:%SZ}"
    script = f"{export}; {command}"
    if "\n" in script:
        end = "END"
        while end in script:
            end += "_"
        return f"RUN <<'{end}'\n{script}\n{end}"
    return f"RUN {script}"
