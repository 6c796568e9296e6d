"""The address of an OpenAI-compatible endpoint, as a user's environment variables name it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from agentgym.errors import ConfigError

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Address:
    """The address of an endpoint and its key.

    Attributes:
        url: Without a slash at its end.
        key: Key that is sent as the bearer token.
        url_from: Variable that messages name if the address may be wrong.
        key_from: Variable that messages name if the key may be wrong.
    """

    url: str
    key: str
    url_from: str = "OPENAI_BASE_URL"
    key_from: str = "OPENAI_API_KEY"

    @classmethod
    def from_environment(cls, who: str, own: str = "") -> Address:
        """Read ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``; a local endpoint needs no key.

        Args:
            who: The component that needs an endpoint, for the message: ``"agent 'openai'"``.
            own: Prefix of variables that take precedence: ``AGENTGYM_JUDGE`` stands for
                ``AGENTGYM_JUDGE_BASE_URL`` and ``AGENTGYM_JUDGE_API_KEY``. A key is never sent to
                an endpoint that was set together with another key.

        Raises:
            ConfigError: The variables name no usable endpoint.
        """
        names = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
        if own and os.environ.get(f"{own}_BASE_URL", "").strip():
            names = (f"{own}_BASE_URL", f"{own}_API_KEY")
        elif own and os.environ.get(f"{own}_API_KEY", "").strip():
            names = ("OPENAI_BASE_URL", f"{own}_API_KEY")
        url, key = (os.environ.get(name, "").strip() for name in names)
        if not key and not url:
            raise ConfigError(
                f"{who} has no endpoint: export OPENAI_API_KEY, "
                f"or {own or 'OPENAI'}_BASE_URL of a local server, e.g. http://localhost:8000/v1"
            )
        if url and not url.startswith(("http://", "https://")):
            raise ConfigError(
                f"{names[0]} is {url!r}; expected an http:// or https:// address, "
                "e.g. http://localhost:8000/v1"
            )
        return cls((url or OPENAI_URL).rstrip("/"), key or "none", *names)
