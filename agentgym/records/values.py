"""Types of values that records hold: JSON values, pictures, arrays of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
    Image: TypeAlias = NDArray[np.uint8]
    TokenIds: TypeAlias = NDArray[np.int32]
    LogProbs: TypeAlias = NDArray[np.float32]
    LossMask: TypeAlias = NDArray[np.bool_]
else:
    # Importing numpy costs more time than the rest of a command's start. A type that refers to
    # itself is more than the readers of records need: `records.bounds` checks JSON values.
    Json = Image = TokenIds = LogProbs = LossMask = Any
