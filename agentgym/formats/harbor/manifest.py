"""Reads Harbor's `task.toml` (schema 1.0 to 1.4, also older spellings) as `SandboxRules`.

Fields that Harbor ignores are ignored here. Unsupported fields that would change how a task runs
are refused by name.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from agentgym.errors import TaskError
from agentgym.formats.sandboxed.rules import (
    TESTS,
    Artifact,
    CollectHook,
    Healthcheck,
    SandboxRules,
    Stage,
)
from agentgym.formats.sandboxed.task_file import keep_inside
from agentgym.manifest import parse_toml, read_text, show_path
from agentgym.records import TaskSandbox

PASSED = "AGENTGYM_TASK_VARIABLES"
"""Variable with the names, or globs, of the host's variables that foreign tasks may use."""

_SIZES = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}
_NETWORKS = {"public": "open", "no-network": "none", "allowlist": "allowlist"}
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*+)(:-|\})")
_MOST_STEPS = 500
_STEP_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class _Table(BaseModel):
    """A table of a foreign format, in which unknown fields are allowed."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _Healthcheck(_Table):
    command: str
    interval_sec: float = 5.0
    timeout_sec: float = 30.0
    start_period_sec: float = 0.0
    start_interval_sec: float = 5.0
    retries: int = 3

    def rules(self) -> Healthcheck:
        return Healthcheck(
            self.command,
            self.interval_sec,
            self.timeout_sec,
            self.start_period_sec,
            self.start_interval_sec,
            self.retries,
        )


class _Environment(_Table):
    docker_image: str | None = None
    cpus: float | None = None
    memory_mb: int | None = None
    storage_mb: int | None = None
    gpus: int = 0
    network_mode: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    workdir: str | None = None
    healthcheck: _Healthcheck | None = None
    mcp_servers: tuple[Any, ...] = ()
    os: str = "linux"

    @model_validator(mode="before")
    @classmethod
    def _older_spellings(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        found = dict(data)
        for old, new in (("memory", "memory_mb"), ("storage", "storage_mb")):
            if found.get(old) is not None and found.get(new) is None:
                found[new] = _megabytes(found[old])
        if found.get("allow_internet") is False and found.get("network_mode") is None:
            found["network_mode"] = "no-network"
        return found


class _Collect(_Table):
    command: str
    timeout_sec: float = 60.0
    service: str | None = None


class _Verifier(_Table):
    timeout_sec: float | None = None
    env: dict[str, str] = Field(default_factory=dict)
    user: str | int | None = None
    environment_mode: str | None = None
    environment: _Environment | None = None
    collect: tuple[_Collect, ...] = ()


class _Agent(_Table):
    timeout_sec: float | None = None
    user: str | int | None = None


class _Solution(_Table):
    env: dict[str, str] = Field(default_factory=dict)


class _Artifact(_Table):
    source: str
    exclude: tuple[str, ...] = ()
    service: str | None = None


def _artifacts(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        return value
    return [{"source": entry} if isinstance(entry, str) else entry for entry in value]


class _Step(_Table):
    name: str
    min_reward: float | None = None
    agent: _Agent = _Agent()
    verifier: _Verifier = _Verifier()
    healthcheck: _Healthcheck | None = None

    @field_validator("name")
    @classmethod
    def _is_a_folder(cls, value: str) -> str:
        if not _STEP_NAME.fullmatch(value):
            raise ValueError(f"expected the name of a folder below steps/, got {value!r}")
        return value

    @field_validator("min_reward", mode="before")
    @classmethod
    def _one_number(cls, value: Any) -> Any:
        # Newer tasks map reward names to values; agentgym reads the one named "reward".
        return value.get("reward") if isinstance(value, Mapping) else value


class HarborManifest(_Table):
    """Harbor's `task.toml`."""

    schema_version: str = "1.0"
    metadata: dict[str, Any] = Field(default_factory=dict)
    task: dict[str, Any] = Field(default_factory=dict)
    agent: _Agent = _Agent()
    verifier: _Verifier = _Verifier()
    environment: _Environment = _Environment()
    solution: _Solution = _Solution()
    steps: tuple[_Step, ...] = Field((), max_length=_MOST_STEPS)
    artifacts: tuple[_Artifact, ...] = ()
    multi_step_reward_strategy: str = "mean"

    @model_validator(mode="before")
    @classmethod
    def _older_spellings(cls, data: Any) -> Any:
        found = dict(data)
        if "version" in found:
            found.setdefault("schema_version", found["version"])
        found["schema_version"] = str(found.get("schema_version", "1.0"))
        found["artifacts"] = _artifacts(found.get("artifacts", ()))
        return found


