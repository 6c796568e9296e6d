"""Argument and result types of the shop's tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from agentgym.services import Image

Line = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=5_000)]
FileName = Annotated[str, Field(min_length=1, max_length=120)]
Cents = Annotated[int, Field(ge=0, le=10**8)]
Quantity = Annotated[int, Field(ge=0, le=99)]
Stars = Annotated[int, Field(ge=1, le=5)]
Status = Literal["draft", "active", "archived"]
OrderStatus = Literal["paid", "packed", "shipped", "delivered", "cancelled"]
Delivery = Literal["standard", "express", "pickup"]
Sort = Literal["relevance", "price", "price_down", "stars", "newest"]
Row = Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=7, max_length=7)]
"""A product as an import brings it: number, title, brand, category, colour, price, stock."""

Rows = Annotated[list[Row], Field(max_length=1000)]
Products = Annotated[list[int], Field(min_length=1, max_length=200)]


class Account(TypedDict):
    """Somebody with an account."""

    id: int
    email: str
    name: str
    role: Literal["customer", "clerk", "editor", "manager"]
    street: str
    city: str
    postcode: str
    country: str


class Product(TypedDict):
    """A product; stars are null without a review."""

    id: int
    sku: str
    title: str
    description: str
    brand: str
    category: str
    category_id: int
    colour: str
    price_cents: int
    stock: int
    status: Status
    version: int
    updated_at: str
    stars: float | None
    reviews: int


class Facet(TypedDict):
    """A value that a search can be narrowed by, and how many products have it."""

    kind: Literal["category", "brand", "colour"]
    value: str
    products: int


class Found(TypedDict):
    """One page of a search."""

    total: int
    products: list[Product]
    facets: list[Facet]


class CartLine(TypedDict):
    """A product in a cart; ``problem`` says why it cannot be ordered."""

    product: int
    title: str
    price_cents: int
    quantity: int
    problem: str


class Cart(TypedDict):
    """A cart."""

    lines: list[CartLine]
    goods_cents: int


class OrderLine(TypedDict):
    """A product of an order."""

    product: int
    title: str
    price_cents: int
    quantity: int


class Return(TypedDict):
    """A return of goods."""

    id: int
    order: int
    product: int
    title: str
    quantity: int
    reason: str
    status: Literal["requested", "approved", "refused", "refunded"]
    note: str
    created_at: str


class Order(TypedDict):
    """An order with its goods."""

    id: int
    account: int
    email: str
    status: OrderStatus
    placed_at: str
    name: str
    street: str
    city: str
    postcode: str
    country: str
    delivery: Delivery
    gift_note: str
    voucher: str | None
    discount_cents: int
    delivery_cents: int
    total_cents: int
    lines: list[OrderLine]
    returns: list[Return]


class Review(TypedDict):
    """A review of a product."""

    id: int
    product: int
    title: str
    author: str
    stars: int
    text: str
    status: Literal["published", "hidden"]
    created_at: str


class Imported(TypedDict):
    """The result of an import; nothing is imported if there are errors."""

    added: int
    changed: int
    errors: list[str]


class MediaPicture(TypedDict):
    """A picture; product, sku and title are null while it waits in the library."""

    id: int
    product: int | None
    sku: str | None
    title: str | None
    place: int
    first: bool
    file_name: str
    alt: str
    added_at: str
    image: Image


class Library(TypedDict):
    """One page of the pictures of the library."""

    total: int
    pictures: list[MediaPicture]
