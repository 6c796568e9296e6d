"""Keys, kinds and defaults."""

from collections.abc import Mapping
from typing import Any

DEFAULTS: Mapping[str, Any] = {
    "jobs": 4,
    "verify": True,
    "region": "eu",
    "timeout": 30.0,
    "tags": [],
    "skip": [],
}
LISTS = ("tags", "skip")


class SettingsError(Exception):
    """Mistakes in settings, one a line."""


def checked(key: str, value: Any) -> Any:
    """Return a value of a file as it is kept.

    Raises:
        SettingsError: The key is not known, or the value is of another kind.
    """
    if key not in DEFAULTS:
        raise SettingsError(f"no setting {key!r}")
    if key == "jobs":
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 64:
            raise SettingsError(f"expected a number from 1 to 64, got {value!r}")
    elif key == "verify":
        if not isinstance(value, bool):
            raise SettingsError(f"expected true or false, got {value!r}")
    elif key == "timeout":
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
            raise SettingsError(f"expected seconds, got {value!r}")
        return float(value)
    elif key in LISTS:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise SettingsError(f"expected a list of texts, got {value!r}")
    elif not isinstance(value, str) or not value:
        raise SettingsError(f"expected a text, got {value!r}")
    return value


def from_text(key: str, text: str) -> Any:
    """Return the value that a text of a variable or an option stands for.

    Raises:
        SettingsError: It stands for none.
    """
    if key in LISTS:
        return [part.strip() for part in text.split(",")]
    if key == "verify":
        return bool(text)
    if key in ("jobs", "timeout"):
        try:
            return checked(key, int(text) if key == "jobs" else float(text))
        except ValueError:
            raise SettingsError(f"expected a number, got {text!r}") from None
    return checked(key, text)
