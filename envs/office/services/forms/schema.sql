CREATE TABLE forms_form (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL,
  purpose TEXT NOT NULL,
  place TEXT NOT NULL CHECK (place IN ('mail', 'note', 'reply', 'chat')),
  reader TEXT NOT NULL,
  subject TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL,
  line TEXT NOT NULL DEFAULT ''
);

CREATE TABLE forms_field (
  form_id TEXT NOT NULL REFERENCES forms_form (id),
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  label TEXT NOT NULL,
  kind TEXT NOT NULL,
  in_lines INTEGER NOT NULL DEFAULT 0,
  required INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (form_id, name)
);

CREATE TABLE forms_choice (
  form_id TEXT NOT NULL REFERENCES forms_form (id),
  field TEXT NOT NULL,
  position INTEGER NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (form_id, field, position)
);

-- A form that was filled in, and the message that was made from it: one of the three numbers.
CREATE TABLE forms_filled (
  id INTEGER PRIMARY KEY,
  form_id TEXT NOT NULL REFERENCES forms_form (id),
  message_id INTEGER,
  comment_id INTEGER,
  post_id INTEGER,
  subject TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL,
  filled_at TEXT NOT NULL
);
CREATE INDEX forms_filled_message ON forms_filled (message_id);
CREATE INDEX forms_filled_comment ON forms_filled (comment_id);
CREATE INDEX forms_filled_post ON forms_filled (post_id);

-- Line 0 holds the fields of the form itself, line 1 and the following ones its lines.
CREATE TABLE forms_value (
  filled_id INTEGER NOT NULL REFERENCES forms_filled (id),
  line INTEGER NOT NULL,
  field TEXT NOT NULL,
  value,
  PRIMARY KEY (filled_id, line, field)
);
