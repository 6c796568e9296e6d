"""Dry runs of checks: the arguments of one are tried before there is an episode to judge.

Owns the convention that makes it possible: a check looks at its arguments before it looks at
the evidence.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any, cast

from agentgym.errors import AgentGymError, VerifierError
from agentgym.protocols import Check, Evidence
from agentgym.records import Json


class _Looked(BaseException):
    """The check looked at the evidence: it found nothing wrong with its arguments."""


class _Curtain:
    def __getattr__(self, name: str) -> Any:
        raise _Looked


def dry_run(use: str, check: Check, arguments: Mapping[str, Json]) -> None:
    """Call a check up to where it first looks at the evidence.

    Args:
        use: What the rubric calls the check.
        check: The function.
        arguments: From the rubric, slots filled.

    Raises:
        VerifierError: The check refused its arguments, or fell over them.
        MissingExtraError: It needs a package that is not installed.
    """
    try:
        check(cast(Evidence, _Curtain()), **arguments)
    except _Looked:
        return
    except AgentGymError:
        raise
    except Exception as error:  # an author's function may raise anything
        what = traceback.format_exception_only(error)[-1].strip()
        raise VerifierError(f"use = {use!r}: it cannot take its arguments: {what}") from error
