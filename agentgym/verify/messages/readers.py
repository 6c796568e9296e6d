"""Readers: the checks of pack `messages` for a single text, without an episode.

The checks and the calibration share them, so that both judge a text alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agentgym.errors import NotFoundError, VerifierError
from agentgym.verify.messages.closed_world import ClosedWorld, closed_world

PACK: Final = "messages"


Fault = Callable[[str, str, Sequence[str]], str]
"""Takes a text, its subject and what its reader had said; returns the fault, empty if right."""


def fault_reader(use: str, arguments: Mapping[str, Any]) -> Fault | None:
    """Return a function that finds the fault of one text; None for checks without a text.

    Raises:
        VerifierError: An argument has the wrong form.
    """
    pack, _, name = use.partition(".")
    if pack != PACK:
        return None
    given = {key: value for key, value in arguments.items() if key not in _EPISODE[name]}
    if name == "keeps_to":
        world: ClosedWorld = closed_world(**given)
        return lambda text, subject, heard: world.fault(f"{subject}\n{text}".strip(), heard)
    raise VerifierError(str(NotFoundError("check of messages", name, _EPISODE)))


_EPISODE: Final[Mapping[str, frozenset[str]]] = {
    "keeps_to": frozenset({"sources"}),
}
"""Arguments that concern the episode and not a text."""
