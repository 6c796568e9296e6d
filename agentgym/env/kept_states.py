"""The choice of final states that a run keeps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agentgym.errors import ConfigError

DEFAULT_MB: Final = 1024


class Policy(StrEnum):
    """Selects the episodes whose final states a run keeps."""

    ALL = "all"
    FAILED = "failed"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class KeptStates:
    """The final states that a run shall keep, as far as the caller has said so.

    Attributes:
        keep_states: ``"all"``, ``"failed"`` or ``"none"``; None for what the run says.
        keep_states_mb: Largest size of them together, in megabytes; None for what the run says.
    """

    keep_states: str | None = None
    keep_states_mb: int | None = None

    def check(self, *, recorded: bool) -> None:
        """Check the values.

        Args:
            recorded: Whether the caller records anything.

        Raises:
            ConfigError: One of them is unknown or of the wrong type, or nothing is recorded.
        """
        if self != KeptStates() and not recorded:
            raise ConfigError("keep_states: nothing is recorded; add record='FOLDER'")
        known = [policy.value for policy in Policy]
        if self.keep_states is not None and self.keep_states not in known:
            names = ", ".join(map(repr, known))
            raise ConfigError(f"keep_states: expected one of {names}, got {self.keep_states!r}")
        size = self.keep_states_mb
        if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 0):
            raise ConfigError(f"keep_states_mb: expected an integer from 0 on, got {size!r}")


KEPT_BY_DEFAULT: Final = KeptStates(Policy.ALL.value, DEFAULT_MB)
