"""The shop's data: a catalogue that several hands have kept, accounts, orders and reviews."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Final

from agentgym.services import Service, moment, time_of
from agentgym.services.arguments import plain_letters

from .pictures import fill_pictures
from .rules import DELIVERY_CENTS, FREE_FROM_CENTS, secret

PRODUCTS: Final = 1400
CUSTOMERS: Final = 420
ORDERS: Final = 1300

_CATEGORIES: Final = {
    "Lamps": ("Desk lamp", "Floor lamp", "Reading light", "Pendant lamp", "Lantern"),
    "Kitchen": ("Kettle", "Teapot", "Bread knife", "Mixing bowl", "Frying pan", "Grater"),
    "Textiles": ("Wool blanket", "Cushion cover", "Bath towel", "Table cloth", "Curtain"),
    "Garden": ("Watering can", "Secateurs", "Plant pot", "Hand fork", "Bird feeder"),
    "Office": ("Desk organiser", "Notebook", "Fountain pen", "Desk mat", "Document tray"),
    "Toys": ("Wooden train", "Puzzle", "Building blocks", "Kite", "Soft bear"),
    "Outdoor": ("Sleeping bag", "Head torch", "Camping stove", "Rucksack", "Water bottle"),
    "Tools": ("Cordless drill", "Screwdriver set", "Spirit level", "Hand saw", "Tape measure"),
    "Bathroom": ("Soap dish", "Mirror", "Shower caddy", "Laundry basket", "Bath mat"),
    "Storage": ("Shelf box", "Wall hook", "Coat rack", "Drawer unit", "Basket"),
}
_BRANDS: Final = (
    "Nordlys",
    "Hollin & Page",
    "Kestra",
    "Brühl",
    "Oak Lane",
    "Tamaris",
    "Værk",
    "Sundial",
)
_SLOPPY: Final = {"Nordlys": "NORDLYS", "Brühl": "Bruehl", "Oak Lane": "OakLane", "Værk": "Vaerk"}
_COLOURS: Final = ("black", "white", "oak", "sage", "navy", "terracotta", "grey", "mustard", "")
_SIZES: Final = (
    "small",
    "large",
    "No. 2",
    "No. 4",
    "compact",
    "30 cm",
    "45 cm",
    "set of 2",
    "classic",
)
_GIVEN: Final = (
    *("Ada", "Ben", "Chloé", "Dario", "Elif", "Femi", "Greta", "Hugo", "Inês", "Jonas", "Keiko"),
    *("Lena", "Milan", "Nadia", "Owen", "Priya", "Quentin", "Rosa", "Søren", "Tara", "Uwe", "Vera"),
)
_FAMILY: Final = (
    *(
        "Abel",
        "Brandt",
        "Costa",
        "Dahl",
        "Eriksen",
        "Fischer",
        "García",
        "Hansen",
        "Iyer",
        "Jensen",
    ),
    *("Kowalski", "Lindgren", "Moreau", "Novák", "O'Brien", "Petrov", "Quist", "Rossi", "Schmidt"),
    *("Tanaka", "Usman", "Vogel", "Winter", "Yılmaz", "Zimmer"),
)
_TOWNS: Final = (
    *(("Berlin", "10115", "Germany"), ("Hamburg", "20095", "Germany"), ("Wien", "1010", "Austria")),
    *(("Lyon", "69001", "France"), ("Gent", "9000", "Belgium"), ("Malmö", "21120", "Sweden")),
)
_GOOD: Final = (
    "Exactly as described.",
    "Would buy it again.",
    "Better than I expected.",
    "Solid work.",
)
_BAD: Final = (
    "Arrived with a scratch.",
    "The colour is not that of the picture.",
    "Broke in a week.",
)
_REASONS: Final = ("Does not fit", "Arrived damaged", "Wrong colour", "Changed my mind")
_STAFF: Final = (
    ("Mara Quist", "mara@shop.example", "manager", "ledger-bridge-4"),
    ("Tomas Abel", "tomas@shop.example", "clerk", "paper-window-9"),
    ("Yuki Tanaka", "yuki@shop.example", "editor", "silver-pencil-2"),
)


def fill(service: Service, rng: random.Random) -> None:
    """Create everything."""
    for number, name in enumerate(_CATEGORIES, 1):
        service.db.insert("shop_category", id=number, name=name)
    _products(service, rng)
    _accounts(service, rng)
    for code, percent, least, expires in (
        ("SPRING10", 10, 4000, "2026-03-31"),
        ("WELCOME5", 5, 0, "2026-12-31"),
        ("WINTER20", 20, 6000, "2026-02-15"),
    ):
        values = {"code": code, "percent": percent, "least_cents": least, "expires_on": expires}
        service.db.insert("shop_voucher", **values)
    _orders(service, rng)
    _carts(service, rng)
    _reviews(service, rng)
    fill_pictures(service, rng, tuple(filter(None, _COLOURS)))


def _before(service: Service, rng: random.Random, days: int) -> str:
    minutes = rng.randint(60, days * 24 * 60)
    return moment(time_of(service.now) - timedelta(minutes=minutes))


def _products(service: Service, rng: random.Random) -> None:
    for number in range(1, PRODUCTS + 1):
        category_id = rng.randrange(len(_CATEGORIES)) + 1
        category = list(_CATEGORIES)[category_id - 1]
        kind, brand = rng.choice(_CATEGORIES[category]), rng.choice(_BRANDS)
        colour = rng.choice(_COLOURS)
        title = f"{kind} {brand.split()[0]} {rng.choice(_SIZES)}"
        if rng.random() < 0.3 and colour:
            title += f", {colour}"
        # Several hands have kept the catalogue.
        if rng.random() < 0.05:
            brand = _SLOPPY.get(brand, brand.lower())
        if rng.random() < 0.03:
            title = (
                title.upper()
                if rng.random() < 0.5
                else f" {title}".replace("  ", " ").strip() + " "
            )
        status = rng.choices(("active", "draft", "archived"), (84, 8, 8))[0]
        price = rng.choice(
            (495, 795, 995, 1290, 1490, 1990, 2490, 2950, 3900, 4900, 7900, 12900, 18900)
        )
        if status == "draft" and rng.random() < 0.3:
            price = 0
        praise = rng.choice(("Made to last.", "A quiet classic.", "Easy to clean.", ""))
        text = f"{kind} by {brand}. {praise}"
        service.db.insert(
            "shop_product",
            id=number,
            sku=f"{category[:2].upper()}-{1000 + number}",
            title=title,
            description="" if rng.random() < 0.06 else text.strip(),
            brand=brand,
            category_id=category_id,
            colour=colour,
            price_cents=price,
            stock=0 if rng.random() < 0.08 else rng.randint(1, 60),
            status=status,
            updated_at=_before(service, rng, 400),
        )


def _accounts(service: Service, rng: random.Random) -> None:
    people = [("Nora Winter", "nora.winter@mail.example", "customer", "amber-lantern-7"), *_STAFF]
    for name, email, role, password in people:
        town, postcode, country = _TOWNS[0]
        service.db.insert(
            "shop_account",
            email=email,
            name=name,
            secret=secret(email, password),
            role=role,
            street="Lindenallee 12" if role == "customer" else "",
            city=town if role == "customer" else "",
            postcode=postcode if role == "customer" else "",
            country=country if role == "customer" else "",
            created_at=_before(service, rng, 900),
        )
    for number in range(CUSTOMERS):
        given, family = rng.choice(_GIVEN), rng.choice(_FAMILY)
        town, postcode, country = rng.choice(_TOWNS)
        email = f"{plain_letters(given)}.{plain_letters(family)}{number}@mail.example"
        # Some have never entered an address.
        known = rng.random() < 0.85
        street = rng.choice(("Rue Verte", "Parkweg", "Hauptstr.", "Storgatan"))
        service.db.insert(
            "shop_account",
            email=email.upper() if rng.random() < 0.02 else email,
            name=f"{given} {family}",
            secret=secret(email, f"{number}-{rng.random()}"),
            role="customer",
            street=f"{street} {rng.randint(1, 90)}" if known else "",
            city=town if known else "",
            postcode=postcode if known else "",
            country=country if known else "",
            created_at=_before(service, rng, 900),
        )


def _orders(service: Service, rng: random.Random) -> None:
    customers = service.db.all("SELECT * FROM shop_account WHERE role = 'customer' ORDER BY id")
    products = service.db.all(
        "SELECT id, title, price_cents FROM shop_product WHERE status <> 'draft' ORDER BY id"
    )
    for number in range(1, ORDERS + 1):
        who = customers[0] if number % 110 == 0 else rng.choice(customers)
        placed = _before(service, rng, 365)
        age_days = (time_of(service.now) - time_of(placed)).days
        status = "delivered" if age_days > 9 else rng.choice(("paid", "packed", "shipped"))
        status = "cancelled" if rng.random() < 0.04 else status
        lines = rng.sample(products, rng.choice((1, 1, 1, 2, 2, 3)))
        counts = [rng.choice((1, 1, 1, 2, 4)) for _ in lines]
        goods = sum(p["price_cents"] * n for p, n in zip(lines, counts, strict=True))
        delivery = rng.choices(("standard", "express", "pickup"), (75, 15, 10))[0]
        price = DELIVERY_CENTS[delivery]
        price = 0 if delivery == "standard" and goods >= FREE_FROM_CENTS else price
        service.db.insert(
            "shop_order",
            id=number,
            account_id=who["id"],
            status=status,
            placed_at=placed,
            name=who["name"],
            street=who["street"] or "Poste restante",
            city=who["city"] or "Berlin",
            postcode=who["postcode"] or "10115",
            country=who["country"] or "Germany",
            delivery=delivery,
            delivery_cents=price,
            total_cents=goods + price,
        )
        for product, count in zip(lines, counts, strict=True):
            service.db.insert(
                "shop_order_line",
                order_id=number,
                product_id=product["id"],
                title=product["title"],
                price_cents=product["price_cents"],
                quantity=count,
            )
        if status == "delivered" and rng.random() < 0.05:
            service.db.insert(
                "shop_return",
                order_id=number,
                product_id=lines[0]["id"],
                quantity=1,
                reason=rng.choice(_REASONS),
                status=rng.choices(("refunded", "refused", "requested"), (60, 15, 25))[0],
                created_at=moment(time_of(service.now) - timedelta(hours=rng.randint(1, 200))),
            )


def _carts(service: Service, rng: random.Random) -> None:
    """Leave goods in carts; some of them are sold out by now."""
    customers = service.db.column("SELECT id FROM shop_account WHERE role = 'customer' ORDER BY id")
    products = service.db.column("SELECT id FROM shop_product WHERE status <> 'draft' ORDER BY id")
    ready = "SELECT id FROM shop_product WHERE status = 'active' AND stock > 3 ORDER BY id"
    values = {"account_id": customers[0], "product_id": rng.choice(service.db.column(ready))}
    service.db.insert("shop_cart_line", **values, quantity=1)
    for customer in rng.sample(customers[1:], 60):
        for product in rng.sample(products, rng.choice((1, 2, 3))):
            values = {"account_id": customer, "product_id": product}
            service.db.insert("shop_cart_line", **values, quantity=rng.choice((1, 1, 2)))


def _reviews(service: Service, rng: random.Random) -> None:
    bought = service.db.all(
        "SELECT DISTINCT o.account_id, l.product_id FROM shop_order o"
        " JOIN shop_order_line l ON l.order_id = o.id WHERE o.status = 'delivered' ORDER BY 1, 2"
    )
    for row in bought:
        if rng.random() < 0.45:
            stars = rng.choices((1, 2, 3, 4, 5), (6, 6, 13, 35, 40))[0]
            service.db.insert(
                "shop_review",
                **row,
                stars=stars,
                text=rng.choice(_GOOD if stars > 3 else _BAD),
                status="hidden" if rng.random() < 0.02 else "published",
                created_at=_before(service, rng, 300),
            )
