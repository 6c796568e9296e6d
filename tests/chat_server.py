"""A real HTTP server on the loopback that speaks the chat-completions API, well or badly.

A `ChatServer` answers each POST with the next of its scripted replies, repeating the last, or
with what a function of the request returns. It refuses a dialogue that the real API refuses, so
a test that only looks at the answers still fails on an invalid request.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

TOOL_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True)
class Status:
    """An error answer."""

    code: int
    message: str = "as scripted"
    headers: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """A body sent as it is."""

    body: bytes
    content_type: str = "application/json"
    code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Endless:
    """A reply that never ends.

    It is in its ``headers``, a ``drip`` of events without or with ``words``, or in its ``body``.
    """

    kind: str


@dataclass(frozen=True)
class LeftOpen:
    """A whole streamed reply, after which the stream goes on."""

    reply: Mapping[str, Any]


@dataclass(frozen=True)
class Dropped:
    """A connection that is closed in the middle of a body."""


def call(tool: str, arguments: Any = None, call_id: str = "call_a") -> dict[str, Any]:
    """A tool call; a string stands for arguments that are sent as they are."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {"id": call_id, "type": "function", "function": {"name": tool, "arguments": text}}


def says(
    *calls: Mapping[str, Any],
    content: str | None = None,
    usage: tuple[int, int, int] = (100, 10, 0),
    **fields: Any,
) -> dict[str, Any]:
    """A reply body: an assistant message with tool calls; usage is prompt, completion, cached."""
    message = {"role": "assistant", "content": content, **fields}
    if calls:
        message["tool_calls"] = list(calls)
    prompt, completion, cached = usage
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "test",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def events(reply: Mapping[str, Any], *, pieces: int = 5) -> list[dict[str, Any]]:
    """The same reply as stream chunks, its texts cut into pieces of so many characters."""
    message = reply["choices"][0]["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    for name in ("reasoning_content", "reasoning", "content"):
        text = message.get(name) or ""
        deltas += [{name: text[i : i + pieces]} for i in range(0, len(text), pieces)]
    for index, one in enumerate(message.get("tool_calls", ())):
        function = one["function"]
        start = {"name": function["name"], "arguments": ""}
        deltas.append(
            {
                "tool_calls": [
                    {"index": index, "id": one["id"], "type": "function", "function": start}
                ]
            }
        )
        text = function["arguments"]
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": text[i : i + pieces]}}]}
            for i in range(0, len(text), pieces)
        ]
    head = {"id": reply["id"], "object": "chat.completion.chunk", "created": 1, "model": "test"}
    chunks = [{**head, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return chunks


class _Http(ThreadingHTTPServer):
    """A server that forgives a client for hanging up, and keeps any other failure."""

    daemon_threads = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.failures: list[BaseException | None] = []
        self._open: set[socket.socket] = set()

    def finish_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        try:
            super().finish_request(request, client_address)
        finally:
            self._open.discard(request)

    def server_close(self) -> None:
        # A client may keep an idle connection, whose thread would wait for the next request.
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        super().server_close()

    def handle_error(self, *_: object) -> None:
        failure = sys.exc_info()[1]
        if not isinstance(failure, ConnectionError):
            self.failures.append(failure)


Script = Sequence[Any] | Callable[[dict[str, Any]], Any]


class ChatServer:
    """Serves a script; a context manager that leaves no thread and no socket behind."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.stopping = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> ChatServer:
        handler = type("Handler", (_Handler,), {"chat": self})
        self._http = _Http(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        assert not self._http.failures, self._http.failures

    def next_reply(self, request: dict[str, Any], headers: Mapping[str, str]) -> Any:
        """Take down a request and choose its answer."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
            self.headers.append({name.lower(): value for name, value in headers.items()})
            if problem := invalid(request):
                return Status(400, problem)
            if callable(self._script):
                return self._script(request)
            return self._script[min(number, len(self._script) - 1)]


class _Handler(BaseHTTPRequestHandler):
    chat: ClassVar[ChatServer]
    protocol_version = "HTTP/1.1"
    timeout = 20

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        body = self.rfile.read(size)
        if len(body) < size:
            raise ConnectionError("the client gave up while it sent its request")
        request = json.loads(body)
        if self.path != "/v1/chat/completions":
            return self._send(404, json.dumps({"error": {"message": f"no {self.path}"}}).encode())
        reply = self.chat.next_reply(request, self.headers)
        if isinstance(reply, Status):
            error = {"error": {"message": reply.message, "type": "scripted", **reply.extra}}
            self._send(reply.code, json.dumps(error).encode(), reply.headers)
        elif isinstance(reply, Raw):
            headers = {"Content-Type": reply.content_type, **reply.headers}
            self._send(reply.code, reply.body, headers)
        elif isinstance(reply, Endless):
            self._never_end(reply.kind)
        elif isinstance(reply, LeftOpen):
            self._stream(reply.reply, request)
            self._drip()
        elif isinstance(reply, Dropped):
            self._open("application/json")
            self._chunk(b'{"choices": [')
            self.close_connection = True
        elif request.get("stream"):
            self._stream(reply, request)
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._send(200, json.dumps(reply).encode())

    def _send(self, code: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Mapping[str, Any], request: Mapping[str, Any]) -> None:
        self._open("text/event-stream")
        chunks = events(reply)
        if request.get("stream_options", {}).get("include_usage"):
            chunks.append({**chunks[0], "choices": [], "usage": reply["usage"]})
        for chunk in chunks:
            self._chunk(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self._chunk(b"data: [DONE]\n\n")

    def _never_end(self, kind: str) -> None:
        """Go on until the client leaves or the server stops."""
        self.close_connection = True
        if kind == "headers":
            self.chat.stopping.wait(self.timeout)
        elif kind in ("drip", "words"):
            self._open("text/event-stream")
            self._drip("on and on " * (kind == "words"))
        else:
            self._open("application/json")
            while not self.chat.stopping.is_set():
                self._chunk(b" " * 65536)

    def _drip(self, words: str = "") -> None:
        self.close_connection = True
        event = {"choices": [{"index": 0, "delta": {"content": words}}]}
        line = f"data: {json.dumps(event)}" if words else ": still thinking"
        while not self.chat.stopping.is_set():
            self._chunk(f"{line}\n\n".encode())
            self.chat.stopping.wait(0.01)

    def _open(self, content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def invalid(request: Mapping[str, Any]) -> str | None:
    """Say why the real API would refuse a request, None where it would not."""
    messages = request["messages"]
    if [m["role"] for m in messages[:2]] != ["system", "user"]:
        return "the dialogue must open with a system and a user message"
    waiting: list[str] = []
    for number, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                return f"messages[{number}]: a tool message that answers no preceding tool call"
            waiting.remove(message["tool_call_id"])
            if not isinstance(message["content"], str):
                return f"messages[{number}]: a tool message holds text"
            continue
        if waiting:
            return f"messages[{number}]: tool calls {waiting} have no answer"
        for one in message.get("tool_calls", ()):
            waiting.append(one["id"])
            name = one["function"]["name"]
            if not TOOL_NAME.fullmatch(name):
                return f"messages[{number}]: {name!r} does not match {TOOL_NAME.pattern}"
            if not isinstance(json.loads(one["function"]["arguments"]), dict):
                return f"messages[{number}]: the arguments are not an object"
        if role == "assistant" and "tool_calls" not in message and not message["content"]:
            return f"messages[{number}]: an assistant message without content"
    if waiting:
        return f"tool calls {waiting} have no answer"
    if "tools" not in request:
        return None
    names = [tool["function"]["name"] for tool in request["tools"]]
    return None if names and len(set(names)) == len(names) else "tools must have different names"
