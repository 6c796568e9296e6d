"""Assembles a streamed reply as it arrives and keeps only the resulting message.

Server-sent events (WHATWG HTML, 9.2) with the chunks of OpenAI's chat-completions API.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agentgym.chat.completion import (
    MOST_CALLS,
    MOST_CHARACTERS,
    Completion,
    CutOffError,
    Message,
    OverlongReplyError,
    ToolCall,
    read_part,
)
from agentgym.chat.tokens import TokenCollector
from agentgym.records import TokenUsage

_TEXTS = ("content", "thinking", "reasoning_content", "reasoning", "refusal")
"""Fields that a stream sends in pieces, besides tool calls."""


@dataclass(slots=True)
class _Call:
    """A tool call whose pieces are still coming."""

    id: str | None
    name: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


class EventStream:
    """Reads an event stream piece by piece.

    Attributes:
        over: Whether the end mark was seen.
        characters: How many characters of a message have come.
    """

    def __init__(self) -> None:
        self.over = False
        self.characters = 0
        self._line = bytearray()
        self._events = 0
        self._texts: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._open: dict[int | None, _Call] = {}
        self._usage, self._reason = TokenUsage(), ""
        self._tokens = TokenCollector()

    @property
    def unread(self) -> int:
        """Number of bytes of a line whose end has not come yet."""
        return len(self._line)

    def feed(self, piece: bytes) -> None:
        """Take the next bytes.

        Raises:
            ReplyError: An event is not part of a chat completion, or the reply is too long.
        """
        self._line += piece
        if b"\n" in piece:
            *lines, rest = bytes(self._line).split(b"\n")
            self._line = bytearray(rest)
            for line in filter(None, lines):
                self._take(line)
        if len(self._line) > MOST_CHARACTERS:
            raise OverlongReplyError(f"an event of more than {MOST_CHARACTERS} bytes")

    def complete(self) -> Completion:
        """Return the message, once the stream has ended.

        Raises:
            ReplyError: The last event is not part of a chat completion.
            CutOffError: The stream stopped in the middle.
        """
        self._take(bytes(self._line))
        if not self.over and not self._reason:
            raise CutOffError(f"the stream stopped after {self._events} events")
        texts = {name: "".join(parts) for name, parts in self._texts.items()}
        calls = [
            {
                **({} if call.id is None else {"id": call.id}),
                "function": {"name": "".join(call.name), "arguments": "".join(call.arguments)},
            }
            for call in self._calls
        ]
        message = Message.read({"role": "assistant", **texts, "tool_calls": calls})
        tokens = self._tokens
        return Completion(message, self._usage, self._reason, tokens.trace(), tokens.version)

    def _take(self, line: bytes) -> None:
        data = line[5:].strip() if line.startswith(b"data:") and not self.over else b""
        if data == b"[DONE]":
            self.over = True
        if not data or self.over:
            return
        part = read_part(data, self._tokens)
        self._events += 1
        self._usage = part.usage or self._usage
        self._reason = part.finish_reason or self._reason
        for name in _TEXTS:
            if text := getattr(part.delta, name):
                self._count(len(text))
                self._texts.setdefault(name, []).append(text)
        for piece in part.delta.tool_calls or ():
            self._add(piece)

    def _add(self, piece: ToolCall) -> None:
        call = self._open.get(piece.index)
        # Some servers number every call 0; a new id then tells that a new call begins.
        if call is None or (piece.id and piece.id != call.id):
            call = self._open[piece.index] = _Call(piece.id)
            self._calls.append(call)
        if len(self._calls) > MOST_CALLS:
            raise OverlongReplyError(f"more than {MOST_CALLS} tool calls")
        name, arguments = piece.function.name or "", piece.function.arguments or ""
        self._count(len(name) + len(arguments))
        call.name.append(name)
        call.arguments.append(arguments)

    def _count(self, characters: int) -> None:
        self.characters += characters
        if self.characters > MOST_CHARACTERS:
            raise OverlongReplyError(f"more than {MOST_CHARACTERS} characters")
