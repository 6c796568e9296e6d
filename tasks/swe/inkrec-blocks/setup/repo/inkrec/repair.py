"""Repairs files after a crash."""

import os

from inkrec.errors import DamageError
from inkrec.reader import Reader


def recover(path: str | os.PathLike[str]) -> int:
    """Cut off a file what follows its last good record; return how many bytes that were."""
    try:
        for _ in Reader(path):
            pass
    except DamageError as error:
        size = os.path.getsize(path)
        os.truncate(path, error.offset)
        return size - error.offset
    return 0
