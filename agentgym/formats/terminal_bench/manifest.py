"""Reads classic terminal-bench folders (`task.yaml`, one container) as `SandboxRules`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from agentgym.errors import TaskError
from agentgym.formats.sandboxed.rules import TESTS, SandboxRules, Stage
from agentgym.formats.sandboxed.task_file import keep_inside
from agentgym.formats.sandboxed.yaml_file import read_yaml
from agentgym.manifest import show_path
from agentgym.records import TaskSandbox

SCRIPT = "run-tests.sh"
_SOLUTIONS = ("solution.sh", "solution.yaml")
_SERVICE = "client"


class TerminalBenchManifest(BaseModel):
    """`task.yaml`; unknown fields are allowed."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    instruction: str
    difficulty: str = "medium"
    category: str = ""
    tags: tuple[str, ...] = ()
    parser_name: str = "pytest"
    max_agent_timeout_sec: float = 360.0
    max_test_timeout_sec: float = 60.0


def read_terminal_bench(folder: Path) -> tuple[TerminalBenchManifest, SandboxRules]:
    """Return the manifest and the rules of a classic terminal-bench folder.

    Raises:
        TaskError: The task cannot be read, or needs something that is not supported.
        MissingExtraError: PyYAML is not installed.
    """
    path = folder / "task.yaml"
    try:
        manifest = TerminalBenchManifest.model_validate(read_yaml(path))
    except ValidationError as error:
        raise TaskError(f"{show_path(path)}: {error.errors()[0]['msg']}") from error
    if manifest.parser_name != "pytest":
        raise TaskError(
            f"{show_path(path)}: parser_name {manifest.parser_name!r} is not supported; "
            "expected 'pytest'"
        )
    for name in ("Dockerfile", SCRIPT):
        if not (folder / name).is_file():
            raise TaskError(f"{show_path(folder / name)}: required, but absent")
    keep_inside(folder, path, folder / "tests", folder / SCRIPT)
    solution = next((folder / name for name in _SOLUTIONS if (folder / name).is_file()), None)
    keep_inside(folder, solution)
    stage = Stage(
        name="",
        instruction=manifest.instruction,
        tests=tuple(path for path in (folder / "tests",) if path.is_dir()),
        script=f"{TESTS}/{SCRIPT}",
        script_file=folder / SCRIPT,
        solution=solution,
        agent_timeout_s=manifest.max_agent_timeout_sec,
        test_timeout_s=manifest.max_test_timeout_sec,
    )
    rules = SandboxRules(
        format="terminal-bench",
        sandbox=TaskSandbox(context=folder, env=_compose_env(folder)),
        stages=(stage,),
        verifier_env={"TEST_DIR": TESTS},
        parser="pytest",
    )
    return manifest, rules


def _compose_env(folder: Path) -> dict[str, str]:
    """Return the variables that docker-compose.yaml sets in the only container.

    Raises:
        TaskError: The file defines several containers.
    """
    path = folder / "docker-compose.yaml"
    if not path.is_file():
        return {"TEST_DIR": TESTS}
    services = _table(_table(read_yaml(path)).get("services"))
    if list(services) != [_SERVICE]:
        seen = ", ".join(map(str, services))[:200] or "none"
        raise TaskError(f"{show_path(path)}: expected one service, {_SERVICE!r}; found {seen}")
    given = _table(services[_SERVICE]).get("environment")
    if isinstance(given, list):
        given = dict(str(line).partition("=")[::2] for line in given)
    given = _table(given)
    plain = {str(name): str(value) for name, value in given.items() if "${" not in str(value)}
    return {**plain, "TEST_DIR": TESTS}


def _table(value: Any) -> Mapping[Any, Any]:
    """Return a value of YAML if it is a table, else an empty one."""
    return value if isinstance(value, Mapping) else {}
