"""Read the merged database in a process with bounds: tables, rows of `item` and of `decision`.

Only ordinary tables are read, so nothing that the schema computes is evaluated.
"""

import sqlite3

COLUMNS = {
    "item": ("sku", "title", "price_cents", "on_hand", "active"),
    "decision": ("sku", "field", "shop"),
}
MOST_ROWS = 2_000


def answer(order, folder):
    database = sqlite3.connect(f"{folder}/merged.db")
    database.execute("PRAGMA trusted_schema = OFF")
    schema = database.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    made = {name: (kind, sql) for kind, name, sql in schema.fetchmany(100)}
    found = {"made": sorted(made)}
    for table, columns in COLUMNS.items():
        kind, sql = made.get(table, ("", ""))
        plain = kind == "table" and isinstance(sql, str) and sql.upper().startswith("CREATE TABLE")
        stored = plain and not any(
            row[6] for row in database.execute(f"PRAGMA table_xinfo({table})")
        )
        query = f"SELECT {', '.join(columns)} FROM {table}"
        if stored:
            found[f"{table} made"] = [
                [name, bool(held), key]
                for _, name, _, held, _, key, _ in database.execute(f"PRAGMA table_xinfo({table})")
            ]
        found[table] = database.execute(query).fetchmany(MOST_ROWS) if stored else None
    return found
