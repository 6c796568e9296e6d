"""The ways in which an endpoint gives no usable reply, and what they tell about their cause."""

from __future__ import annotations

_MAY_BE_CONTENT = frozenset({400, 413, 422})
"""Statuses by which content filters answer too; one request cannot tell the two causes apart."""
_SPENT = frozenset({402, 429})
"""Statuses of an account without money, and of a limit on the requests of all its clients."""


class EndpointError(Exception):
    """The endpoint gave no usable reply; the caller decides whose failure that is.

    Attributes:
        status: Status of the HTTP answer that refused the request; None without such an answer.
        reached: Whether the server was reached, and answered with something or broke off.
    """

    def __init__(self, message: str, status: int | None = None, *, reached: bool = False) -> None:
        self.status, self.reached = status, reached or status is not None
        super().__init__(message)


class DialogueError(EndpointError):
    """The endpoint works; the content of the dialogue or of the reply prevents a usable reply."""


class ContextLengthError(DialogueError):
    """The dialogue is longer than the model's context window."""


class ContentFilterError(DialogueError):
    """A filter of the server refuses what the dialogue says."""


class UnreadableReplyError(DialogueError):
    """The server cannot read the tool call that its model has written."""


class EndlessReplyError(DialogueError):
    """The reply is too long, or was not complete by the deadline."""


class LongReplyError(EndlessReplyError):
    """The reply is too long."""


class LateReplyError(EndlessReplyError):
    """The reply was not complete by the deadline; the server may be slow, or hang.

    Attributes:
        streaming: Whether it was still coming, so that the server does not hang.
    """

    def __init__(self, message: str, *, streaming: bool = False) -> None:
        self.streaming = streaming
        super().__init__(message)


def may_be_content(error: EndpointError) -> bool:
    """Whether what was sent may have kept a working server from a reply.

    A reply that is not complete by the deadline is left out: the server may be slow.
    """
    kinds = (ContextLengthError, ContentFilterError, LongReplyError, UnreadableReplyError)
    return isinstance(error, kinds) or error.status in _MAY_BE_CONTENT


def is_server_failure(error: EndpointError) -> bool:
    """Whether a server that can be reached failed at the request, for a reason that is not known.

    Some servers fail at a text that they cannot parse, gateways at a reply that does not end, and
    firewalls refuse a text with a command in it. A server that is down, or has another key or
    model, fails at every request. The status tells of a refused content and of a spent rate.
    """
    known = isinstance(error, DialogueError) or error.status in _MAY_BE_CONTENT | _SPENT
    return error.reached and not known
