"""One OpenAI-compatible endpoint: it takes a request and returns a reply or raises `EndpointError`.

The openai SDK speaks to the server. Retries and the deadline are implemented here, because the SDK
neither retries a stream that breaks off nor ends a stream that does not end.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from agentgym.chat.address import Address
from agentgym.chat.answers import ErrorAnswer
from agentgym.chat.completion import (
    MOST_CHARACTERS,
    Completion,
    CutOffError,
    ErrorReplyError,
    OverlongReplyError,
    ReplyError,
    encodable,
    read_json,
)
from agentgym.chat.connections import give_back, lend
from agentgym.chat.errors import (
    ContentFilterError,
    ContextLengthError,
    DialogueError,
    EndpointError,
    LateReplyError,
    LongReplyError,
    UnreadableReplyError,
)
from agentgym.chat.refusals import Refusal, read_refusal, read_status
from agentgym.chat.restarts import Restart
from agentgym.chat.stream import EventStream
from agentgym.threads import COMPUTING

if TYPE_CHECKING:  # Importing it takes half a second, and most runs ask no endpoint.
    import openai


T = TypeVar("T")
P = ParamSpec("P")

CONNECT_S = 10.0
FIRST_WAIT_S = 0.5
MAX_WAIT_S = 16.0
MAX_REPLY_BYTES = 64 * 2**20
"""Longest stream in bytes; a stream takes some hundred bytes for each token."""
_SILENT_S = 15.0
"""Time in which a stream that is still coming brings something."""

_LARGE_BYTES = 65536
_TRANSIENT = frozenset({408, 409, 425, 429})
# openai 2 is built on httpx and openai 3 on httpx2; the names are the same in both.
_NEVER_CONNECTED = frozenset({"ConnectError", "ConnectTimeout", "UnsupportedProtocol"})


class _AttemptError(Exception):
    """One attempt failed; `transient` tells whether another may succeed."""

    def __init__(
        self,
        message: str,
        *,
        transient: bool,
        wait_s: float | None = None,
        status: int | None = None,
        reached: bool = False,
        connected: bool = True,
    ) -> None:
        self.transient = transient
        self.wait_s = wait_s
        self.status = status
        self.reached = reached
        self.connected = connected
        super().__init__(message)


class Endpoint:
    """A client of one endpoint. All clients of an address on one event loop share connections.

    Args:
        address: Address to connect to.
        timeout_s: Seconds that one reply may take, retries included.
        retries: Attempts after the first, if the failure may pass.
        reached: Whether the server was reached before. Such a server may end and start again.
    """

    def __init__(
        self, address: Address, *, timeout_s: float, retries: int, reached: bool = False
    ) -> None:
        # A password in the address must not reach error messages, which are recorded.
        self._url = re.sub(r"//[^/@]*@", "//", address.url) + "/chat/completions"
        self._address = address
        self._timeout_s = timeout_s
        self._retries = retries
        self._client: openai.AsyncOpenAI | None = None
        self._heard_s = 0.0
        self._reached = reached
        self._restart = Restart(self._url)

    async def complete(self, request: Mapping[str, Any]) -> Completion:
        """Send a chat-completions request and return the reply.

        Raises:
            ContextLengthError: The server says that the dialogue is too long.
            ContentFilterError: The server refuses the content of the dialogue.
            EndlessReplyError: The reply is too long, or was not complete by the deadline.
            EndpointError: The server refused, sent an unusable reply, or kept failing.
        """
        # A long dialogue takes milliseconds, and other episodes share the loop.
        request = await COMPUTING.run(encodable, request)
        attempt = 1
        failed: _AttemptError | None = None
        time_s = asyncio.get_running_loop().time
        began_s = asked_s = time_s()
        self._heard_s = 0.0
        try:
            async with asyncio.timeout(self._timeout_s) as deadline:
                while True:
                    asked_s = time_s()
                    try:
                        async with self._restart.turn(deadline):
                            reply = await self._attempt(request)
                        self._restart.forget()
                        return reply
                    except _AttemptError as failure:
                        failure.reached |= failed is not None and failed.reached
                        failed = failure
                        if failure.connected or not self._reached:
                            self._restart.note(broke_off=failure.status is None)
                            await self._wait(failure, attempt, deadline)
                            attempt += 1
                        elif not await self._restart.wait():
                            raise EndpointError(str(failure)) from failure
        except TimeoutError as error:
            late = f"{self._url}: no complete reply within {self._timeout_s:g} s"
            late += f"; before that: {failed}" if failed is not None else ""
            if failed is not None and asked_s - began_s > self._timeout_s / 2:
                raise _given_up(late, failed) from error  # the last attempt had little time
            silent_s = time_s() - self._heard_s
            raise LateReplyError(
                f"{late}; a slow model needs more: openai:<model>?timeout_s=1200",
                streaming=silent_s < min(_SILENT_S, self._timeout_s / 2),
            ) from error

    async def close(self) -> None:
        """Give back the connections, which other clients of the address may still use."""
        client, self._client = self._client, None
        if client is not None:
            await give_back(self._address.url, self._address.key)

    def _connected(self) -> openai.AsyncOpenAI:
        """Return the client of the SDK, made by the first request."""
        import openai

        if self._client is None:
            address = self._address
            self._client = openai.AsyncOpenAI(
                base_url=address.url,
                api_key=address.key,
                max_retries=0,
                # A failed connection is told apart from a reply that does not end.
                timeout=openai.Timeout(None, connect=min(CONNECT_S, self._timeout_s * 0.9)),
                http_client=lend(address.url, address.key),
            )
        return self._client

    async def _wait(self, failure: _AttemptError, attempt: int, deadline: asyncio.Timeout) -> None:
        """Wait before the next attempt, or raise if there should be no other attempt."""
        if not failure.transient:
            raise _given_up(str(failure), failure) from failure
        if attempt > self._retries:
            told = f"{failure}; gave up after {attempt} attempts"
            raise _given_up(told, failure) from failure
        wait_s = failure.wait_s
        if wait_s is None:
            wait_s = min(FIRST_WAIT_S * 2 ** (attempt - 1), MAX_WAIT_S) * random.uniform(0.5, 1)
        left_s = (deadline.when() or 0.0) - asyncio.get_running_loop().time()
        if wait_s > left_s:
            told = (
                f"{failure}; it asks to wait {wait_s:.0f} s, the deadline of "
                f"{self._timeout_s:g} s is in {left_s:.0f} s"
            )
            raise _given_up(told, failure) from failure
        await asyncio.sleep(wait_s)

    async def _attempt(self, request: Mapping[str, Any]) -> Completion:
        import openai

        body = {**request, **request.get("extra_body", {})}
        body.pop("extra_body", None)
        create = self._connected().chat.completions.with_streaming_response.create
        try:
            # The SDK checks each field of its own arguments, 80 ms for a dialogue of 200 steps. An
            # extra body is sent as it is.
            async with create(model="", messages=[], extra_body=body) as response:
                self._reached = True
                return await self._read(response)
        except ErrorAnswer as answer:
            self._reached = True
            raise self._refused(answer) from answer
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, ErrorAnswer):
                self._reached = True
                raise self._refused(error.__cause__) from error
            raise self._unconnected(error) from error
        except OverlongReplyError as error:
            raise LongReplyError(f"{self._url}: the reply is too long: {error}") from error
        except ErrorReplyError as error:
            raise self._errored(error) from error
        except ReplyError as error:
            cut_off = isinstance(error, CutOffError)
            told = f"{self._url}: {error}"
            raise _AttemptError(told, transient=cut_off, reached=True) from error

    async def _read(self, response: openai.AsyncAPIResponse[Any]) -> Completion:
        """Read a reply to its end, or to the end mark of a stream that is left open.

        Raises:
            ReplyError: The body is not a reply.
        """
        streamed = "text/event-stream" in response.headers.get("content-type", "")
        body, stream, size = bytearray(), EventStream(), 0
        most = MAX_REPLY_BYTES if streamed else MOST_CHARACTERS
        try:
            async for chunk in response.iter_bytes():
                size += len(chunk)
                if size > most:
                    raise OverlongReplyError(f"more than {most} bytes")
                if streamed:
                    # A chunk that was compressed may have 64 MiB, and each byte may be a line.
                    for start in range(0, len(chunk), _LARGE_BYTES):
                        piece = chunk[start : start + _LARGE_BYTES]
                        before = stream.characters
                        await _beside(stream.unread + len(chunk), stream.feed, piece)
                        # A gateway also sends comments while a server behind it hangs.
                        if stream.characters > before:
                            self._heard_s = asyncio.get_running_loop().time()
                else:
                    body += chunk
                if stream.over:
                    break
        except ReplyError:
            raise
        except Exception as error:  # two HTTP libraries, many ways to break off
            message = f"{self._url}: the reply broke off after {size} bytes: {error}"
            raise _AttemptError(message, transient=True, reached=True) from error
        if streamed:
            return await _beside(size, stream.complete)
        return await _beside(size, read_json, bytes(body))

    def _refused(self, answer: ErrorAnswer) -> Exception:
        """Classify an answer with an error status."""
        status = answer.status
        message = f"{self._url} answered {status}: {answer.said}"
        if refusal := _as_dialogue_error(status, answer.body, answer.said, message):
            return refusal
        if status in (401, 403):
            message += f"; check {self._address.key_from}"
        if status == 404:
            message += f"; check the model's name and {self._address.url_from}"
        return _AttemptError(
            message, transient=_is_transient(status), wait_s=answer.wait_s, status=status
        )

    def _errored(self, error: ErrorReplyError) -> Exception:
        """Classify an error that came in place of a reply, with a success status."""
        status = read_status(error.error)
        message = f"{self._url}: {error}"
        refusal = _as_dialogue_error(status, error.error, str(error), message)
        return refusal or _AttemptError(
            message, transient=_is_transient(status), status=status, reached=True
        )

    def _unconnected(self, error: openai.APIConnectionError) -> _AttemptError:
        """Classify a failed connection; one that was never established is not retried."""
        cause = error.__cause__ or error
        said = str(cause) or type(cause).__name__
        if type(cause).__name__ in _NEVER_CONNECTED:
            message = (
                f"{self._url}: cannot connect: {said}; "
                f"start the server, or correct {self._address.url_from}"
            )
            return _AttemptError(message, transient=False, connected=False)
        self._reached = True
        message = f"{self._url}: the connection failed: {said}"
        return _AttemptError(message, transient=True, reached=True)


def _given_up(message: str, failure: _AttemptError) -> EndpointError:
    return EndpointError(message, failure.status, reached=failure.reached)


def _is_transient(status: int | None) -> bool:
    return status is not None and (status in _TRANSIENT or status >= 500)


async def _beside(size: int, call: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Make a call on a thread if it reads many bytes: 8 MiB of numbers take seconds."""
    if size <= _LARGE_BYTES:
        return call(*args, **named)
    return await COMPUTING.run(call, *args, **named)


def _as_dialogue_error(
    status: int | None, body: object, said: str, message: str
) -> DialogueError | None:
    """Return the error of a dialogue that is refused, or None if something else is wrong."""
    refusal = read_refusal(status, body, said)
    if refusal is Refusal.CONTEXT:
        hint = "say how much fits: openai:<model>?context_tokens=8000"
        return ContextLengthError(f"{message}; {hint}", status)
    if refusal is Refusal.CONTENT:
        return ContentFilterError(message, status)
    if refusal is Refusal.REPLY:
        return UnreadableReplyError(message, status)
    return None
