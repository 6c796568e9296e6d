"""Types and ranges of the fields of a `ForeignTask`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, InstanceOf

from agentgym.plugin_values import PluginValue, Text
from agentgym.records import ToolSpec
from agentgym.task.model import TASK_ID


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError(f"expected text, got {text!r:.80}")
    return text


def _task_id(text: str) -> str:
    if text and not TASK_ID.fullmatch(text):
        raise ValueError(f"expected suite/name-vN in lower case, got {text!r:.80}")
    return text


class SandboxFields(PluginValue):
    """Fields of a `TaskSandbox`."""

    context: Path | None
    image: Text
    network: Literal["none", "allowlist", "open"]
    allow: tuple[Text, ...]
    env: Mapping[Text, Text]
    workdir: Text
    user: Text
    memory_mb: int | None = Field(gt=0)
    disk_mb: int | None = Field(gt=0)
    cpus: float | None = Field(gt=0)


class TaskFields(PluginValue):
    """Fields of a `ForeignTask`, except `rules`, whose methods are called behind a boundary."""

    format: Text
    title: Text
    instruction: Annotated[Text, AfterValidator(_not_blank)]
    id: Annotated[str, AfterValidator(_task_id)]
    env: Text = Field(min_length=1)
    tags: tuple[Text, ...]
    difficulty: Text
    max_steps: int = Field(ge=1)
    agent_s: float | None = Field(gt=0)
    judging_s: float = Field(ge=0)
    sandbox: SandboxFields | None
    other_sandboxes: tuple[SandboxFields, ...]
    tools: tuple[InstanceOf[ToolSpec], ...]
    user: Mapping[str, Any] | None
    tests_s: float = Field(gt=0, allow_inf_nan=True)
