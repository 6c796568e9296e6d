"""Images as references: a picture that a tool returns is stored once and has a name.

A name is ``image:`` and twelve hex digits of the SHA-256 of the bytes. Results and arguments
contain the name; the bytes stay in the store, which forks of a state share.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

PATTERN: Final = r"^image:[0-9a-f]{12}$"


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a method's signature; over the wire it is its name.

    Attributes:
        data: The file's bytes.
        mime: Its media type.

    Example:
        >>> Image(b"pixels").name
        'image:6ec9c2b0eb14'
    """

    data: bytes
    mime: str = "image/png"

    @property
    def name(self) -> str:
        """Name that stands for the bytes."""
        return f"image:{hashlib.sha256(self.data).hexdigest()[:12]}"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Tell pydantic that a name comes in and a name goes out."""
        return core_schema.with_info_plain_validator_function(
            _taken,
            serialization=core_schema.plain_serializer_function_ser_schema(_kept, info_arg=True),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe the name."""
        return {"type": "string", "pattern": PATTERN}


class Images:
    """All pictures of a state, by name. No picture is ever removed, so forks share one store.

    Attributes:
        size: Bytes of all files.
    """

    def __init__(self) -> None:
        self._kept: dict[str, Image] = {}
        self.size = 0

    def keep(self, image: Image) -> str:
        """Store a picture and return its name."""
        name = image.name
        if name not in self._kept:
            self._kept[name] = image
            self.size += len(image.data)
        return name

    def get(self, name: str) -> Image | None:
        """Return the picture of a name; None if no picture has this name."""
        return self._kept.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)


@dataclass(frozen=True, slots=True)
class Handling:
    """The pictures of one call: the store, and the names that the result mentions."""

    images: Images
    shown: list[str]


def _taken(value: Any, info: core_schema.ValidationInfo) -> Image:
    images = cast("Handling", info.context).images
    if not isinstance(value, str) or not re.fullmatch(PATTERN, value):
        raise PydanticCustomError(
            "image_name", "expected the name of an image, as image:0123456789ab"
        )
    image = images.get(value)
    if image is None:
        raise PydanticCustomError("image", "no tool has returned an image of this name")
    return image


def _kept(image: Image, info: core_schema.SerializationInfo) -> str:
    handling = cast("Handling", info.context)
    name = handling.images.keep(image)
    handling.shown.append(name)
    return name
