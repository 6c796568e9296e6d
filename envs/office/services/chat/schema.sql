CREATE TABLE chat_channel (
  id INTEGER PRIMARY KEY,
  name FREE TEXT NOT NULL UNIQUE,
  topic FREE TEXT NOT NULL DEFAULT '',
  kind TEXT NOT NULL CHECK (kind IN ('public', 'private', 'direct')),
  archived INTEGER NOT NULL DEFAULT 0,
  creator_id INTEGER NOT NULL REFERENCES contacts_person (id),
  created_at TEXT NOT NULL
);

CREATE TABLE chat_member (
  channel_id INTEGER NOT NULL REFERENCES chat_channel (id),
  person_id INTEGER NOT NULL REFERENCES contacts_person (id),
  PRIMARY KEY (channel_id, person_id)
);
CREATE INDEX chat_member_person ON chat_member (person_id);

CREATE TABLE chat_message (
  id INTEGER PRIMARY KEY,
  channel_id INTEGER NOT NULL REFERENCES chat_channel (id),
  thread_id INTEGER REFERENCES chat_message (id),
  author_id INTEGER NOT NULL REFERENCES contacts_person (id),
  text FREE TEXT NOT NULL,
  sent_at TEXT NOT NULL,
  edited_at TEXT,
  deleted INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX chat_message_channel ON chat_message (channel_id);
CREATE INDEX chat_message_thread ON chat_message (thread_id);

CREATE TABLE chat_mention (
  message_id INTEGER NOT NULL REFERENCES chat_message (id),
  person_id INTEGER NOT NULL REFERENCES contacts_person (id),
  PRIMARY KEY (message_id, person_id)
);
CREATE INDEX chat_mention_person ON chat_mention (person_id);

CREATE TABLE chat_reaction (
  message_id INTEGER NOT NULL REFERENCES chat_message (id),
  person_id INTEGER NOT NULL REFERENCES contacts_person (id),
  emoji FREE TEXT NOT NULL,
  PRIMARY KEY (message_id, person_id, emoji)
);
