"""Errors of requests."""


class RequestError(Exception):
    """A request failed; another try may help."""


class Broken(RequestError):
    """The connection ended within the body."""


class Busy(RequestError):
    """The server has no time; `after_s` is when to come back, in seconds, if it said so."""

    def __init__(self, message: str, after_s: float | None = None) -> None:
        super().__init__(message)
        self.after_s = after_s


class Missing(RequestError):
    """The server has no such thing; no other try helps."""


class Fatal(Exception):
    """Nothing can go on."""
