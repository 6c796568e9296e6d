"""The tests of an instance in a clean room: the files of the grader, and the command.

Python instances run through pytest's JUnit report if pytest is their runner; the others through the
log of their command.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Iterator, Mapping
from configparser import ConfigParser
from configparser import Error as IniError
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from agentgym.manifest import parse_toml
from agentgym.protocols import Room
from agentgym.swe.apply import apply_diff
from agentgym.swe.grading import GradedPatch, grade_patch
from agentgym.swe.instance import EnvironmentSpec, Instance
from agentgym.swe.instance_rules import as_swe_bench, read_log
from agentgym.swe.patch import Entry, FileChange, Lookup, Patch, patch_of
from agentgym.swe.test_paths import is_test_module, is_test_path
from agentgym.swe.test_run import CommandPlan, PytestPlan, TestRun, run_command, run_pytest

_SETTINGS: Final = frozenset(
    {"conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml"}
    | {"sitecustomize.py", "usercustomize.py", "package.json", ".babelrc", ".mocharc.json"}
    | {".mocharc.js", ".mocharc.cjs", ".mocharc.yml", ".mocharc.yaml", "jest.config.js"}
    | {"jest.config.ts", "jest.config.json", "vitest.config.ts", "vitest.config.js"}
)
"""Files that decide how tests run; a patch changes them only if the gold patch does."""
_PYTEST_SETTINGS: Final = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
_PYTEST_SECTION: Final = {
    "pyproject.toml": "[tool.pytest",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}


_RUNNERS: Final = tuple(
    f"{folder}{path}"
    for folder in ("", "src/")
    for path in ("_pytest/runner.py", "pluggy/__init__.py")
)


@dataclass(frozen=True, kw_only=True)
class InstanceTests:
    """The tests of one instance.

    Attributes:
        instance: The instance.
        spec: Its environment.
        root: Guest path of the repository.
        base: Files of the base commit.
        plugins: Names of the pytest plug-ins that the environment has.
        shift: Changes that lead from the repository of the clean rooms to the base.
    """

    instance: Instance
    spec: EnvironmentSpec
    root: str
    base: Lookup
    plugins: tuple[str, ...] = ()
    shift: Patch = Patch()

    @cached_property
    def gold(self) -> Patch:
        """The gold patch, applied to the base. Raises PatchError."""
        return apply_diff(self.instance.patch, self.base)

    @cached_property
    def hidden(self) -> Patch:
        """The patch of the hidden tests, applied to the base. Raises PatchError."""
        return apply_diff(self.instance.test_patch, self.base)

    def targets(self) -> tuple[str, ...]:
        """Return the test files that the command gets."""
        if self.instance.test_files:
            return tuple(
                dict.fromkeys(name.partition("::")[0] for name in self.instance.test_files)
            )
        changed = [change.path for change in self.hidden.changes if change.after is not None]
        modules = [path for path in changed if is_test_module(path)]
        named = [test.partition("::")[0] for test in self.instance.fail_to_pass if "::" in test]
        named = [path for path in dict.fromkeys(named) if self._exists(path)]
        return tuple(dict.fromkeys((*modules, *named))) or tuple(sorted(changed))

    def _exists(self, path: str) -> bool:
        return self.base(path) is not None


def grade_instance(
    tests: InstanceTests, open_room: Callable[[], Room], patch: Patch
) -> GradedPatch:
    """Grade a patch by the tests of an instance, by the rules of SWE-bench.

    Args:
        tests: The tests.
        open_room: Opens a fresh clean room over the instance's environment.
        patch: The patch.

    Raises:
        SandboxError: A room broke, and no program in it caused that.
        PatchError: The patch of the hidden tests does not apply.
    """
    instance = tests.instance
    return grade_patch(
        lambda given: as_swe_bench(run_tests(tests, open_room(), given), instance),
        patch,
        instance.fail_to_pass,
        instance.pass_to_pass,
        gold=tests.gold,
    )


def run_tests(tests: InstanceTests, room: Room, patch: Patch, *, hidden: bool = True) -> TestRun:
    """Run the tests of an instance over a patch.

    Args:
        tests: The tests.
        room: A fresh clean room.
        patch: The patch.
        hidden: Whether the hidden tests are in place; without them the base's own tests run.
    """
    gold = graders_files(tests, patch, hidden=hidden)
    targets = tests.targets()
    patch = following(tests.shift, patch)
    if not hidden:
        targets = tuple(path for path in targets if tests.base(path) is not None)
    runs_pytest = tests.spec.language == "python" and "pytest" in tests.spec.test_command
    if runs_pytest and not _holds_runner(tests):
        plan = _pytest_plan(tests, targets, gold, patch)
        return run_pytest(room, plan, patch, tests.instance.fail_to_pass)
    command = command_line(tests.spec, targets)
    run = run_command(
        room,
        CommandPlan(
            root=tests.root,
            command=("/bin/bash", "-c", command),
            gold=gold,
            env=_variables(tests.spec),
            timeout_s=tests.spec.timeout_s,
        ),
        patch,
    )
    return read_log(run, tests.spec.parser, tests.instance)


def _holds_runner(tests: InstanceTests) -> bool:
    """Return whether the tested code is the test runner itself, which then cannot watch it."""
    return any(tests.base(path) is not None for path in _RUNNERS)


def following(first: Patch, second: Patch) -> Patch:
    """Return the changes of two patches, the second of which was made after the first."""
    if not first.changes:
        return second
    changes = {change.path: change for change in first.changes}
    for change in second.changes:
        earlier = changes.get(change.path)
        before = change.before if earlier is None else earlier.before
        changes[change.path] = FileChange(change.path, before, change.after)
    return patch_of(changes.values())


def graders_files(
    tests: InstanceTests, patch: Patch, *, hidden: bool = True
) -> dict[str, Entry | None]:
    """Return the files that are the grader's, whatever the patch says of them.

    These are the hidden tests, and the test files and settings of the base that the patch touches.
    Files that the gold patch changes are the solver's.
    """
    gold = set(tests.gold.paths)
    files: dict[str, Entry | None] = {
        path: tests.base(path)
        for path in patch.paths
        if path not in gold and (is_test_path(path) or path.rpartition("/")[2] in _SETTINGS)
    }
    if hidden:
        files |= {change.path: change.after for change in tests.hidden.changes}
    return files


def command_line(spec: EnvironmentSpec, targets: tuple[str, ...]) -> str:
    """Return the command of the shell that runs test files.

    ``{tests}`` and ``{modules}`` are replaced; a command without them, which an instance states in
    full, stays as it is.
    """
    if "{modules}" in spec.test_command:
        modules = shlex.join(dict.fromkeys(_module(path) for path in targets))
        return spec.test_command.replace("{modules}", modules)
    return spec.test_command.replace("{tests}", shlex.join(targets))


def _module(path: str) -> str:
    """Return the dotted module of a test file, as Django's runner takes it."""
    return path.removeprefix("tests/").removesuffix(".py").replace("/", ".")


