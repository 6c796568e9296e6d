"""The layouts of instances: SWE-bench 4 and 5 and its relatives, Multi-SWE-bench, SWE-bench Pro.

The layout of a line is told by its fields. Formats: the data cards of SWE-bench/SWE-bench,
ByteDance-Seed/Multi-SWE-bench and ScaleAI/SWE-bench_Pro; `install_config` is SWE-rebench's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from agentgym.swe import instance_fields as read
from agentgym.swe.instance import EnvironmentSpec, Instance
from agentgym.swe.instance_fields import FieldError

# Two patterns: in one, each start without an end would be followed to the end of the text.
_TEST_RUN_START: Final = re.compile(r">>>>> Start Test Output[^\n]*\n")
_TEST_RUN_END: Final = re.compile(r"^[^\n]*>>>>> End Test Output", re.MULTILINE)
_LANGUAGES: Final = {
    "js": "javascript", "ts": "typescript", "golang": "go", "cpp": "c++", "py": "python",
    "node": "javascript",
}  # fmt: skip


def parse_instance(fields: Mapping[str, Any]) -> Instance:
    """Return an instance from the JSON object of one line.

    Raises:
        FieldError: A field is absent or wrong.
    """
    if "fix_patch" in fields and "org" in fields:
        return _multi_swe_bench(fields)
    if "fail_to_pass" in fields or "selected_test_files_to_run" in fields:
        return _swe_bench_pro(fields)
    return _swe_bench(fields)


def _swe_bench(fields: Mapping[str, Any]) -> Instance:
    kind = read.text(fields, "eval_type", default="") or "pass_and_fail"
    if kind not in ("pass_and_fail", "fail_only"):
        raise FieldError("eval_type", "expected 'pass_and_fail' or 'fail_only'", kind)
    language = _language(read.text(fields, "language", default=""))
    return Instance(
        id=read.identifier(fields, "instance_id"),
        repo=read.repository("repo", read.text(fields, "repo")),
        base_commit=read.commit(fields, "base_commit"),
        # Some data sets that use this layout call the gold patch as Multi-SWE-bench does.
        patch=_patch(fields, "patch" if "patch" in fields else "fix_patch"),
        test_patch=read.text(fields, "test_patch", default=""),
        fail_to_pass=read.names(fields, "FAIL_TO_PASS", required=True),
        pass_to_pass=read.names(fields, "PASS_TO_PASS"),
        problem_statement=_issue(fields, "problem_statement"),
        hints=read.text(fields, "hints_text", default=""),
        version=_version(fields),
        created_at=read.moment(fields, "created_at"),
        environment_commit=read.commit(fields, "environment_setup_commit", default=""),
        language=language,
        environment=_stated_environment(fields, language or "python"),
        fail_only=kind == "fail_only",
    )


def _stated_environment(fields: Mapping[str, Any], language: str) -> EnvironmentSpec | None:
    """Return the environment that the instance states: its install configuration or eval script."""
    if fields.get("install_config"):
        stated = read.table("install_config", fields["install_config"])
        return EnvironmentSpec(
            language=language,
            runtime=_number_or_text(stated, "python"),
            pre_install=_commands(stated, "pre_install"),
            packages=_commands(stated, "pip_packages"),
            install=_commands(stated, "install"),
            test_command=" && ".join(_commands(stated, "test_cmd")),
            parser=read.text(stated, "log_parser", default=""),
        )
    command, script = "", read.text(fields, "eval_script", default="")
    if (start := _TEST_RUN_START.search(script)) and (
        end := _TEST_RUN_END.search(script, start.end())
    ):
        command = script[start.end() : end.start()].strip()
    parser = read.text(fields, "log_parser", default="")
    if not command and not parser:
        return None
    return EnvironmentSpec(language=language, test_command=command, parser=parser)


def _multi_swe_bench(fields: Mapping[str, Any]) -> Instance:
    owner, name = read.text(fields, "org"), read.text(fields, "repo")
    number = fields.get("number")
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise FieldError("number", "expected the number of a pull request", number)
    repo = read.repository("org/repo", f"{owner}/{name}")
    stated = {"id": fields.get("instance_id") or f"{owner}__{name}-{number}"}
    issues = fields.get("resolved_issues") or []
    if not isinstance(issues, list) or len(issues) > 1000:
        raise FieldError("resolved_issues", "expected a list of issues", issues)
    said = [_titled(read.table("resolved_issues", issue)) for issue in issues]
    # A test that was skipped or absent before the fix counts like one that failed.
    fixed = dict.fromkeys(
        test
        for kind in ("f2p_tests", "s2p_tests", "n2p_tests")
        for test in _test_table(fields, kind)
    )
    fixed = fixed or dict.fromkeys(_test_table(fields, "fixed_tests"))
    if not fixed:
        raise FieldError("f2p_tests", "names no test; such an instance cannot be graded")
    statement = "\n\n".join(part for part in said if part) or _titled(fields)
    if not statement:
        raise FieldError("resolved_issues", "states no issue, and the pull request has no title")
    return Instance(
        id=read.identifier(stated, "id"),
        repo=repo,
        base_commit=read.commit(read.table("base", fields.get("base")), "sha"),
        patch=_patch(fields, "fix_patch"),
        test_patch=read.text(fields, "test_patch", default=""),
        fail_to_pass=tuple(fixed),
        pass_to_pass=tuple(test for test in _test_table(fields, "p2p_tests") if test not in fixed),
        problem_statement=statement,
        hints=read.text(fields, "hints", default=""),
        version=_number_or_text(fields, "tag"),
        created_at=read.moment(fields, "created_at"),
        language=_language(read.text(fields, "lang", default="")),
        layout="multi-swe-bench",
    )


def _test_table(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the test ids of a table by id, or of one that some exports turn into columns."""
    value = fields.get(name)
    if isinstance(value, dict) and isinstance(value.get("name"), list):
        return read.names(value, "name")
    return read.names({name: list(value) if isinstance(value, dict) else value}, name)


