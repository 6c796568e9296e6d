"""Ad-hoc tasks: an environment without a goal, or a question with its answer.

They are folders in the cache, named after their content, so that their recorded episodes can be
replayed, graded and reported like those of any other task.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from agentgym import catalogue
from agentgym.records import Json

FREE = "Use the tools as you like, and submit when you are done. Nothing is verified.\n"

_SUITE = "@suite@"
_TASK = """\
schema_version = "agentgym.task/1"
id = "{suite}/play-v1"
title = "{title}"
difficulty = "easy"
env = {env}

[params]
instruction = {{ choice = [{instruction}] }}
answer = {{ choice = [{answer}] }}
"""
_UNVERIFIED = '''\
"""Free play: there is nothing to verify, and a score would be a lie."""

from agentgym import CheckResult, CheckStatus, Evidence


def unverified(evidence: Evidence) -> CheckResult:
    """Nothing is asked, so nothing is verified."""
    return CheckResult(CheckStatus.NOT_APPLICABLE, "ad-hoc task: nothing is verified")
'''
_RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "answer"
"""
_VERIFIED = (
    'title = "The answer is right"\nuse = "answers.normal"\nwith = { text = "{{answer}}" }\n'
)
_FREE_PLAY = 'title = "Nothing is verified"\nuse = "checks.unverified"\n'
_SUBMIT = '{"tool": "submit", "arguments": {"answer": "{{answer}}"}}\n'


def lay_down(
    env: str,
    *,
    instruction: str = FREE,
    answer: str | None = None,
    options: Mapping[str, Mapping[str, Json]] | None = None,
) -> Path:
    """Write the folder of such a task, unless it exists already, and return it.

    Args:
        env: Catalogue name of the environment.
        instruction: Instruction for the agent.
        answer: Expected answer, compared as `answers.normal` does. None: the score is always 0,
            and the verdict says that nothing was verified.
        options: Options of surfaces by name, as in the task's ``[surface.NAME]``.
    """
    files = _files(env, instruction, answer, options or {})
    digest = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:12]
    suite = f"play-{digest}"
    folder = _home() / suite / "play"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            for name, text in files.items():
                path = Path(scratch, "play", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.replace(_SUITE, suite, 1), encoding="utf-8")
            _move(Path(scratch, "play"), folder)
    return folder


def is_laid_down(folder: Path) -> bool:
    """Return whether a folder lies where `lay_down` writes, so that agentgym created it."""
    return folder.is_relative_to(_home())


def _home() -> Path:
    return catalogue.cache_dir() / "play"


def _files(
    env: str,
    instruction: str,
    answer: str | None,
    options: Mapping[str, Mapping[str, Json]],
) -> dict[str, str]:
    task = _TASK.format(
        suite=_SUITE,
        title=f"Free play in {env}" if answer is None else f"A question in {env}",
        env=_toml(env),
        # As the value of a slot it may hold any text, also braces.
        instruction=_toml(instruction),
        answer=_toml(answer or ""),
    )
    for name, table in options.items():
        task += f"\n[surface.{name}]\n" + "".join(f"{k} = {_toml(v)}\n" for k, v in table.items())
    files = {
        "task.toml": task,
        "instruction.md": "{{instruction}}",
        "checks/rubric.toml": _RUBRIC + (_FREE_PLAY if answer is None else _VERIFIED),
        "solution/actions.jsonl": _SUBMIT,
    }
    return {**files, "checks/checks.py": _UNVERIFIED} if answer is None else files


def _toml(value: Json) -> str:
    """Return a value as TOML; texts, numbers and lists are written as JSON, except for DEL."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_toml(k)} = {_toml(v)}' for k, v in value.items())}}}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _move(source: Path, target: Path) -> None:
    try:
        os.rename(source, target)
    except OSError:
        if not target.is_dir():
            raise
