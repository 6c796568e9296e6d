"""Dry runs of checks: validate the arguments of a check before an episode exists.

The module relies on a convention: a check validates its arguments before it looks at the evidence.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any, cast

from agentgym.errors import AgentGymError, VerifierError, pass_interruptions
from agentgym.protocols import Check, Evidence
from agentgym.records import Json


class _Looked(BaseException):
    """Raised when the check looks at the evidence: its arguments are valid."""


class _Curtain:
    def __getattr__(self, name: str) -> Any:
        raise _Looked


def dry_run(use: str, check: Check, arguments: Mapping[str, Json]) -> None:
    """Call a check until it first looks at the evidence.

    Args:
        use: Name of the check in the rubric.
        check: The function.
        arguments: Arguments from the rubric, slots filled.

    Raises:
        VerifierError: The check refused its arguments, or raised while it read them.
        MissingExtraError: The check needs a package that is not installed.
    """
    try:
        check(cast(Evidence, _Curtain()), **arguments)
    except _Looked:
        return
    except AgentGymError:
        raise
    except BaseException as error:  # an author's function may raise anything
        pass_interruptions(error)
        what = traceback.format_exception_only(error)[-1].strip()
        raise VerifierError(f"use = {use!r}: it cannot take its arguments: {what}") from error
