"""The values that are counted."""

import math


def finite(value: float, what: str = "a value") -> float:
    """Return a value as a float.

    Raises:
        ValueError: It is no finite number.
    """
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{what} has to be a finite number, got {value!r}")
    return number
