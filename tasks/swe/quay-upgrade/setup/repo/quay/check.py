"""Problems of a file."""

from quay.book import read_book
from quay.stay import begins, ends

_NEEDED = ("berth", "boat", "from")


def problems(path):
    """Return a line for each problem."""
    try:
        records = read_book(path)
    except ValueError as error:
        return [f"{path}:{error.line}: {error}"]
    found = []
    for record in records:
        names = [name for name, _ in record.fields]
        found += [f"{path}: a record without {need}" for need in _NEEDED if need not in names]
        found += [f"{path}: {name} is there twice" for name in sorted(set(names)) if names.count(name) > 1]
        found += _days(path, record)
    return found


def _days(path, record):
    try:
        end = ends(record)
        if end is not None and end <= begins(record):
            return [f"{path}: {record['boat']} leaves before it comes"]
    except KeyError:
        return []
    except ValueError as error:
        return [f"{path}: {error}"]
    return []
