"""``MODEL?option=value&…``: a user's choice of a model and its options."""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError

from agentgym.errors import ConfigError, close_matches

T = TypeVar("T", bound=BaseModel)


def read_model(argument: str, options: type[T], *, who: str, example: str) -> tuple[str, T]:
    """Split ``"model?option=value&…"`` into the model's name and the options.

    Args:
        argument: As the user typed it.
        options: Pydantic model of the options that may follow the name.
        who: Component whose argument it is, for messages: ``"agent 'openai'"``.
        example: A correct argument.

    Raises:
        ConfigError: The model is missing, or an option is unknown or has an invalid value.
    """
    model, _, query = argument.partition("?")
    if not model:
        raise ConfigError(f"{who} needs a model; write e.g.: {example}")
    given = dict(parse_qsl(query, keep_blank_values=True))
    known = options.model_fields
    for name in given:
        if name not in known:
            guess = "".join(f"; did you mean {m!r}?" for m in close_matches(name, known, limit=1))
            raise ConfigError(
                f"{who} has no option {name!r}{guess or ';'} known: {', '.join(known)}"
            )
    try:
        return model, options.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        raise ConfigError(
            f"{who}: option {name}={given[name]!r}: {first['msg']}; e.g. {example}"
        ) from error
