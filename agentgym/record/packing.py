"""How a value stands in a column: as a line of JSON, or as the name of the blob that holds it.

Values over 8 KiB and pictures are blobs. In a value's place then stands ``@<sha256>``, which
no JSON value begins with.
"""

from __future__ import annotations

from typing import Any

from agentgym.errors import RecordError
from agentgym.record import codec
from agentgym.record.blobs import BlobStore
from agentgym.records import Json, Observation

INLINE_BYTES = 8192


class Packing:
    """Packs values into columns and back.

    Args:
        blobs: Where the large ones go.
    """

    def __init__(self, blobs: BlobStore) -> None:
        self._blobs = blobs

    def pack(self, value: Json) -> str:
        """Return the column of a JSON value."""
        text = codec.dumps(value)
        return text if len(text) <= INLINE_BYTES else "@" + self._blobs.put(text.encode("ascii"))

    def unpack(self, column: str | None, absent: object = None) -> Any:
        """Return the value of a column, `absent` where it is empty.

        Raises:
            RecordError: The column or its blob is damaged.
        """
        if column is None:
            return absent
        if column.startswith("@"):
            column = self._blobs.get(column[1:]).decode("ascii")
        try:
            return codec.loads(column)
        except ValueError as error:
            raise RecordError(
                f"{self._blobs.folder.parent}: a value is damaged: {error}"
            ) from error

    def pack_observation(self, observation: Observation) -> str:
        """Return the column of an observation; its picture becomes a PNG blob."""
        name = None
        if observation.image is not None:
            name = self._blobs.put(codec.png_from_image(observation.image), compress=False)
        return self.pack(codec.observation_to_json(observation, name))

    def unpack_observation(self, column: str) -> Observation:
        """Read what `pack_observation` returned."""
        value = self.unpack(column)
        name = value["image"]
        image = None if name is None else codec.image_from_png(self._blobs.get(name))
        return codec.observation_from_json(value, image)
