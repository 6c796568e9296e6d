"""Ask a model for one JSON object of a schema; any model can be plugged in here.

By default the model is asked with the judge's client, which enforces the schema.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from agentgym.chat.address import Address
from agentgym.chat.endpoint import Endpoint
from agentgym.chat.errors import EndpointError
from agentgym.errors import ConfigError, VerifierError
from agentgym.records import Json
from agentgym.verify.judge.answer import UnusableAnswerError
from agentgym.verify.judge.client import Client, Forms

Ask: TypeAlias = Callable[[str, str, Mapping[str, Json]], Awaitable[Mapping[str, Any]]]
"""Called as ``await ask(system, user, schema)``; returns an object that fits the JSON Schema.

Raises OutageError if later questions would fail too, and VerifierError if only this one was not
answered.
"""

DEADLINE_S = 300.0
RETRIES = 2
AT_A_TIME = 4
"""Number of questions that one grader or scorer asks at a time."""


def as_data(question: Mapping[str, Json]) -> str:
    """Return a question as JSON in ASCII: texts of agents and worlds are data in it."""
    return json.dumps(question, ensure_ascii=True)


def shortened(text: str, chars: int) -> str:
    """Return a text of about so many characters at most, the middle left out."""
    if len(text) <= chars:
        return text
    half = chars // 2
    return f"{text[:half]} [… {len(text) - 2 * half} characters left out …] {text[-half:]}"


class OutageError(VerifierError):
    """Raised if the endpoint refuses, fails or does not answer at all."""


class EndpointAsk:
    """An `Ask` over an OpenAI-compatible endpoint, the judge's if one is set.

    Args:
        model: Name of the model.
        asker: Who asks, for messages.

    Raises:
        ConfigError: The model is missing, or no endpoint is set in the environment.
    """

    def __init__(self, model: str, asker: str = "step grader 'llm'") -> None:
        if not model:
            raise ConfigError(f"{asker} needs a model; write e.g.: llm:gpt-x")
        self._model = model
        self._address = Address.from_environment(asker, "AGENTGYM_JUDGE")
        self._forms = Forms()

    async def __call__(
        self, system: str, user: str, schema: Mapping[str, Json]
    ) -> Mapping[str, Any]:
        """Ask once.

        Raises:
            OutageError: No reply came.
            VerifierError: The reply does not fit the schema.
        """
        messages: list[Mapping[str, Json]] = [
            {"role": "system", "content": system},
            {"role": "user", "content": user},
        ]

        def read(value: object) -> Mapping[str, Any]:
            violation = best_match(Draft202012Validator(schema).iter_errors(value))
            if violation is not None or not isinstance(value, Mapping):
                raise UnusableAnswerError(violation.message[:200] if violation else "no object")
            return value

        endpoint = Endpoint(self._address, timeout_s=DEADLINE_S, retries=RETRIES)
        try:
            answer, _ = await Client(endpoint, self._model, self._forms, {}).ask(
                messages, schema, read
            )
        except VerifierError as error:
            if isinstance(error.__cause__, EndpointError):
                raise OutageError(str(error)) from error
            raise
        finally:
            await endpoint.close()
        return answer