def read_harbor(folder: Path) -> tuple[HarborManifest, SandboxRules]:
    """Return the manifest and the rules of a Harbor task folder.

    Raises:
        TaskError: The task cannot be read, or needs unsupported features; names all of them.
    """
    path = folder / "task.toml"
    try:
        manifest = HarborManifest.model_validate(parse_toml(read_text(path, TaskError)))
    except (ValueError, OverflowError, RecursionError) as error:
        raise TaskError(f"{show_path(path)}: {_complaint(error)}") from error
    keep_inside(folder, path, folder / "environment")
    problems = list(_unsupported(folder, manifest))
    if problems:
        raise TaskError("\n".join(f"{show_path(path)}: {problem}" for problem in problems))
    verifier, environment = manifest.verifier, manifest.environment
    sandbox = _sandbox(environment, folder / "environment", _user(manifest.agent.user))
    tests = folder / "tests"
    separate = verifier.environment_mode == "separate" or verifier.environment is not None
    own_image = (tests / "Dockerfile").is_file()
    grading: TaskSandbox | None = None
    if separate:
        own = verifier.environment or environment
        grading = _sandbox(own, tests if own_image else folder / "environment")
    rules = SandboxRules(
        format="harbor",
        sandbox=sandbox,
        stages=_stages(folder, manifest),
        combine=manifest.multi_step_reward_strategy,
        healthcheck=environment.healthcheck.rules() if environment.healthcheck else None,
        verifier=grading,
        verifier_has_tests=separate and own_image,
        verifier_env=_resolved(verifier.env, path),
        solution_env=_resolved(manifest.solution.env, path),
        verifier_user=_user(verifier.user),
        collect=tuple(CollectHook(hook.command, hook.timeout_sec) for hook in verifier.collect),
        artifacts=tuple(Artifact(a.source, a.exclude) for a in manifest.artifacts),
    )
    return manifest, rules


def _stages(folder: Path, manifest: HarborManifest) -> tuple[Stage, ...]:
    if not manifest.steps:
        return (_stage(folder, folder, "", manifest.agent, manifest.verifier, manifest),)
    return tuple(
        _stage(folder, folder / "steps" / step.name, step.name, step.agent, step.verifier, manifest)
        for step in manifest.steps
    )


def _stage(
    folder: Path,
    own: Path,
    name: str,
    agent: _Agent,
    verifier: _Verifier,
    manifest: HarborManifest,
) -> Stage:
    step = next((step for step in manifest.steps if step.name == name), None)
    candidates = dict.fromkeys((folder / "tests", own / "tests"))
    tests = tuple(path for path in candidates if path.is_dir())
    if not any((path / "test.sh").is_file() for path in tests):
        raise TaskError(f"{show_path(own / 'tests/test.sh')}: required, but absent")
    solution, files = own / "solution", own / "workdir"
    keep_inside(folder, own / "instruction.md", solution, solution / "solve.sh", files, *tests)
    return Stage(
        name=name,
        instruction=read_text(own / "instruction.md", TaskError),
        tests=tests,
        script=f"{TESTS}/test.sh",
        solution=solution if (solution / "solve.sh").is_file() else None,
        workdir_files=files if name and files.is_dir() else None,
        agent_timeout_s=agent.timeout_sec or manifest.agent.timeout_sec or 600.0,
        test_timeout_s=verifier.timeout_sec or manifest.verifier.timeout_sec or 600.0,
        min_reward=step.min_reward if step else None,
        healthcheck=step.healthcheck.rules() if step and step.healthcheck else None,
    )


