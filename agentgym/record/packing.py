"""Packs a value into a column: as a line of JSON, or as the name of a blob.

Values over 8 KiB and pictures become blobs. Their columns hold ``@<sha256>``, and no JSON value
begins so.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.record.blobs import BlobStore
from agentgym.record.pictures import recorded
from agentgym.record.reading import expect
from agentgym.record.step_memory import memory_for_steps
from agentgym.records import Image, Observation
from agentgym.records.bounds import memory_of

INLINE_BYTES = 8192


class Packing:
    """Packs values into columns and back.

    Attributes:
        blobs: Blobs for the large values.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self.blobs = blobs
        self._room = _Room()

    @contextmanager
    def within_memory(self) -> Iterator[None]:
        """Let what is unpacked inside take at most half of this machine's memory.

        Any number of columns may name the same blob of few bytes, which becomes 64 MiB for each of
        them. The database itself has bounds, so only blobs are counted. Uses may be nested; all
        inside of the outermost one count together.
        """
        outermost = self._room.left is None
        if outermost:
            self._room.left = memory_for_steps()
        try:
            yield
        finally:
            if outermost:
                self._room.left = None

    def pack(self, value: object) -> str:
        """Return the column of a JSON value or of a record of such values."""
        return self.pack_text(codec.dumps(value))

    def pack_text(self, text: str) -> str:
        """Return the column of a line of JSON."""
        return text if len(text) <= INLINE_BYTES else "@" + self.blobs.put(text.encode("ascii"))

    def unpack(self, column: object, field: str) -> Any:
        """Return the value of a column.

        Raises:
            ValueError: The column is damaged; the message names the field.
            RecordError: The blob of the value is damaged.
        """
        text: str = expect(column, field, str)
        is_blob = text.startswith("@")
        if is_blob:
            text = self.blobs.get(text[1:]).decode("latin-1")
        try:
            value = codec.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{field}: {error}") from error
        if is_blob and self._room.left is not None:
            self._room.left -= memory_of(value)
            if self._room.left < 0:
                raise RecordError(
                    f"{field}: what was read so far takes more than half of this machine's memory; "
                    "a larger machine can read it"
                )
        return value

    def pack_picture(self, observation: Observation) -> str | None:
        """Keep the picture of an observation as a PNG blob; return its name, None without one."""
        if observation.image is None:
            return None
        return self.blobs.put(codec.png_from_image(observation.image), compress=False)

    def pack_observation(self, observation: Observation, picture: str | None) -> str:
        """Return the column of an observation.

        Args:
            observation: The observation.
            picture: The name that `pack_picture` returned.
        """
        return self.pack_text(codec.observation_to_text(observation, picture))

    def unpack_observation(self, column: object) -> Observation:
        """Return the observation of a column that `pack_observation` returned.

        Raises:
            ValueError: The column is damaged; the message names the field.
            RecordError: A blob of the observation is damaged.
        """
        return codec.observation_from_json(self.unpack(column, "observation"), self._image)

    def unpack_light_observation(self, column: object) -> Observation:
        """Return the observation of a column; its picture is read each time it is asked for.

        Raises:
            ValueError: The column is damaged; the message names the field.
            RecordError: The blob of the observation is damaged.
        """
        named: list[str] = []
        found = codec.observation_from_json(self.unpack(column, "observation"), named.append)
        if not named:
            return found
        return recorded(found, functools.partial(self.blobs.get, named[0]))

    def _image(self, name: str) -> Image:
        try:
            return codec.image_from_png(self.blobs.get(name))
        except (OSError, SyntaxError) as error:
            raise ValueError(f"observation.image: {error}") from error


class _Room(threading.local):
    """The bytes that this thread may still unpack from blobs; None if nothing is counted."""

    left: int | None = None
