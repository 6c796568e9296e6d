"""Adding records."""

import fieldkit


def add(records, new):
    """Return the records with new ones: the record of a boat is replaced field by field."""
    records = list(records)
    for record in new:
        at = next((k for k, old in enumerate(records) if old["boat"] == record["boat"]), None)
        if at is None:
            records.append(record)
        else:
            records[at] = fieldkit.merge(record, records[at])
    return records
