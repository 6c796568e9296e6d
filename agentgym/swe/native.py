"""Issues of the native suite: a folder `checks/` with hidden tests and the lists that decide.

checks/issue.toml      how the tests run (see `IssueManifest`)
checks/tests.json      {"fail_to_pass": [...], "pass_to_pass": [...]}
checks/hidden/         files of the grader, at their paths in the repository
checks/checks.py       calls `judge_issue`
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from agentgym.errors import VerifierError
from agentgym.manifest import Manifest, load_toml
from agentgym.protocols import Evidence, FileTree
from agentgym.records import CheckResult, CheckStatus
from agentgym.swe.belongings import (
    is_changelog,
    lost_history,
    lost_statements,
    lost_words,
    new_text,
)
from agentgym.swe.detection import find_detection
from agentgym.swe.grading import Grade, GradedPatch, grade_patch
from agentgym.swe.interface.comparison import Files, changed_interface
from agentgym.swe.leftovers import left_behind
from agentgym.swe.patch import (
    Entry,
    Patch,
    PatchError,
    compare_trees,
    is_generated,
    read_entry,
)
from agentgym.swe.test_run import PytestPlan, TestRun, run_pytest
from agentgym.verify.giving_up import ALREADY_DONE, GiveUp, given_up
from agentgym.verify.stated_causes import (
    CLAUSES,
    Cause,
    causes,
    contradiction,
    misstated,
    told_deed,
)

_TEST = re.compile(r"(^|/)(test_[^/]*|[^/]*_test)\.py$")


class IssueManifest(Manifest):
    """The content of `issue.toml`.

    Attributes:
        root: The repository, an absolute guest path.
        tests: Folders and files of the tests, relative to `root`. Their files ``test_*.py`` and
            ``*_test.py`` run, those of the base and the hidden ones.
        redesigned: What the issue lets change in the public interface of the code: patterns (see
            `fnmatch`) of ``module``, ``module:Class.method``, ``project:version``,
            ``project:dependency NAME``, ``import:NAME``, or the path of a file of a package. A
            pattern for a module or a class covers what belongs to it, ``module:name()`` the
            parameters alone, and ``*`` everything.
        prints: Whether a fix may print in modules that printed nothing, such as a warning.
        restore: Files and folders whose changes by the agent do not count, such as the tests.
        kept: Files and folders that the issue says stay as they are: a patch that changes them
            does not resolve it.
        noted: Files in which the issue wants a line, such as the changelog.
        described: Files in which the issue wants something described: regular expressions that
            the new lines have to match, whatever their case.
        rewritten: Documents of which a fix may take something away.
        right: Documents that the issue calls right: a fix may add to them, and take away or replace
            two words at most.
        config: The file of the base that configures pytest.
        python_path: Folders that tests import from; "" is `root`.
        plugins: Installed pytest plug-ins to load.
        timeout_s: Longest time of one run of the tests, in seconds. The grading has time for all
            runs if `task.toml` gives it 4.5 times as long (`grading.timeout_s`).
    """

    schema_version: Literal["agentgym.issue/1"]
    root: str = Field(pattern="^/")
    tests: tuple[str, ...] = Field(min_length=1)
    restore: tuple[str, ...] = ("tests",)
    redesigned: tuple[str, ...] = ()
    prints: bool = False
    kept: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()
    described: Mapping[str, tuple[str, ...]] = {}
    rewritten: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    config: str = "pyproject.toml"
    python_path: tuple[str, ...] = ("",)
    plugins: tuple[str, ...] = ()
    timeout_s: float = Field(default=12.0, gt=0)


class Issue:
    """The hidden half of a task: tests, lists and configuration.

    Args:
        checks: The task's `checks` folder.
        listed: Whether `tests.json` is there yet.

    Raises:
        VerifierError: A file is missing or broken.
    """

    def __init__(self, checks: Path, *, listed: bool = True) -> None:
        self.manifest = load_toml(checks / "issue.toml", IssueManifest, VerifierError)
        self.fail_to_pass: Sequence[str] = ()
        self.pass_to_pass: Sequence[str] = ()
        try:
            lists = json.loads((checks / "tests.json").read_text()) if listed else None
            if lists is not None:
                self.fail_to_pass = tuple(lists["fail_to_pass"])
                self.pass_to_pass = tuple(lists["pass_to_pass"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise VerifierError(f"{checks / 'tests.json'}: {error!r}") from None
        hidden = checks / "hidden"
        self.hidden = {
            path.relative_to(hidden).as_posix(): Entry("file", path.read_bytes())
            for path in sorted(hidden.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }

    @property
    def tests(self) -> Sequence[str]:
        """Ids of all tests that decide."""
        return (*self.fail_to_pass, *self.pass_to_pass)

    def plan(self, base: FileTree) -> PytestPlan:
        """Return how the tests run over a base.

        Raises:
            VerifierError: The base lacks the configuration file.
        """
        its = self.manifest
        config = read_entry(base, f"{its.root}/{its.config}")
        if config is None:
            raise VerifierError(f"{its.root}/{its.config}: the base has no such file")
        restored: dict[str, Entry | None] = {}
        for top in its.restore:
            restored |= _files_below(base, its.root, top)
        gold = {**restored, **self.hidden}
        return PytestPlan(
            root=its.root,
            targets=tuple(sorted(path for path in gold if self._is_test(path))),
            gold=gold,
            config_name=posixpath.basename(its.config),
            config=config.data.decode(),
            python_path=its.python_path,
            plugins=its.plugins,
            timeout_s=its.timeout_s,
        )

    def counted(self, patch: Patch) -> Patch:
        """Return the changes that count: neither restored files nor `conftest.py`."""
        return patch.only(lambda path: not self._is_restored(path))

    def not_noted(self, patch: Patch) -> Sequence[str]:
        """Return the files that lack the new line, or the description, that the issue wants."""
        new = {change.path: new_text(change) for change in patch.changes}
        wanted: dict[str, tuple[str, ...]] = dict.fromkeys(self.manifest.noted, (r"[^\W\d_]",))
        wanted.update(self.manifest.described)
        return [
            path
            for path, patterns in wanted.items()
            if not all(re.search(each, new.get(path, ""), re.IGNORECASE) for each in patterns)
        ]

    def changed_interface(self, base: FileTree, patch: Patch) -> Sequence[str]:
        """Return what a patch changes in the public interface, unless the issue lets it change."""
        its = self.manifest
        if "*" in its.redesigned:
            return []
        # A changelog that names a new version announces a release.
        announced = "\n".join(new_text(each) for each in patch.changes if is_changelog(each.path))
        return changed_interface(
            *_states(base, its.root, self.counted(patch)),
            roots=its.python_path,
            redesigned=its.redesigned,
            announced=announced,
        )

    def _is_test(self, path: str) -> bool:
        return _TEST.search(path) is not None and _is_below(path, self.manifest.tests)

    def _is_restored(self, path: str) -> bool:
        return posixpath.basename(path) == "conftest.py" or _is_below(path, self.manifest.restore)

    def lost(self, base: FileTree, after: FileTree, patch: Patch) -> Sequence[str]:
        """Return what no fix owns and a patch takes away, a line for each.

        That is the history, what documents say, and the tests as a whole.
        """
        its = self.manifest
        lost = lost_history(base, after, its.root)
        lost += lost_words(
            self.counted(patch).only(lambda path: path not in its.rewritten)
        ).values()
        lost += lost_statements(patch, its.right)
        had = self.tests_of(base)
        gone = {change.path for change in patch.changes if change.after is None}
        made = [change.path for change in patch.changes if change.before is None]
        if had and gone >= set(had) and not any(_TEST.search(path) for path in made):
            lost.append("all tests are gone")
        return lost

    def tests_of(self, base: FileTree) -> Sequence[str]:
        """Return the paths of the tests that the agent found."""
        root = self.manifest.root
        found = [_files_below(base, root, top) for top in self.manifest.tests]
        return [path for files in found for path in files if self._is_test(path)]

    def changed_though_kept(self, patch: Patch) -> Sequence[str]:
        """Return the paths of a patch that were to stay as they are."""
        return [path for path in patch.paths if _is_below(path, self.manifest.kept)]


def judge_issue(evidence: Evidence, checks: Path) -> CheckResult:
    """Return whether what the agent left resolves the issue of a task.

    Args:
        evidence: Evidence of the episode.
        checks: The task's `checks` folder.

    Raises:
        VerifierError: The tests cannot be run, whatever the agent did.
    """
    issue = Issue(checks)
    plan = issue.plan(evidence.before)
    root = issue.manifest.root
    try:
        whole = compare_trees(evidence.before, evidence.after, root, evidence.changes)
    except PatchError as error:
        return CheckResult(CheckStatus.FAIL, str(error))
    if touched := issue.changed_though_kept(whole):
        return CheckResult(CheckStatus.FAIL, f"to stay as it is: {', '.join(touched[:5])}")
    if lost := issue.lost(evidence.before, evidence.after, whole):
        return CheckResult(CheckStatus.FAIL, lost[0])
    patch = issue.counted(whole)
    if found := find_detection(patch) or left_behind(patch, prints=issue.manifest.prints):
        return CheckResult(CheckStatus.FAIL, found)
    if changed := issue.changed_interface(evidence.before, whole):
        more = f" (and {len(changed) - 3} more)" * (len(changed) > 3)
        return CheckResult(
            CheckStatus.FAIL,
            f"the issue asks for no such change of the interface: {'; '.join(changed[:3])}{more}",
        )

    def run(changes: Patch) -> TestRun:
        return run_pytest(evidence.room(), plan, changes, issue.tests)

    graded = grade_patch(run, patch, issue.fail_to_pass, issue.pass_to_pass)
    if graded.grade is Grade.ERROR:
        raise VerifierError(graded.reason)
    if graded.grade is Grade.RESOLVED and (lacking := issue.not_noted(whole)):
        return CheckResult(CheckStatus.FAIL, f"the tests pass, but {lacking[0]} does not say so")
    return _result(graded, whole)


def judge_declined(
    evidence: Evidence,
    root: str,
    shown: Sequence[str],
    true: Sequence[object],
    false: str,
) -> CheckResult:
    """Return whether the agent looked, gave up for the right reason, and changed nothing.

    It is for issues on which nothing can be done: settled already, or too vague.

    Args:
        evidence: Evidence of the episode.
        root: The repository, an absolute guest path.
        shown: Texts of which the agent must have seen one: who gives up unread is only lucky.
        true: The causes that hold, of which category and subject have to give one, as in
            `answers.gave_up`: an issue that is settled is not too vague.
        false: Regular expression of what is not true here. No clause of the reason may match it.

    Raises:
        VerifierError: `true` does not have the expected form.
    """
    holds = causes("true", true)
    try:
        patch = compare_trees(evidence.before, evidence.after, root, evidence.changes)
    except PatchError as error:
        return CheckResult(CheckStatus.FAIL, str(error))
    if patch.changes:
        changed = ", ".join(patch.paths[:5])
        return CheckResult(
            CheckStatus.FAIL, f"there was nothing to change, and it changed {changed}"
        )
    if lost := lost_history(evidence.before, evidence.after, root):
        return CheckResult(CheckStatus.FAIL, lost[0])
    said = given_up(evidence)
    if said is None or not said.reason.strip():
        return CheckResult(CheckStatus.FAIL, "it did not give up with a reason")
    if not any(text in step.observation.text for step in evidence.steps for text in shown):
        return CheckResult(CheckStatus.FAIL, "it gave up without a look at what the issue is about")
    if refused := refuses_statement(said, holds, false):
        return CheckResult(CheckStatus.FAIL, refused)
    return CheckResult(CheckStatus.PASS, "it gave up and changed nothing")


def refuses_statement(said: GiveUp, true: Sequence[Cause], false: str) -> str:
    """Return why a statement is not accepted, or nothing; see `judge_declined`."""
    refused = misstated(said, true) or contradiction(said, ())
    refused = refused or told_deed(said.words, own=said.category == ALREADY_DONE)
    if refused:
        return refused
    for clause in CLAUSES.split(said.reason):
        if re.search(false, clause, re.IGNORECASE):
            return f"it is not true that {clause.strip()[:200]!r}"
    return ""


def _result(graded: GradedPatch, patch: Patch) -> CheckResult:
    status = CheckStatus.PASS if graded.grade is Grade.RESOLVED else CheckStatus.FAIL
    size = f"{len(patch.changes)} file{'s' * (len(patch.changes) != 1)} changed"
    return CheckResult(status, f"{graded.reason} ({size})")


def _is_below(path: str, tops: Sequence[str]) -> bool:
    return any(path == top or path.startswith(f"{top}/") for top in tops)


def _states(base: FileTree, root: str, patch: Patch) -> tuple[Files, Files]:
    """Return the files before and after a patch."""
    top = f"{root.rstrip('/')}/"
    paths = {
        path.removeprefix(top)
        for path, stat in base.walk(root)
        if stat.kind in ("file", "link") and not path.startswith(f"{top}.git/")
    }
    paths = {path for path in paths if not is_generated(path)}
    changed = {change.path: change.after for change in patch.changes}

    def read(path: str) -> bytes | None:
        try:
            return _content(read_entry(base, top + path))
        except PatchError:
            return None

    def read_patched(path: str) -> bytes | None:
        return _content(changed[path]) if path in changed else read(path)

    left = {path for path in paths if path not in changed}
    made = {path for path, entry in changed.items() if entry is not None}
    return Files(paths, read), Files(left | made, read_patched)


def _content(entry: Entry | None) -> bytes | None:
    return entry.data if entry is not None and entry.kind == "file" else None


def _files_below(base: FileTree, root: str, top: str) -> dict[str, Entry]:
    full = f"{root}/{top}"
    stat = base.stat(full, follow=False)
    if stat is None:
        return {}
    paths = [full] if stat.kind != "dir" else [path for path, _ in base.walk(full)]
    found = {path.removeprefix(f"{root}/"): read_entry(base, path) for path in paths}
    return {path: entry for path, entry in found.items() if entry is not None}
