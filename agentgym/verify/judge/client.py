"""Ask a model for an object of a schema, and accept nothing else as an answer.

Servers differ in how they enforce a schema: ``response_format`` with the schema, a forced tool
call, or any JSON object. The first form that a server accepts is used from then on. The answer is
parsed as JSON and validated. If it is unusable, the model is told why, once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from agentgym.chat.completion import Message
from agentgym.chat.endpoint import Endpoint
from agentgym.chat.errors import (
    ContextLengthError,
    EndlessReplyError,
    EndpointError,
    UnreadableReplyError,
    is_server_failure,
    may_be_content,
)
from agentgym.errors import VerifierError
from agentgym.records import Json
from agentgym.verify.judge.answer import UnusableAnswerError
from agentgym.verify.judge.unanswered import (
    FailedAnswerError,
    LateAnswerError,
    UnansweredError,
)

T = TypeVar("T")

_NAME = "answer"
_NOT_SUPPORTED = frozenset({400, 404, 415, 422, 501})


class Form(StrEnum):
    """The ways to enforce a schema, strictest first."""

    SCHEMA = "json_schema"
    TOOL = "tool"
    OBJECT = "json_object"


class Forms:
    """The form to begin with at a server: the strictest one that is not yet known to be refused."""

    def __init__(self) -> None:
        self.first = Form.SCHEMA

    @staticmethod
    def after(form: Form) -> Form | None:
        """Return the next form to try; None after the last."""
        later = list(Form)[list(Form).index(form) + 1 :]
        return later[0] if later else None


class Client:
    """Asks one model.

    Args:
        endpoint: The endpoint of the model.
        model: Name of the model at the endpoint.
        forms: The forms to begin with; shared by the clients of one judge.
        sampling: Sampling fields of every request.
    """

    def __init__(
        self, endpoint: Endpoint, model: str, forms: Forms, sampling: Mapping[str, Json]
    ) -> None:
        self._endpoint, self._model, self._forms = endpoint, model, forms
        self._sampling = sampling

    async def ask(
        self,
        messages: Sequence[Mapping[str, Json]],
        schema: Mapping[str, Json],
        read: Callable[[object], T],
    ) -> tuple[T, Json]:
        """Return an answer, as `read` parses it and as raw text.

        Raises:
            LateAnswerError: No complete answer came in time.
            FailedAnswerError: The server kept failing at the request.
            UnansweredError: The model refused, its second answer is unusable too, or the endpoint
                rejects the request, for its length or another reason.
            VerifierError: The endpoint failed.
        """
        dialogue = list(messages)
        complaint = ""
        for _ in range(2):
            try:
                message, form = await self._complete(dialogue, schema)
                value = _object(message, form)
                return read(value), value
            except UnusableAnswerError as problem:
                complaint = str(problem)
            # The answer is not sent back, since it may quote an exhibit without its delimiters.
            told = f"Your answer could not be used: {complaint}. Answer again, by the schema."
            dialogue = [*messages, {"role": "user", "content": told}]
        raise UnansweredError(f"judge {self._model}: two unusable answers, the last: {complaint}")

    async def _complete(
        self, messages: Sequence[Mapping[str, Json]], schema: Mapping[str, Json]
    ) -> tuple[Message, Form]:
        """Send a dialogue in the first form that the server accepts."""
        form: Form | None = self._forms.first
        refused: EndpointError | None = None
        while form is not None:
            request: dict[str, Any] = {"model": self._model, "messages": list(messages)}
            request |= {**self._sampling, **_held_to(schema, form)}
            try:
                completion = await self._endpoint.complete(request)
            except UnreadableReplyError as error:
                raise UnusableAnswerError("it could not be read") from error
            except EndpointError as error:
                too_long = isinstance(error, ContextLengthError)
                if too_long or error.status not in _NOT_SUPPORTED:
                    raise self._failure(error) from error
                refused = refused or error
                form = self._forms.after(form)
                continue
            self._forms.first = form
            return completion.message, form
        assert refused is not None
        raise self._failure(refused) from refused

    def _failure(self, error: EndpointError) -> VerifierError:
        """Return whether the request's content may be the reason."""
        kind: type[VerifierError] = UnansweredError if may_be_content(error) else VerifierError
        if kind is VerifierError and isinstance(error, EndlessReplyError):
            kind = LateAnswerError
        if is_server_failure(error):
            kind = FailedAnswerError
        return kind(f"judge {self._model}: {error}")


def _held_to(schema: Mapping[str, Json], form: Form) -> dict[str, Any]:
    if form is Form.SCHEMA:
        wanted = {"name": _NAME, "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": wanted}}
    if form is Form.TOOL:
        function = {"name": _NAME, "description": "Give the answer.", "parameters": schema}
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": _NAME}},
        }
    return {"response_format": {"type": "json_object"}}


def _object(message: Message, form: Form) -> Json:
    """Return the parsed content of a reply.

    Raises:
        UnansweredError: The model refuses to answer.
        UnusableAnswerError: It is not JSON.
    """
    if refusal := message.refusal:
        raise UnansweredError(f"the judge refused to answer: {refusal[:300]!r}")
    text = message.content
    if form is Form.TOOL:
        calls = [c for c in message.tool_calls or () if c.function.name == _NAME]
        if not calls:
            raise UnusableAnswerError(f"it does not call the tool {_NAME!r}")
        text = calls[0].function.arguments
    try:
        value: Json = json.loads(text or "", object_pairs_hook=_with_each_field_once)
    except UnusableAnswerError:
        raise
    except (ValueError, RecursionError):
        raise UnusableAnswerError("it is not one JSON object and nothing else") from None
    return value


def _with_each_field_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Return an object of JSON; a field with two values, such as two verdicts, has none."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnusableAnswerError("it has a field twice")
    return found
