CREATE TABLE sheets_workbook (
  id INTEGER PRIMARY KEY,
  name FREE TEXT NOT NULL,
  owner TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  updated_by TEXT NOT NULL
);

CREATE TABLE sheets_sheet (
  id INTEGER PRIMARY KEY,
  workbook_id INTEGER NOT NULL REFERENCES sheets_workbook (id),
  name FREE TEXT NOT NULL,
  position INTEGER NOT NULL
);
CREATE INDEX sheets_sheet_workbook ON sheets_sheet (workbook_id);

-- A BLOB leaves a value its own type; what it is stands in kind.
CREATE TABLE sheets_cell (
  sheet_id INTEGER NOT NULL REFERENCES sheets_sheet (id),
  row INTEGER NOT NULL,
  col INTEGER NOT NULL,
  formula FREE TEXT,
  kind TEXT NOT NULL CHECK (kind IN ('number', 'text', 'truth', 'date', 'error')),
  value FREE BLOB NOT NULL,
  PRIMARY KEY (sheet_id, row, col)
);

-- The first columns of each row side by side, for other services and for checks.
CREATE VIEW sheets_line (workbook, sheet, row, a, b, c, d, e, f, g, h) AS
  SELECT w.name, s.name, c.row,
    max(CASE c.col WHEN 1 THEN c.value END), max(CASE c.col WHEN 2 THEN c.value END),
    max(CASE c.col WHEN 3 THEN c.value END), max(CASE c.col WHEN 4 THEN c.value END),
    max(CASE c.col WHEN 5 THEN c.value END), max(CASE c.col WHEN 6 THEN c.value END),
    max(CASE c.col WHEN 7 THEN c.value END), max(CASE c.col WHEN 8 THEN c.value END)
  FROM sheets_cell c JOIN sheets_sheet s ON s.id = c.sheet_id
    JOIN sheets_workbook w ON w.id = s.workbook_id
  GROUP BY w.id, s.id, c.row;
