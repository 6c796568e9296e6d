CREATE TABLE knowledge_category (
  id TEXT PRIMARY KEY,
  title TEXT NOT NULL
);

CREATE TABLE knowledge_article (
  id INTEGER PRIMARY KEY,
  title FREE TEXT NOT NULL,
  category TEXT NOT NULL REFERENCES knowledge_category (id),
  owner TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('draft', 'published', 'archived')),
  version INTEGER NOT NULL DEFAULT 1,
  published_version INTEGER,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  review_on TEXT NOT NULL,
  replaced_by INTEGER REFERENCES knowledge_article (id),
  last_viewed_at TEXT
);
CREATE INDEX knowledge_article_category ON knowledge_article (category);

CREATE TABLE knowledge_version (
  article_id INTEGER NOT NULL REFERENCES knowledge_article (id),
  number INTEGER NOT NULL,
  title FREE TEXT NOT NULL,
  body FREE TEXT NOT NULL,
  author TEXT NOT NULL,
  saved_at TEXT NOT NULL,
  note FREE TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (article_id, number)
);

CREATE TABLE knowledge_tag (
  article_id INTEGER NOT NULL REFERENCES knowledge_article (id),
  tag FREE TEXT NOT NULL,
  PRIMARY KEY (article_id, tag)
);
