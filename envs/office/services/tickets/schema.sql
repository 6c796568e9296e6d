CREATE TABLE tickets_customer (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  company TEXT NOT NULL,
  email TEXT NOT NULL,
  phone TEXT NOT NULL,
  plan TEXT NOT NULL CHECK (plan IN ('basic', 'business', 'enterprise')),
  since TEXT NOT NULL
);
CREATE INDEX tickets_customer_email ON tickets_customer (email);

CREATE TABLE tickets_agent (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  team TEXT NOT NULL,
  active INTEGER NOT NULL DEFAULT 1
);

CREATE TABLE tickets_ticket (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES tickets_customer (id),
  subject FREE TEXT NOT NULL,
  body FREE TEXT NOT NULL,
  product FREE TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'pending', 'closed', 'merged')),
  priority TEXT NOT NULL CHECK (priority IN ('low', 'normal', 'high', 'urgent')),
  assignee TEXT REFERENCES tickets_agent (id),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  due_at TEXT NOT NULL,
  resolution FREE TEXT,
  merged_into INTEGER REFERENCES tickets_ticket (id),
  version INTEGER NOT NULL DEFAULT 1,
  last_viewed_at TEXT
);
CREATE INDEX tickets_ticket_customer ON tickets_ticket (customer_id);
CREATE INDEX tickets_ticket_status ON tickets_ticket (status);

CREATE TABLE tickets_picture (
  name TEXT PRIMARY KEY,
  mime TEXT NOT NULL,
  data BLOB NOT NULL
);

CREATE TABLE tickets_comment (
  id INTEGER PRIMARY KEY,
  ticket_id INTEGER NOT NULL REFERENCES tickets_ticket (id),
  author TEXT NOT NULL,
  body FREE TEXT NOT NULL,
  internal INTEGER NOT NULL DEFAULT 0,
  picture TEXT REFERENCES tickets_picture (name),
  created_at TEXT NOT NULL
);
CREATE INDEX tickets_comment_ticket ON tickets_comment (ticket_id);

CREATE TABLE tickets_tag (
  ticket_id INTEGER NOT NULL REFERENCES tickets_ticket (id),
  tag FREE TEXT NOT NULL,
  PRIMARY KEY (ticket_id, tag)
);

CREATE TABLE tickets_link (
  ticket_id INTEGER NOT NULL REFERENCES tickets_ticket (id),
  other_id INTEGER NOT NULL REFERENCES tickets_ticket (id),
  kind TEXT NOT NULL CHECK (kind IN ('relates_to', 'blocks', 'duplicates')),
  PRIMARY KEY (ticket_id, other_id, kind)
);
