CREATE TABLE shop_account (
  id INTEGER PRIMARY KEY,
  email FREE TEXT NOT NULL UNIQUE,
  name FREE TEXT NOT NULL,
  secret TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('customer', 'clerk', 'editor', 'manager')),
  street FREE TEXT NOT NULL DEFAULT '',
  city FREE TEXT NOT NULL DEFAULT '',
  postcode FREE TEXT NOT NULL DEFAULT '',
  country TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
);

CREATE TABLE shop_category (
  id INTEGER PRIMARY KEY,
  name FREE TEXT NOT NULL UNIQUE
);

CREATE TABLE shop_product (
  id INTEGER PRIMARY KEY,
  sku TEXT NOT NULL UNIQUE,
  title FREE TEXT NOT NULL,
  description FREE TEXT NOT NULL DEFAULT '',
  brand FREE TEXT NOT NULL DEFAULT '',
  category_id INTEGER NOT NULL REFERENCES shop_category (id),
  colour FREE TEXT NOT NULL DEFAULT '',
  price_cents INTEGER NOT NULL,
  stock INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('draft', 'active', 'archived')),
  version INTEGER NOT NULL DEFAULT 1,
  updated_at TEXT NOT NULL
);
CREATE INDEX shop_product_category ON shop_product (category_id);

CREATE TABLE shop_cart_line (
  account_id INTEGER NOT NULL REFERENCES shop_account (id),
  product_id INTEGER NOT NULL REFERENCES shop_product (id),
  quantity INTEGER NOT NULL,
  PRIMARY KEY (account_id, product_id)
);

CREATE TABLE shop_voucher (
  code TEXT PRIMARY KEY,
  percent INTEGER NOT NULL,
  least_cents INTEGER NOT NULL,
  expires_on TEXT NOT NULL
);

CREATE TABLE shop_order (
  id INTEGER PRIMARY KEY,
  account_id INTEGER NOT NULL REFERENCES shop_account (id),
  status TEXT NOT NULL CHECK (status IN ('paid', 'packed', 'shipped', 'delivered', 'cancelled')),
  placed_at TEXT NOT NULL,
  name FREE TEXT NOT NULL,
  street FREE TEXT NOT NULL,
  city FREE TEXT NOT NULL,
  postcode FREE TEXT NOT NULL,
  country TEXT NOT NULL,
  delivery TEXT NOT NULL CHECK (delivery IN ('standard', 'express', 'pickup')),
  gift_note FREE TEXT NOT NULL DEFAULT '',
  voucher TEXT REFERENCES shop_voucher (code),
  discount_cents INTEGER NOT NULL DEFAULT 0,
  delivery_cents INTEGER NOT NULL,
  total_cents INTEGER NOT NULL
);
CREATE INDEX shop_order_account ON shop_order (account_id);

CREATE TABLE shop_order_line (
  order_id INTEGER NOT NULL REFERENCES shop_order (id),
  product_id INTEGER NOT NULL REFERENCES shop_product (id),
  title TEXT NOT NULL,
  price_cents INTEGER NOT NULL,
  quantity INTEGER NOT NULL,
  PRIMARY KEY (order_id, product_id)
);

CREATE TABLE shop_return (
  id INTEGER PRIMARY KEY,
  order_id INTEGER NOT NULL REFERENCES shop_order (id),
  product_id INTEGER NOT NULL REFERENCES shop_product (id),
  quantity INTEGER NOT NULL,
  reason FREE TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('requested', 'approved', 'refused', 'refunded')),
  note FREE TEXT NOT NULL DEFAULT '',
  created_at TEXT NOT NULL
);
CREATE INDEX shop_return_order ON shop_return (order_id);

CREATE TABLE shop_review (
  id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL REFERENCES shop_product (id),
  account_id INTEGER NOT NULL REFERENCES shop_account (id),
  stars INTEGER NOT NULL CHECK (stars BETWEEN 1 AND 5),
  text FREE TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('published', 'hidden')),
  created_at TEXT NOT NULL,
  UNIQUE (product_id, account_id)
);

-- Stars of each product, over its published reviews.
CREATE VIEW shop_rating (product_id, stars, reviews) AS
  SELECT product_id, avg(stars), count(*) FROM shop_review WHERE status = 'published'
  GROUP BY product_id;

-- Files of pictures, each stored once.
CREATE TABLE shop_file (
  name TEXT PRIMARY KEY,
  mime TEXT NOT NULL,
  data BLOB NOT NULL
);

-- Pictures of products, by place; those without a product wait in the library.
CREATE TABLE shop_picture (
  id INTEGER PRIMARY KEY,
  product_id INTEGER REFERENCES shop_product (id),
  place INTEGER NOT NULL,
  file TEXT NOT NULL REFERENCES shop_file (name),
  file_name FREE TEXT NOT NULL,
  alt FREE TEXT NOT NULL DEFAULT '',
  added_at TEXT NOT NULL
);
CREATE INDEX shop_picture_product ON shop_picture (product_id, place);

-- The first picture of each product.
CREATE VIEW shop_cover (product_id, picture_id, alt, mime, data) AS
  SELECT m.product_id, m.id, m.alt, f.mime, f.data FROM shop_picture m
  JOIN shop_file f ON f.name = m.file
  WHERE m.id = (
    SELECT o.id FROM shop_picture o WHERE o.product_id = m.product_id ORDER BY o.place, o.id LIMIT 1
  );
