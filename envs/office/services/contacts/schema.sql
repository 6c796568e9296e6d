CREATE TABLE contacts_person (
  id INTEGER PRIMARY KEY,
  name FREE TEXT NOT NULL,
  email FREE TEXT NOT NULL,
  phone FREE TEXT NOT NULL DEFAULT '',
  company FREE TEXT NOT NULL,
  department TEXT,
  role FREE TEXT NOT NULL DEFAULT '',
  office TEXT,
  timezone TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('colleague', 'outside')),
  status TEXT NOT NULL CHECK (status IN ('active', 'left', 'merged', 'deleted')),
  handle TEXT UNIQUE,
  manager_id INTEGER REFERENCES contacts_person (id),
  customer_id INTEGER,
  merged_into INTEGER REFERENCES contacts_person (id),
  note FREE TEXT NOT NULL DEFAULT '',
  updated_at TEXT NOT NULL
);
CREATE INDEX contacts_person_email ON contacts_person (email);

CREATE TABLE contacts_alias (
  email FREE TEXT PRIMARY KEY,
  person_id INTEGER NOT NULL REFERENCES contacts_person (id)
);
CREATE INDEX contacts_alias_person ON contacts_alias (person_id);

CREATE TABLE contacts_group (
  id INTEGER PRIMARY KEY,
  name FREE TEXT NOT NULL UNIQUE,
  email TEXT NOT NULL UNIQUE,
  managed INTEGER NOT NULL DEFAULT 0,
  note FREE TEXT NOT NULL DEFAULT ''
);

CREATE TABLE contacts_member (
  group_id INTEGER NOT NULL REFERENCES contacts_group (id),
  person_id INTEGER NOT NULL REFERENCES contacts_person (id),
  PRIMARY KEY (group_id, person_id)
);
CREATE INDEX contacts_member_person ON contacts_member (person_id);

-- Whose an address is: the main ones and those of old, of everybody who has not been merged away.
CREATE VIEW contacts_address (email, person_id, name, kind, status, main) AS
  SELECT p.email, p.id, p.name, p.kind, p.status, p.email
  FROM contacts_person p WHERE p.status IN ('active', 'left')
  UNION ALL
  SELECT a.email, p.id, p.name, p.kind, p.status, p.email
  FROM contacts_alias a JOIN contacts_person p ON p.id = a.person_id
  WHERE p.status IN ('active', 'left');

-- The firms outside by their full names; people entered twice often have a short one.
CREATE VIEW contacts_firm (name, customer) AS
  SELECT p.company, max(p.customer_id IS NOT NULL)
  FROM contacts_person p WHERE p.kind = 'outside' AND p.status IN ('active', 'left') AND NOT EXISTS (
    SELECT 1 FROM contacts_person o WHERE substr(o.company, 1, length(p.company) + 1) = p.company || ' ')
  GROUP BY p.company;
