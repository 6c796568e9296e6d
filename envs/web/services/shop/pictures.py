"""The seeded pictures of the catalogue: some are missing, undescribed or of another colour."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from agentgym.services import Image, Service, moment, time_of

from .drawing import MIME, drawing, kind_of

_WITHOUT: Final = 0.06
_WRONG_COLOUR: Final = 0.02
_DETAIL: Final = 0.25
_UNDESCRIBED: Final = 0.12
_LIBRARY: Final = 14


def fill_pictures(service: Service, rng: random.Random, colours: Sequence[str]) -> None:
    """Give most products a picture, and leave some of the last shoot in the library.

    Args:
        service: The shop.
        rng: Random generator.
        colours: Colours that products have.
    """
    products = service.db.all("SELECT id, sku, title, colour, updated_at FROM shop_product")
    for product in products:
        kind = kind_of(product["title"])
        if kind is None or rng.random() < _WITHOUT:
            continue
        colour = product["colour"]
        shown = rng.choice(colours) if rng.random() < _WRONG_COLOUR else colour
        for place in range(1, 3 if rng.random() < _DETAIL else 2):
            detail = place == 2
            alt = f"{kind} in {shown}" if shown else kind
            alt = "" if rng.random() < _UNDESCRIBED else f"{alt}, detail" if detail else alt
            _add(
                service,
                drawing(kind, shown, detail=detail),
                product_id=product["id"],
                place=place,
                file_name=f"{product['sku'].lower()}-{'detail' if detail else 'front'}.svg",
                alt=alt,
                added_at=product["updated_at"],
            )
    for product in rng.sample(products, _LIBRARY):
        kind = kind_of(product["title"])
        minutes = rng.randint(60, 6 * 24 * 60)
        if kind is not None:
            _add(
                service,
                drawing(kind, product["colour"]),
                product_id=None,
                place=0,
                file_name=f"{product['sku'].replace('-', '_')}_{rng.randint(100, 999)}.svg",
                added_at=moment(time_of(service.now) - timedelta(minutes=minutes)),
            )


def _add(service: Service, data: bytes, **values: Any) -> None:
    image = Image(data, MIME)
    service.db.execute(
        "INSERT OR IGNORE INTO shop_file (name, mime, data) VALUES (?, ?, ?)",
        *(image.name, image.mime, image.data),
    )
    service.db.insert("shop_picture", file=image.name, **values)
