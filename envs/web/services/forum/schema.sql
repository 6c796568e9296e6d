CREATE TABLE forum_user (
  id INTEGER PRIMARY KEY,
  handle FREE TEXT NOT NULL UNIQUE,
  name FREE TEXT NOT NULL,
  email FREE TEXT NOT NULL UNIQUE,
  secret TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('member', 'moderator', 'admin')),
  town FREE TEXT NOT NULL DEFAULT '',
  about FREE TEXT NOT NULL DEFAULT '',
  suspended_until TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
);

CREATE TABLE forum_board (
  id INTEGER PRIMARY KEY,
  slug TEXT NOT NULL UNIQUE,
  name FREE TEXT NOT NULL,
  about FREE TEXT NOT NULL,
  staff_only INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE forum_thread (
  id INTEGER PRIMARY KEY,
  board_id INTEGER NOT NULL REFERENCES forum_board (id),
  author_id INTEGER NOT NULL REFERENCES forum_user (id),
  title FREE TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'answered', 'planned', 'done', 'declined')),
  assignee_id INTEGER REFERENCES forum_user (id),
  pinned INTEGER NOT NULL DEFAULT 0,
  locked INTEGER NOT NULL DEFAULT 0,
  merged_into INTEGER REFERENCES forum_thread (id),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX forum_thread_board ON forum_thread (board_id, updated_at);

CREATE TABLE forum_label (
  thread_id INTEGER NOT NULL REFERENCES forum_thread (id),
  label FREE TEXT NOT NULL,
  PRIMARY KEY (thread_id, label)
);

CREATE TABLE forum_post (
  id INTEGER PRIMARY KEY,
  thread_id INTEGER NOT NULL REFERENCES forum_thread (id),
  author_id INTEGER NOT NULL REFERENCES forum_user (id),
  body FREE TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('visible', 'hidden')),
  reason FREE TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL,
  edited_at TEXT NOT NULL DEFAULT ''
);
CREATE INDEX forum_post_thread ON forum_post (thread_id, id);
CREATE INDEX forum_post_author ON forum_post (author_id);

CREATE TABLE forum_flag (
  id INTEGER PRIMARY KEY,
  post_id INTEGER NOT NULL REFERENCES forum_post (id),
  user_id INTEGER NOT NULL REFERENCES forum_user (id),
  reason TEXT NOT NULL CHECK (reason IN ('spam', 'insult', 'private', 'off-topic', 'other')),
  note FREE TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL CHECK (status IN ('open', 'upheld', 'rejected')),
  decided_by INTEGER REFERENCES forum_user (id),
  created_at TEXT NOT NULL,
  UNIQUE (post_id, user_id)
);

CREATE TABLE forum_draft (
  id INTEGER PRIMARY KEY,
  user_id INTEGER NOT NULL REFERENCES forum_user (id),
  board_id INTEGER REFERENCES forum_board (id),
  thread_id INTEGER REFERENCES forum_thread (id),
  title FREE TEXT NOT NULL DEFAULT '',
  body FREE TEXT NOT NULL,
  updated_at TEXT NOT NULL
);

CREATE TABLE forum_log (
  id INTEGER PRIMARY KEY,
  user_id INTEGER NOT NULL REFERENCES forum_user (id),
  what TEXT NOT NULL,
  target TEXT NOT NULL,
  reason FREE TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
);
