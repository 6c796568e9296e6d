"""Errors that become responses."""

from collections.abc import Mapping
from types import MappingProxyType

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class HttpError(Exception):
    """An error with a status, a message for the caller, and headers."""

    def __init__(
        self, status: int, message: str = "", headers: Mapping[str, str] = _NO_HEADERS
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers)
