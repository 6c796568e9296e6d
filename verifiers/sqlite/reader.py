"""Read a copy of the agent's database in a separate process.

No code of the schema is executed: no trigger, view, virtual table or generated column. The
connection cannot write, attach or load anything.
"""

import os
import sqlite3
import time

MOST_ROWS = 20_000
MOST_SECONDS = 8.0
_STORED = 0
_BUILT_IN = {"sqlite_master", "sqlite_schema", "json_each", "json_tree"}
_READING = (
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)


def answer(order, folder):
    """Return the requested data of ``db`` in a folder."""
    database = sqlite3.connect(os.path.join(folder, "db"))
    until = time.monotonic() + MOST_SECONDS
    database.set_progress_handler(lambda: time.monotonic() > until, 10_000)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 8 * 2**20)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.text_factory = lambda data: data.decode("utf-8", "backslashreplace")
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
        database.execute(f"PRAGMA {pragma}")
    what = order["what"]
    try:
        return {"query": query, "table": table, "sound": sound, "count": count}[what](
            database, order
        )
    finally:
        database.close()


def query(database, order):
    """Return the rows of the author's query, which reads ordinary tables only."""
    kinds = "SELECT lower(name) FROM sqlite_master WHERE type IN ('view', 'trigger')"
    views = {name for (name,) in database.execute(kinds)}
    names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    readable = {name for (name,) in names if isinstance(name, str) and _is_plain(database, name)}
    readable |= _BUILT_IN
    refused = []

    def allow(action, name, _column, _schema, inside):  # a view or an expression WITH names
        if inside is not None and inside.lower() in views:
            refused.append(f"{inside} is a view")
        elif action not in _READING:
            refused.append(f"it does something else than reading ({name})")
        elif action == sqlite3.SQLITE_READ and name not in readable:
            refused.append(f"{name} is no ordinary table")
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

    database.set_authorizer(allow)
    try:
        cursor = database.execute(order["sql"])
        rows = cursor.fetchmany(MOST_ROWS + 1)
    except sqlite3.DatabaseError as error:
        raise ValueError(refused[0] if refused else str(error)) from None
    if len(rows) > MOST_ROWS:
        raise ValueError(f"more than {MOST_ROWS} rows")
    return [[_cell(cell) for cell in row] for row in rows]


def table(database, order):
    """Return columns, keys, uniques and references of an ordinary table."""
    name = order["table"]
    _demand_plain(database, name)
    info = database.execute("SELECT * FROM pragma_table_info(?)", [name]).fetchall()
    keys = sorted((key, column) for _, column, _, _, _, key in info if key)
    uniques = []
    indexes = 'SELECT name FROM pragma_index_list(?) WHERE "unique" AND NOT partial'
    for (index,) in database.execute(indexes, [name]).fetchall():
        columns = "SELECT name FROM pragma_index_info(?)"
        uniques.append([column for (column,) in database.execute(columns, [index])])
    references = 'SELECT id, "from", "table", "to" FROM pragma_foreign_key_list(?)'
    return {
        "columns": {column: kind.upper() for _, column, kind, _, _, _ in info},
        "not_null": [column for _, column, _, required, _, key in info if required or key],
        "primary_key": [column for _, column in keys],
        "unique": uniques,
        "references": [
            [column, other, target]
            for _, column, other, target in database.execute(references, [name])
        ],
    }


def sound(database, order):
    """Return the first complaints of SQLite about the file and about its foreign keys."""
    faults = [text for (text,) in database.execute("PRAGMA integrity_check(5)")]
    faults = [text for text in faults if text != "ok"]
    for row in database.execute("PRAGMA foreign_key_check").fetchmany(5):
        faults.append(f"row {row[1]} of {row[0]} refers to no row of {row[2]}")
    return faults


def count(database, order):
    """Return the number of rows in an ordinary table."""
    name = order["table"]
    _demand_plain(database, name)
    quoted = '"' + name.replace('"', '""') + '"'
    return database.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0]


def _demand_plain(database, name):
    kinds = "SELECT type FROM sqlite_master WHERE name = ? AND type IN ('table', 'view')"
    if database.execute(kinds, [name]).fetchone() is None:
        raise ValueError(f"there is no table {name}")
    if not _is_plain(database, name):
        raise ValueError(f"{name} is no ordinary table")


def _is_plain(database, name):
    found = database.execute(
        "SELECT type, sql FROM sqlite_master WHERE name = ? AND type <> 'index'", [name]
    ).fetchall()
    if [kind for kind, _ in found if kind != "trigger"] != ["table"]:
        return False
    sql = next(str(sql) for kind, sql in found if kind == "table").upper()
    if not sql.startswith("CREATE TABLE"):
        return False
    hidden = database.execute("SELECT hidden FROM pragma_table_xinfo(?)", [name])
    return all(kind == _STORED for (kind,) in hidden)


def _cell(value):
    return {"bytes": value.hex()} if isinstance(value, bytes) else value
