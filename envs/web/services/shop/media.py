"""The pictures of the catalogue: added, described, given to products, put in order."""

from __future__ import annotations

from typing import Any, Final

from agentgym.services import Image, ServiceError, reads, writes
from agentgym.services.arguments import Limit, Offset, search_words

from .buying import Buying
from .shapes import FileName, Library, MediaPicture, Text

MOST_PICTURES: Final = 8
"""Pictures of one product."""
_FROM: Final = "FROM shop_picture m LEFT JOIN shop_product p ON p.id = m.product_id"
_PICTURE: Final = """
SELECT m.id, m.product_id AS product, p.sku, p.title, m.place, m.file_name, m.alt, m.added_at,
  m.id IS (
    SELECT o.id FROM shop_picture o WHERE o.product_id = m.product_id ORDER BY o.place, o.id LIMIT 1
  ) AS first, f.mime, f.data
FROM shop_picture m JOIN shop_file f ON f.name = m.file
LEFT JOIN shop_product p ON p.id = m.product_id
"""


class Media(Buying):
    """The tools of editors for pictures, and what customers see of them."""

    @reads
    def list_pictures(self, product: int) -> list[MediaPicture]:
        """List the pictures of a product in their order; the first one stands for it in lists.

        Args:
            product: Number of the product.
        """
        self._product(product, for_sale=True)
        return self._pictures("m.product_id = ? ORDER BY m.place, m.id", product)

    @reads
    def find_pictures(
        self,
        account: int,
        text: str = "",
        product: int | None = None,
        unused: bool = False,
        undescribed: bool = False,
        limit: Limit = 30,
        offset: Offset = 0,
    ) -> Library:
        """List pictures, for staff: those of a product in their order, all others newest first.

        Args:
            account: Number of the account that asks.
            text: Words that file name, alternative text, title or article number contain.
            product: Only pictures of the product of this number.
            unused: Only pictures that no product shows.
            undescribed: Only pictures without an alternative text.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        self._staff(account, "editor", "clerk")
        where, values = ["1"], list[Any]()
        for word in search_words(text):
            told = "m.file_name || ' ' || m.alt || ' ' || coalesce(p.title || ' ' || p.sku, '')"
            where.append(f"instr(lower({told}), lower(?))")
            values.append(word)
        if product is not None:
            where.append("m.product_id = ?")
            values.append(product)
        where += ["m.product_id IS NULL"] * unused + ["m.alt = ''"] * undescribed
        clause = " AND ".join(where)
        total = self.db.value(f"SELECT count(*) {_FROM} WHERE {clause}", *values)
        order = "m.place, m.id" if product is not None else "m.added_at DESC, m.id DESC"
        asked = f"SELECT m.id {_FROM} WHERE {clause} ORDER BY {order} LIMIT ? OFFSET ?"
        numbers = self.db.column(asked, *values, limit, offset)
        return {"total": total, "pictures": [self._picture(number) for number in numbers]}

    @writes
    def add_picture(
        self,
        account: int,
        picture: Image,
        file_name: FileName,
        alt: Text = "",
        product: int | None = None,
    ) -> MediaPicture:
        """Put a picture into the library, or among those of a product as the last one.

        Args:
            account: Number of the account that acts.
            picture: Name of an image.
            file_name: Name of its file.
            alt: What it shows, for people who do not see it.
            product: Number of the product.
        """
        self._staff(account, "editor")
        self.db.execute(
            "INSERT OR IGNORE INTO shop_file (name, mime, data) VALUES (?, ?, ?)",
            *(picture.name, picture.mime, picture.data),
        )
        number = self.db.insert(
            "shop_picture",
            file=picture.name,
            file_name=file_name,
            alt=alt.strip(),
            product_id=product,
            place=0 if product is None else self._next_place(product),
            added_at=self.now,
        )
        return self._picture(number)

    @writes
    def change_picture(
        self,
        account: int,
        picture: int,
        alt: Text | None = None,
        product: int | None = None,
        first: bool = False,
    ) -> MediaPicture:
        """Describe a picture, give it to a product, or make it the first one of its product.

        Args:
            account: Number of the account that acts.
            picture: Number of the picture.
            alt: What it shows; left as it is without it.
            product: Number of the product that shows it from now on; left as it is without it.
            first: Whether it becomes the first picture of its product.
        """
        self._staff(account, "editor")
        before = self._picture(picture)
        values: dict[str, Any] = {} if alt is None else {"alt": alt.strip()}
        if product is not None and product != before["product"]:
            values |= {"product_id": product, "place": self._next_place(product)}
        if first:
            owner = before["product"] if product is None else product
            if owner is None:
                raise ServiceError("conflict", "no product shows this picture", "first")
            least = "SELECT min(place) FROM shop_picture WHERE product_id = ?"
            values["place"] = (self.db.value(least, owner) or 0) - 1
        for column, value in values.items():
            self.db.execute(f"UPDATE shop_picture SET {column} = ? WHERE id = ?", value, picture)
        return self._picture(picture)

    @writes
    def remove_picture(self, account: int, picture: int, forget: bool = False) -> int:
        """Take a picture off its product, so that it waits in the library, or delete it.

        Args:
            account: Number of the account that acts.
            picture: Number of the picture.
            forget: Whether it is deleted.
        """
        self._staff(account, "editor")
        self._picture(picture)
        if forget:
            self.db.execute("DELETE FROM shop_picture WHERE id = ?", picture)
            self.db.execute(
                "DELETE FROM shop_file WHERE name NOT IN (SELECT file FROM shop_picture)"
            )
        else:
            clear = "UPDATE shop_picture SET product_id = NULL, place = 0 WHERE id = ?"
            self.db.execute(clear, picture)
        return picture

    def _next_place(self, product: int) -> int:
        self._product(product)
        count, last = "count(*)", "coalesce(max(place), 0)"
        row = self.db.one(
            f"SELECT {count} AS n, {last} AS last FROM shop_picture WHERE product_id = ?", product
        )
        assert row is not None, "an aggregate has a row"
        if row["n"] >= MOST_PICTURES:
            raise ServiceError(
                "conflict", f"a product has at most {MOST_PICTURES} pictures", "product"
            )
        return int(row["last"]) + 1

    def _picture(self, number: int) -> MediaPicture:
        found = self._pictures("m.id = ?", number)
        if not found:
            raise ServiceError("not_found", f"no picture {number}", "picture")
        return found[0]

    def _pictures(self, condition: str, *values: Any) -> list[MediaPicture]:
        rows = self.db.all(f"{_PICTURE} WHERE {condition}", *values)
        for row in rows:
            row |= {"first": bool(row["first"]), "image": Image(row.pop("data"), row.pop("mime"))}
        return rows  # type: ignore[return-value]
