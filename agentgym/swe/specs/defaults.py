"""The needs of a repository that no table knows: read from its own files, by language.

Only text is read; nothing of the repository is executed on this machine.
"""

from __future__ import annotations

import configparser
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from agentgym.manifest import parse_toml
from agentgym.swe.instance import EnvironmentSpec

Reader: TypeAlias = Callable[[str], str | None]
"""Returns the text of a file by its path in the repository; None if it does not exist."""

TIMEOUT_S: Final = 1800.0
_TEST_GROUPS: Final = frozenset({"test", "tests", "testing", "dev", "develop", "development"})
_REQUIREMENT_FILES: Final = (
    *("requirements-test.txt", "requirements-tests.txt", "requirements-dev.txt"),
    *("test-requirements.txt", "tests/requirements.txt", "dev-requirements.txt"),
    *("requirements/test.txt", "requirements/tests.txt", "requirements_dev.txt"),
    "requirements.txt",
)
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[^\]]*\])?\s*[^@]*")
_MAX_REQUIREMENTS: Final = 200
_EDITABLE: Final = "python3 -m pip install --quiet"
_BUILD: Final = f"{_EDITABLE} --no-build-isolation -e . || {_EDITABLE} -e ."
"""Requirements that only `setup.py` knows are found here; the others are installed already.

The second way serves projects whose backend asks for more than `pyproject.toml` names, as hatchling
does, or for a newer setuptools than the distribution's.
"""


def default_spec(language: str, read: Reader) -> EnvironmentSpec:
    """Return the spec of a repository from its files.

    Args:
        language: Language of the repository; empty to tell it by its files.
        read: Reads its files at the commit.
    """
    language = language or _language(read)
    if language in ("javascript", "typescript"):
        return _node(language, read)
    if language == "go":
        return EnvironmentSpec(
            language="go",
            install=("go mod download || true",) if read("go.mod") else (),
            test_command="go test -json ./...",
            parser="go",
            timeout_s=TIMEOUT_S,
        )
    if language != "python":
        return EnvironmentSpec(language=language, timeout_s=TIMEOUT_S)
    packaged = any(read(name) is not None for name in ("pyproject.toml", "setup.py", "setup.cfg"))
    return EnvironmentSpec(
        language="python",
        packages=tuple(declared_requirements(read)),
        install=(_BUILD,) if packaged else (),
        test_command="python3 -m pytest -rA --tb=short -p no:cacheprovider {tests}",
        parser="pytest",
        timeout_s=TIMEOUT_S,
    )


def _language(read: Reader) -> str:
    if read("go.mod") is not None:
        return "go"
    python = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini")
    if read("package.json") is not None and all(read(name) is None for name in python):
        return "javascript"
    return "python"


def declared_requirements(read: Reader) -> Iterator[str]:
    """Yield the requirements of a Python repository, its tests and its build, each once."""
    found: dict[str, None] = {}
    project = _toml(read("pyproject.toml"))
    for requirement in (*_of_pyproject(project), *_of_setup_cfg(read("setup.cfg"))):
        found[requirement] = None
    for name in _REQUIREMENT_FILES:
        for requirement in _of_file(read(name)):
            found[requirement] = None
    build = _table(project, "build-system").get("requires")
    for requirement in (*_texts(build), "setuptools", "wheel"):
        found[requirement] = None
    usable = (each.strip() for each in found if _REQUIREMENT.fullmatch(each.strip()))
    for number, requirement in enumerate(usable):
        if number < _MAX_REQUIREMENTS:
            yield requirement


def _of_pyproject(project: Mapping[str, Any]) -> Iterator[str]:
    about = _table(project, "project")
    yield from _texts(about.get("dependencies"))
    for groups in (_table(about, "optional-dependencies"), _table(project, "dependency-groups")):
        for name, group in groups.items():
            if name.lower() in _TEST_GROUPS:
                yield from _texts(group)


def _of_setup_cfg(text: str | None) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text or "")
    except configparser.Error:
        return
    if parser.has_section("options"):
        yield from _lines(parser.get("options", "install_requires", fallback=""))
        yield from _lines(parser.get("options", "tests_require", fallback=""))
    if parser.has_section("options.extras_require"):
        for name, group in parser.items("options.extras_require"):
            if name.lower() in _TEST_GROUPS:
                yield from _lines(group)


def _of_file(text: str | None) -> Iterator[str]:
    for line in _lines(text or ""):
        if not line.startswith(("-", ".", "/", "git+", "http")):
            yield line


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if said := line.partition("#")[0].strip():
            yield said


def _node(language: str, read: Reader) -> EnvironmentSpec:
    try:
        package = json.loads(read("package.json") or "{}")
    except (ValueError, RecursionError):
        package = {}
    package = package if isinstance(package, dict) else {}
    script = str(_table(package, "scripts").get("test", ""))
    needs = {**_table(package, "dependencies"), **_table(package, "devDependencies")}
    for runner in ("vitest", "jest", "mocha"):
        if runner in needs or runner in script:
            command = {
                "vitest": "npx vitest run --reporter=verbose {tests}",
                "jest": "npx jest --verbose {tests}",
                "mocha": "npx mocha --reporter spec {tests}",
            }[runner]
            parser = "jest" if runner == "vitest" else runner
            break
    else:
        command, parser = "node --test --test-reporter=tap {tests}", "tap"
    locked = read("package-lock.json") is not None
    install = ("npm ci" if locked else "npm install --no-audit --no-fund",) if needs else ()
    return EnvironmentSpec(
        language=language,
        install=install,
        test_command=command,
        parser=parser,
        timeout_s=TIMEOUT_S,
    )


def _toml(text: str | None) -> Mapping[str, Any]:
    try:
        return parse_toml(text or "")
    except (ValueError, RecursionError):
        return {}


def _table(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
