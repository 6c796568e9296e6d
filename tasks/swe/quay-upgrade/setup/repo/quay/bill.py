"""Bills."""

from quay.stay import begins, ends, length

_RATE = 2


def bill(records, boat):
    """Return lines with the price of each stay of a boat that is over."""
    lines, total = [], 0
    for record in records:
        if record["boat"] != boat or not record.get("until"):
            continue
        nights = (ends(record) - begins(record)).days
        price = nights * length(record) * _RATE
        total += price
        lines.append(f"{record['berth']}: {nights} nights, {price} EUR")
    return [*lines, f"{boat}: {total} EUR"]
