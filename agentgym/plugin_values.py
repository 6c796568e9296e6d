"""Models of what a plug-in returns: records that anything may fill, read by their attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError


class PluginValue(BaseModel):
    """Base of a model of a record that a plug-in has filled. Nothing is converted."""

    model_config = ConfigDict(strict=True, from_attributes=True, allow_inf_nan=False)


def problems_of(value: object, model: type[PluginValue]) -> Iterator[str]:
    """Yield the fields that are not as the model says, with what was expected and seen."""
    try:
        model.model_validate(value)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            field = ".".join(map(str, details["loc"]))
            if details["type"] == "value_error":
                yield f"{field}: {details['ctx']['error']}"
            else:
                expected = details["msg"].removeprefix("Input should be ")
                yield f"{field}: expected {expected}, got {details['input']!r:.80}"


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"expected text that UTF-8 can encode, got {text!r:.80}") from None
    return text


Text: TypeAlias = Annotated[str, AfterValidator(_encodable)]
"""Text that UTF-8 can encode."""
