CREATE TABLE customer (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL CHECK (name <> ''),
  email TEXT NOT NULL UNIQUE,
  phone TEXT CHECK (phone <> ''),
  country TEXT NOT NULL CHECK (country GLOB '[A-Z][A-Z]'),
  joined TEXT NOT NULL CHECK (joined IS date(joined))
);

CREATE TABLE product (
  sku TEXT PRIMARY KEY NOT NULL CHECK (typeof(sku) = 'text'),
  title TEXT NOT NULL CHECK (title <> ''),
  price_cents INTEGER NOT NULL CHECK (typeof(price_cents) = 'integer' AND price_cents > 0),
  active INTEGER NOT NULL CHECK (active IN (0, 1))
);

CREATE TABLE purchase (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customer (id),
  placed TEXT NOT NULL CHECK (placed IS date(placed)),
  status TEXT NOT NULL CHECK (status IN ('open', 'paid', 'shipped', 'cancelled'))
);

CREATE TABLE line (
  purchase_id INTEGER NOT NULL REFERENCES purchase (id),
  position INTEGER NOT NULL CHECK (position > 0),
  sku TEXT NOT NULL REFERENCES product (sku),
  quantity INTEGER NOT NULL CHECK (typeof(quantity) = 'integer' AND quantity > 0),
  price_cents INTEGER NOT NULL CHECK (typeof(price_cents) = 'integer' AND price_cents > 0),
  PRIMARY KEY (purchase_id, position)
);

CREATE TABLE reject (
  source TEXT NOT NULL,
  record INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('missing', 'malformed', 'orphan', 'duplicate')),
  PRIMARY KEY (source, record)
);