def _pytest_plan(
    tests: InstanceTests, targets: tuple[str, ...], gold: Mapping[str, Entry | None], patch: Patch
) -> PytestPlan:
    name, config = _pytest_settings(tests, gold, patch)
    folders = ("", "src", *_python_path(name, config))
    return PytestPlan(
        root=tests.root,
        targets=targets,
        gold=gold,
        config_name=name,
        config=config,
        python_path=tuple(dict.fromkeys(folders)),
        plugins=tests.plugins,
        env=_variables(tests.spec),
        timeout_s=tests.spec.timeout_s,
    )


def _pytest_settings(
    tests: InstanceTests, gold: Mapping[str, Entry | None], patch: Patch
) -> tuple[str, str]:
    """Return name and text of the settings file that pytest takes.

    It is the patch's only if it is no file of the grader's, see `graders_files`.
    """
    files = {change.path: change.after for change in patch.changes} | dict(gold)
    for name in _PYTEST_SETTINGS:
        entry = files[name] if name in files else tests.base(name)
        if entry is None or entry.kind != "file":
            continue
        text = entry.data.decode("utf-8", "replace")
        if _PYTEST_SECTION.get(name, "") in text:
            return name, text
    return "pytest.ini", "[pytest]\n"


def _python_path(name: str, config: str) -> Iterator[str]:
    """Yield the folders of the setting `pythonpath`; those outside the repository are left out.

    pytest takes them relative to its settings file, which is a copy elsewhere.
    """
    found: object = ()
    with suppress(ValueError, LookupError, IniError, TypeError, AttributeError, RecursionError):
        if name.endswith(".toml"):
            settings = parse_toml(config)["tool"]["pytest"]
            found = settings.get("ini_options", settings)["pythonpath"]
        else:
            parser = ConfigParser(interpolation=None, strict=False)
            parser.read_string(config)
            section = "tool:pytest" if name == "setup.cfg" else "pytest"
            found = parser[section]["pythonpath"]
    words = found.split() if isinstance(found, str) else found
    for word in words if isinstance(words, list | tuple) else ():
        path = posixpath.normpath(str(word))
        if not posixpath.isabs(path) and path.partition("/")[0] != "..":
            yield "" if path == "." else path


def _variables(spec: EnvironmentSpec) -> dict[str, str]:
    known = {"HOME": "/root", "LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1"}
    if spec.language == "go":
        known |= {"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOCACHE": "/tmp/go-build"}
    if spec.language != "python":
        known["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin"
    return known
