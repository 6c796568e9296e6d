# Must not pass, nor keep a check busy: a column that takes ages to work out, and a view without an end.
python3 - /srv/migration/$PARAM_SHOP.db <<'PY'
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
work = "printf('%.30000c', 'a') GLOB '" + "*a" * 20 + "*b'"
columns = f"id INTEGER PRIMARY KEY, name AS ({work}), email, phone, country, joined"
database.execute(f"CREATE TABLE customer ({columns})")
database.execute("INSERT INTO customer (id) VALUES (1)")
endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
database.execute(f"CREATE VIEW product AS {endless} SELECT i AS sku, i AS title, i AS price_cents, i AS active FROM n")
database.commit()
PY
