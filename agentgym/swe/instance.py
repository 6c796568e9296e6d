"""One instance: a repository at a commit, an issue, the gold patch, and the tests that decide.

The fields follow SWE-bench (Jimenez et al. 2024), versions 4 and 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

Layout: TypeAlias = Literal["swe-bench", "multi-swe-bench", "swe-bench-pro"]

LANGUAGES: Final = (
    "python",
    "javascript",
    "typescript",
    "go",
    "java",
    "rust",
    "c",
    "c++",
    "ruby",
    "php",
)
"""Names of languages as instances state them, in lower case; others are allowed and cannot run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec:
    """The software that the tests of an instance need, and the command that runs them.

    Attributes:
        language: Language of the repository, one of `LANGUAGES`.
        runtime: Version of its interpreter or compiler, like ``"3.9"``; empty for any.
        system_packages: Debian packages.
        pre_install: Commands of the shell that run in the repository before the packages.
        packages: Requirements of the language's package manager, as pip or npm read them.
        install: Commands of the shell that install the repository.
        test_command: The command of the shell that runs tests. ``{tests}`` is replaced by the test
            files of the instance; without it they are appended.
        parser: Name of the parser of the results (`agentgym.swe.log_parsers`).
        timeout_s: Longest time of one run of the tests, in seconds.
    """

    language: str = "python"
    runtime: str = ""
    system_packages: tuple[str, ...] = ()
    pre_install: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    install: tuple[str, ...] = ()
    test_command: str = ""
    parser: str = ""
    timeout_s: float = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance as a data set states it; texts are bounded and hold no NUL.

    Attributes:
        id: Id within its data set; usable as the name of a folder.
        repo: The repository, ``owner/name``.
        base_commit: Hexadecimal id of the commit that the agent starts from.
        patch: The gold patch, without tests. A unified diff of Git.
        test_patch: The patch that adds the hidden tests.
        fail_to_pass: Ids of tests that fail before the gold patch and pass after it.
        pass_to_pass: Ids of tests that pass before and after.
        problem_statement: The text of the issue.
        hints: Comments on the issue. Agents do not see them.
        version: Version of the repository, the key of environment specs; may be empty.
        created_at: Time of the pull request; None if the data set does not tell.
        environment_commit: Commit whose files state the dependencies; may be empty.
        language: Language in lower case; empty if the data set does not tell.
        layout: Layout that the instance was read from.
        environment: What the instance itself states of its environment; None if nothing.
        test_files: Files and folders that the test command gets; empty for those of `test_patch`.
        fail_only: Whether only failing tests are reported, so that an unreported test passed.
    """

    id: str
    repo: str
    base_commit: str
    patch: str
    test_patch: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    problem_statement: str
    hints: str = ""
    version: str = ""
    created_at: datetime | None = None
    environment_commit: str = ""
    language: str = ""
    layout: Layout = "swe-bench"
    environment: EnvironmentSpec | None = None
    test_files: tuple[str, ...] = ()
    fail_only: bool = False
