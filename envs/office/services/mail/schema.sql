CREATE TABLE mail_folder (
  id INTEGER PRIMARY KEY,
  name FREE TEXT NOT NULL UNIQUE,
  fixed INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE mail_message (
  id INTEGER PRIMARY KEY,
  thread INTEGER NOT NULL,
  folder_id INTEGER NOT NULL REFERENCES mail_folder (id),
  sender TEXT NOT NULL,
  subject FREE TEXT NOT NULL,
  body FREE TEXT NOT NULL,
  sent_at TEXT,
  unread INTEGER NOT NULL DEFAULT 0,
  flagged INTEGER NOT NULL DEFAULT 0,
  answers_id INTEGER REFERENCES mail_message (id),
  forwards_id INTEGER REFERENCES mail_message (id),
  event_id INTEGER,
  updated_at TEXT NOT NULL
);
CREATE INDEX mail_message_folder ON mail_message (folder_id);
CREATE INDEX mail_message_thread ON mail_message (thread);

CREATE TABLE mail_recipient (
  message_id INTEGER NOT NULL REFERENCES mail_message (id),
  kind TEXT NOT NULL CHECK (kind IN ('to', 'cc', 'bcc')),
  position INTEGER NOT NULL,
  email FREE TEXT NOT NULL,
  PRIMARY KEY (message_id, kind, position)
);
