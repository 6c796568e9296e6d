CREATE TABLE calendar_room (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  office TEXT NOT NULL,
  seats INTEGER NOT NULL,
  video INTEGER NOT NULL
);

CREATE TABLE calendar_event (
  id INTEGER PRIMARY KEY,
  title FREE TEXT NOT NULL,
  description FREE TEXT NOT NULL DEFAULT '',
  organizer_id INTEGER NOT NULL REFERENCES contacts_person (id),
  start TEXT NOT NULL,
  end TEXT NOT NULL,
  timezone TEXT NOT NULL,
  room_id INTEGER REFERENCES calendar_room (id),
  repeat TEXT NOT NULL CHECK (repeat IN ('none', 'weekdays', 'weekly', 'biweekly', 'monthly')),
  until TEXT,
  status TEXT NOT NULL DEFAULT 'confirmed' CHECK (status IN ('confirmed', 'cancelled')),
  private INTEGER NOT NULL DEFAULT 0,
  note FREE TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 1,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX calendar_event_start ON calendar_event (start);

CREATE TABLE calendar_attendee (
  event_id INTEGER NOT NULL REFERENCES calendar_event (id),
  person_id INTEGER NOT NULL REFERENCES contacts_person (id),
  response TEXT NOT NULL CHECK (response IN ('none', 'accepted', 'tentative', 'declined')),
  note FREE TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (event_id, person_id)
);
CREATE INDEX calendar_attendee_person ON calendar_attendee (person_id);

CREATE TABLE calendar_exception (
  event_id INTEGER NOT NULL REFERENCES calendar_event (id),
  occurrence TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('moved', 'cancelled')),
  start TEXT NOT NULL,
  end TEXT NOT NULL,
  room_id INTEGER REFERENCES calendar_room (id),
  note FREE TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (event_id, occurrence)
);
