CREATE TABLE files_item (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('folder', 'file')),
  name FREE TEXT NOT NULL,
  folder_id INTEGER REFERENCES files_item (id),
  owner TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  trashed_at TEXT,
  last_opened_at TEXT
);
CREATE INDEX files_item_folder ON files_item (folder_id);

CREATE TABLE files_version (
  item_id INTEGER NOT NULL REFERENCES files_item (id),
  number INTEGER NOT NULL,
  content FREE TEXT NOT NULL,
  picture TEXT REFERENCES files_picture (name),
  author TEXT NOT NULL,
  saved_at TEXT NOT NULL,
  note FREE TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (item_id, number)
);

CREATE TABLE files_picture (
  name TEXT PRIMARY KEY,
  mime TEXT NOT NULL,
  data BLOB NOT NULL
);

CREATE TABLE files_share (
  id INTEGER PRIMARY KEY,
  item_id INTEGER NOT NULL REFERENCES files_item (id),
  grantee FREE TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('viewer', 'editor')),
  granted_by TEXT NOT NULL,
  granted_at TEXT NOT NULL,
  expires_at TEXT,
  UNIQUE (item_id, grantee)
);
