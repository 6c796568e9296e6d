"""Databases for the calibration cases."""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

SHOP = """
CREATE TABLE product (sku TEXT PRIMARY KEY NOT NULL, price REAL NOT NULL CHECK (price >= 0));
CREATE TABLE line (
  id INTEGER PRIMARY KEY, sku TEXT NOT NULL REFERENCES product(sku), n INTEGER, note TEXT,
  UNIQUE (sku, note)
);
INSERT INTO product VALUES ('a1', 2.5), ('b2', 4);
INSERT INTO line VALUES (1, 'a1', 2, NULL), (2, 'a1', 1, 'gift'), (3, 'b2', 5, NULL);
"""


def database(sql: str = "", shop: bool = True, damage_at: int = 0) -> bytes:
    """Return a small shop, changed by some SQL; with one changed byte if one is named."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "db")
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript((SHOP if shop else "") + sql)
            connection.commit()
        data = bytearray(path.read_bytes())
    if damage_at:
        data[damage_at] ^= 0xFF
    return bytes(data)
