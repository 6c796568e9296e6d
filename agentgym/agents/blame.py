"""Classifies an exception of an agent as a failure of its policy or of its transport.

An episode whose policy failed is judged in its present state; an episode whose agent could not
reach its model has no score. An agent cannot choose between them by the class that it raises. A
failure belongs to the transport only if installed code (the standard library, an HTTP client, a
vendor's SDK, agentgym) raised the exception, or one that led to it, and the exception says that a
connection failed or that a server answered with an error of its own. An exception from the agent's
own files belongs to the policy, whatever its name. docs/agents.md has the table.
"""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Final

from agentgym.agents.settled import plain_generation, plain_usage
from agentgym.chat.refusals import Refusal, read_refusal
from agentgym.errors import AgentError, PolicyError, pass_interruptions
from agentgym.records import TokenUsage
from agentgym.records.bounds import MAX_GENERATIONS, flaw_of_generations, flaw_of_usage

_CHARS: Final = 2_000
_DETAIL_CHARS: Final = 20_000
_LINKS: Final = 50

_STATUSES: Final = frozenset({401, 402, 403, 404, 407, 408, 409, 425, 429})
"""HTTP answers below 500 that no dialogue causes: key, quota, address, rate."""

_CONNECTION_NAMES: Final = frozenset(
    {
        *("ConnectionError", "ConnectError", "ConnectTimeout", "PoolTimeout", "NetworkError"),
        *("APIConnectionError", "ClientConnectionError", "EndpointConnectionError", "ProxyError"),
        *("RemoteProtocolError", "NewConnectionError", "SSLError", "gaierror", "herror"),
    }
)
"""Names of the connection errors of HTTP clients, none of which needs to be installed."""

_OWN_PACKAGE: Final = str(Path(__file__).resolve().parents[1])
_STANDARD: Final = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
_INSTALLED: Final = ("site-packages", "dist-packages")


def blame(error: BaseException, agent: object) -> AgentError:
    """Return an agent's exception as the failure that the engine records.

    Args:
        error: Exception from `start` or `act`.
        agent: The agent; the module of its class and the package of that module are its own code.

    Returns:
        A `PolicyError` if the episode is to be judged, else an `AgentError`; the record keeps its
        `detail`.
    """
    try:
        return _blamed(error, agent)
    except BaseException as raised:  # noqa: BLE001 - attributes of a foreign one may raise anything
        pass_interruptions(raised)
        return PolicyError(f"{type(error).__name__}: (it cannot be read)")


def _blamed(error: BaseException, agent: object) -> AgentError:
    own = str(getattr(agent, "module", "") or type(agent).__module__).split(".")[0]
    detail = _detail(error, own)
    if isinstance(error, PolicyError):
        failure: AgentError = PolicyError(_text(error))
    else:
        kind = AgentError if _is_transport(error, own) else PolicyError
        named = "" if isinstance(error, AgentError) else f"{type(error).__name__}: "
        failure = kind(f"{named}{_text(error)}")
    if isinstance(error, AgentError) and isinstance(error.detail, str) and error.detail:
        detail = _cut(error.detail, _DETAIL_CHARS)
    failure.detail = detail
    usage = getattr(error, "usage", None)
    if isinstance(usage, TokenUsage) and not flaw_of_usage(usage):
        failure.usage = plain_usage(usage)
    generations = getattr(error, "generations", None)
    if isinstance(generations, tuple) and not flaw_of_generations(generations):
        with suppress(ValueError):  # an agent may have written into the arrays
            failure.generations = tuple(map(plain_generation, generations[-MAX_GENERATIONS:]))
    return failure


def _is_transport(error: BaseException, own: str) -> bool:
    """Return whether installed code reports that a connection or a server failed."""
    for link in _links(error):
        frame = _raised_in(link.__traceback__)
        if frame is None or _is_own(frame, own):
            continue
        if isinstance(link, AgentError) and not isinstance(link, PolicyError):
            return _path(frame).startswith(f"{_OWN_PACKAGE}/")
        if _is_refusal(link) or _is_broken_connection(link):
            return True
    return False


def _links(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that led to it, in the order of a traceback."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _LINKS:
        link = waiting.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting += link.exceptions
        waiting.append(link.__cause__ or (None if link.__suppress_context__ else link.__context__))


def _raised_in(trace: TracebackType | None) -> FrameType | None:
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame


def _is_own(frame: FrameType, own: str) -> bool:
    """Return whether a frame runs the agent's code: its package, or files outside installations."""
    module = str(frame.f_globals.get("__name__", "")).split(".")[0]
    if module == own and own != "agentgym":
        return True
    path = _path(frame)
    if path.startswith(f"{_OWN_PACKAGE}/") or path.startswith("<frozen "):
        return False
    installed = any(name in Path(path).parts for name in _INSTALLED)
    return not installed and not path.startswith(_STANDARD)


def _path(frame: FrameType) -> str:
    return frame.f_code.co_filename


def _is_refusal(error: BaseException) -> bool:
    """Return whether an exception carries an HTTP status that the server or the account caused."""
    status = _status(error)
    if status is None or not (status in _STATUSES or status >= 500):
        return False
    # A server that cannot read the call of its model answers 500.
    return read_refusal(status, None, _text(error)) is not Refusal.REPLY


def _status(error: BaseException) -> int | None:
    with suppress(Exception):  # attributes of foreign exceptions may raise anything
        for holder in (error, getattr(error, "response", None)):
            for name in ("status_code", "status", "code"):
                value = getattr(holder, name, None)
                if type(value) is int and 100 <= value < 600:
                    return value
    return None


def _is_broken_connection(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    # A late reply may mean that the model generates text without end.
    late = any(name.endswith("Timeout") or name.endswith("TimeoutError") for name in names)
    if late and not names & {"ConnectTimeout", "PoolTimeout"}:
        return False
    return bool(names & _CONNECTION_NAMES)


def _text(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as raised:  # noqa: BLE001 - a foreign __str__ may raise anything
        pass_interruptions(raised)
        text = "(its text cannot be had)"
    return _cut(text, _CHARS)


def _detail(error: BaseException, own: str) -> str:
    """Return the traceback from the agent's first frame on; empty for agents of agentgym."""
    trace = error.__traceback__
    while trace is not None and not _is_own(trace.tb_frame, own):
        trace = trace.tb_next
    told = _raised_in(error.__traceback__)
    if isinstance(error, AgentError) and told and _path(told).startswith(f"{_OWN_PACKAGE}/"):
        return ""  # agents of agentgym put all details into their message
    try:
        lines = traceback.format_exception(type(error), error, trace or error.__traceback__)
    except BaseException as raised:  # noqa: BLE001 - a foreign __str__ may raise anything
        pass_interruptions(raised)
        lines = traceback.format_tb(trace)
    return _cut("".join(lines).rstrip(), _DETAIL_CHARS)


def _cut(text: str, most: int) -> str:
    """Return the start of a text as plain text, whatever the methods of its class do."""
    start = str.__getitem__(text, slice(most))
    return start if str.__len__(text) <= most else f"{start}…"
