"""Values that many jobs refer to, such as the weights of a policy."""

from __future__ import annotations

from typing import Protocol, TypeVar

V = TypeVar("V", covariant=True)


class Shared(Protocol[V]):
    """A value that is sent to a node once, however many jobs of its workers refer to it."""

    async def read(self) -> V:
        """Return the value; called by a worker."""
        ...
