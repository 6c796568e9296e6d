"""The parsers by name: agentgym's own names, and the names that data sets state."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from agentgym.errors import NotFoundError
from agentgym.swe.log_parsers import go, javascript, python
from agentgym.swe.outcomes import Outcome

PARSERS: Final[Mapping[str, Callable[[str], Mapping[str, Outcome]]]] = {
    "go": go.go,
    "jest": javascript.jest,
    "mocha": javascript.mocha,
    "pytest": python.pytest,
    "pytest-short-options": python.pytest_short_options,
    "pytest-with-spaces": python.pytest_with_spaces,
    "sympy": python.sympy,
    "tap": javascript.tap,
    "unittest": python.unittest,
}

_OTHER_NAMES: Final = {
    "astroid": "pytest",
    "astropy": "pytest-with-spaces",
    "django": "unittest",
    "flask": "pytest",
    "gotest": "go",
    "jest_json": "jest",
    "marshmallow": "pytest",
    "matplotlib": "pytest",
    "pvlib": "pytest",
    "pydicom": "pytest-short-options",
    "pylint": "pytest-short-options",
    "pytest_options": "pytest-short-options",
    "pytest_v2": "pytest-with-spaces",
    "requests": "pytest-short-options",
    "scikit": "pytest-with-spaces",
    "seaborn": "pytest",
    "sphinx": "pytest-with-spaces",
    "sqlfluff": "pytest",
    "vitest": "jest",
    "xarray": "pytest",
}
"""SWE-bench's names without `parse_log_`, by agentgym's name of a parser that reads such logs."""


def parser_name(stated: str) -> str:
    """Return agentgym's name of a parser, from a name that a data set states.

    Raises:
        NotFoundError: No parser reads such logs.
    """
    name = re.sub(r"^parse_log_", "", stated.strip())
    name = _OTHER_NAMES.get(name, name)
    if name not in PARSERS:
        raise NotFoundError("log parser", stated, PARSERS)
    return name


def parse_log(name: str, log: str) -> Mapping[str, Outcome]:
    """Return the outcomes that a test log states, by test id; empty if it states none.

    Args:
        name: Name of the parser, agentgym's or a data set's.
        log: Output of the test command.

    Raises:
        NotFoundError: No parser has this name.
    """
    return dict(PARSERS[parser_name(name)](log))
