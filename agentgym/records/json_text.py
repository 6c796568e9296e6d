"""Encoders of JSON that are built once, for texts that are written at every step.

`json.JSONEncoder.encode` builds the encoder of CPython's `_json` module anew at each call, which
takes longer than to encode an action.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json import encoder as _json_encoder
from typing import Any, Final

_SEPARATORS: Final = (",", ":")


def encoder(
    *,
    default: Callable[[Any], object] | None = None,
    ascii_only: bool = True,
    allow_nan: bool = True,
) -> Callable[[object], str]:
    """Return a function that writes a JSON value as one line without blanks.

    The function raises `TypeError` or `ValueError` for a value that is not JSON, and
    `RecursionError` for one that holds itself.

    Args:
        default: Converts other values to JSON values.
        ascii_only: Whether other characters than ASCII are escaped.
        allow_nan: Whether numbers may be infinite or not a number.

    Example:
        >>> encoder()({"n": [1, None]})
        '{"n":[1,null]}'
    """
    plain = json.JSONEncoder(
        default=default,
        ensure_ascii=ascii_only,
        allow_nan=allow_nan,
        check_circular=False,
        separators=_SEPARATORS,
    )
    make: Any = getattr(_json_encoder, "c_make_encoder", None)
    if make is None:  # an interpreter without the module in C
        return plain.encode
    quoted = (
        _json_encoder.encode_basestring_ascii if ascii_only else _json_encoder.encode_basestring
    )
    item, key = _SEPARATORS
    encode = make(None, plain.default, quoted, None, key, item, False, False, allow_nan)

    def text(value: object) -> str:
        return "".join(encode(value, 0))

    return text