def _titled(fields: Mapping[str, Any]) -> str:
    title, body = (read.text(fields, part, default="").strip() for part in ("title", "body"))
    return "\n\n".join(part for part in (title, body) if part)


def _swe_bench_pro(fields: Mapping[str, Any]) -> Instance:
    statement = [_issue(fields, "problem_statement")]
    for title, part in (("Requirements", "requirements"), ("New interfaces", "interface")):
        if said := read.text(fields, part, default="").strip():
            statement.append(f"{title}:\n{said}")
    lower = "fail_to_pass" in fields
    return Instance(
        id=read.identifier(fields, "instance_id"),
        repo=read.repository("repo", read.text(fields, "repo")),
        base_commit=read.commit(fields, "base_commit"),
        patch=_patch(fields, "patch"),
        test_patch=read.text(fields, "test_patch", default=""),
        fail_to_pass=read.names(fields, "fail_to_pass" if lower else "FAIL_TO_PASS", required=True),
        pass_to_pass=read.names(fields, "pass_to_pass" if lower else "PASS_TO_PASS"),
        problem_statement="\n\n".join(statement),
        version=_version(fields),
        created_at=read.moment(fields, "created_at"),
        language=_language(read.text(fields, "repo_language", default="")),
        layout="swe-bench-pro",
        test_files=read.names(fields, "selected_test_files_to_run"),
    )


def _patch(fields: Mapping[str, Any], name: str) -> str:
    patch = read.text(fields, name)
    if not patch.strip():
        raise FieldError(name, "expected the gold patch, got an empty text")
    return patch


def _issue(fields: Mapping[str, Any], name: str) -> str:
    said = read.text(fields, name)
    if not said.strip():
        raise FieldError(name, "expected the text of the issue, got an empty text")
    return said


def _version(fields: Mapping[str, Any]) -> str:
    return _number_or_text(fields, "version")


def _number_or_text(fields: Mapping[str, Any], name: str) -> str:
    """Return a version, which some data sets state as a number."""
    value = fields.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if value is not None and (not isinstance(value, str) or len(value) > 200):
        raise FieldError(name, "expected a version as a short text", value)
    return read.checked_text(name, (value or "").strip())


def _commands(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return commands, which are stated as a list or as one text."""
    value = fields.get(name)
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return (read.text(fields, name).strip(),) if value.strip() else ()
    return read.names(fields, name)


def _language(stated: str) -> str:
    found = stated.strip().lower()
    return _LANGUAGES.get(found, found)[:40]
