# Must not pass, nor break a check: the definitions in the schema table are blobs.
python3 - /srv/migration/$PARAM_SHOP.db <<'PY'
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("CREATE TABLE customer (id)")
database.execute("PRAGMA writable_schema = ON")
database.execute("UPDATE sqlite_master SET sql = CAST(sql AS BLOB)")
PY