def _sandbox(environment: _Environment, context: Path, user: str = "") -> TaskSandbox:
    has_file = (context / "Dockerfile").is_file()
    mode = environment.network_mode or ("allowlist" if environment.allowed_hosts else "public")
    return TaskSandbox(
        context=context if has_file else None,
        image=environment.docker_image or "",
        network=_NETWORKS[mode],
        allow=environment.allowed_hosts,
        env=_resolved(environment.env, context.parent / "task.toml"),
        workdir=environment.workdir or "",
        user=user,
        memory_mb=environment.memory_mb,
        disk_mb=environment.storage_mb,
        cpus=environment.cpus,
    )


def _unsupported(folder: Path, manifest: HarborManifest) -> list[str]:
    """Return a message for every unsupported feature that this task needs."""
    found = []
    environment, verifier = manifest.environment, manifest.verifier
    if (folder / "environment/docker-compose.yaml").exists():
        found.append("environment/docker-compose.yaml (several services) is not supported")
    elif not (folder / "environment/Dockerfile").is_file() and not environment.docker_image:
        found.append("expected environment/Dockerfile or environment.docker_image, found neither")
    if environment.gpus:
        found.append(f"environment.gpus = {environment.gpus}: sandboxes have no GPU")
    if environment.mcp_servers:
        found.append("environment.mcp_servers is not supported")
    if environment.os != "linux":
        found.append(f"environment.os = {environment.os!r}: sandboxes run Linux")
    modes = {environment.network_mode, verifier.environment and verifier.environment.network_mode}
    found += [
        f"network_mode {mode!r} is not known; known: {', '.join(_NETWORKS)}"
        for mode in sorted(mode for mode in modes if mode)
        if mode not in _NETWORKS
    ]
    if verifier.environment_mode not in (None, "shared", "separate"):
        found.append(f"verifier.environment_mode = {verifier.environment_mode!r} is not known")
    if manifest.multi_step_reward_strategy not in ("mean", "final"):
        found.append(f"multi_step_reward_strategy = {manifest.multi_step_reward_strategy!r}")
    services = [hook.service for hook in verifier.collect]
    services += [artifact.service for artifact in manifest.artifacts]
    found += [f"service {name!r} is not supported" for name in services if name not in _MAIN]
    if manifest.steps and (verifier.environment_mode == "separate" or verifier.environment):
        found.append("steps with a separate verifier are not supported")
    return found


_MAIN = (None, "", "main")


def _resolved(env: Mapping[str, str], path: Path) -> dict[str, str]:
    """Replace ``${NAME}`` and ``${NAME:-default}`` by the host's variables that may be used.

    Raises:
        TaskError: A variable without a default is not set, or the task may not use it.
    """
    allowed = os.environ.get(PASSED, "").replace(",", " ").split()

    def value(name: str, default: str | None) -> str:
        may = any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed)
        given = os.environ.get(name, default) if may else default
        if given is None:
            # Its value would be in the sandbox, with the task's network.
            hint = "which is not set" if may else f"and may not use it; add it to {PASSED}"
            raise TaskError(f"{show_path(path)}: needs the variable {name}, {hint}")
        return given

    return {name: "".join(_parts(text, value)) for name, text in env.items()}


def _parts(text: str, value: Callable[[str, str | None], str]) -> Iterator[str]:
    """Yield the parts of a text, with values in place of variables, in linear time."""
    done = 0
    for found in _VARIABLE.finditer(text):
        if found.start() < done:  # a part of a default
            continue
        end, default = found.end(), None
        if found[2] == ":-":
            end = text.find("}", found.end()) + 1
            if not end:
                break
            default = text[found.end() : end - 1]
        yield text[done : found.start()]
        yield value(found[1], default)
        done = end
    yield text[done:]


def _user(user: str | int | None) -> str:
    return "" if user is None else str(user)


def _megabytes(size: Any) -> Any:
    text = str(size).strip().upper().removesuffix("B").removesuffix("I")
    if text and text[-1] in _SIZES:
        return int(float(text[:-1]) * _SIZES[text[-1]])
    raise ValueError(f"expected a size such as '2G' or '512M', got {size!r}")


def _complaint(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    details: Sequence[Any] = error.errors(include_url=False)
    return "; ".join(f"{'.'.join(map(str, d['loc']))}: {d['msg']}" for d in details)
