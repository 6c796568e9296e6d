"""Responses."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Response:
    """A response; `body` is bytes as they are sent."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Any) -> "Response":
        """Return what a handler's value stands for."""
        if isinstance(value, Response):
            return value
        if value is None:
            return cls(204)
        return cls.json(value)

    @classmethod
    def json(cls, value: Any, status: int = 200) -> "Response":
        body = json.dumps(value, ensure_ascii=False).encode()
        return cls(status, body, {"Content-Type": "application/json"})
