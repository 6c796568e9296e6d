"""JSON values and images, the types that every other record is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Image: TypeAlias = NDArray[np.uint8]
else:  # Importing numpy costs more time than the rest of a command's start.
    Image = Any
