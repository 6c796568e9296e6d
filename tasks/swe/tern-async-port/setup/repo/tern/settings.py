"""Settings of a mirror."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """Settings.

    Attributes:
        together: Most requests at once (asynchronous transports only).
        pauses: Seconds before the second try, the third, and so on; then a request has failed.
        chunk: Bytes to ask for at once.
    """

    together: int = 4
    pauses: tuple[float, ...] = (1.0, 5.0)
    chunk: int = 65536
