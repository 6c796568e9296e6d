"""A small site over a small service, and a browser without scripts to look at it."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from agentgym.services import Service, ServiceError, ServiceSet, reads, writes

TOML = """
schema_version = "agentgym.site/1"
title = "Guests"
host = "guests.example"
max_body_kb = 64
tools = ["book_count"]
"""

APP = """
from agentgym.sites import Field, Form, Response, Site, download

site = Site()
ENTRY = Form(
    Field("name", "Name", required=True, most=40, arguments=("who",)),
    Field("text", "Text", "area"),
)


@site.get("/")
def index(request):
    page = request.query.number("page", 1, least=1, most=1000)
    entries = request.rows("SELECT * FROM book_entry ORDER BY id LIMIT 2 OFFSET ?", 2 * (page - 1))
    total = request.call("book_count")
    return request.page("index.html", entries=entries, total=total, page=page, form=ENTRY.blank())


@site.post("/sign")
def sign(request):
    form = ENTRY.bind(request.fields)
    who, text = form.values["name"], form.values["text"] or ""
    call = lambda: request.call("book_sign", who=who, text=text)
    if form.attempt(call) is None:
        return request.page("index.html", 422, entries=[], total=0, page=1, form=form)
    request.flash("Thank you.")
    return request.redirect("/")


@site.post("/login")
def login(request):
    request.session.log_in(request.fields.get("user"))
    return request.redirect("/")


@site.get("/entry/{entry:int}")
def entry(request, entry):
    rows = request.rows("SELECT * FROM book_entry WHERE id = ?", entry)
    return Response(rows[0]["text"].encode() if rows else b"", 200 if rows else 404)


@site.get("/broken")
def broken(request):
    return Response(1 / 0)


@site.get("/leaves")
def leaves(request):
    raise SystemExit(3)


@site.get("/endless")
def endless(request):
    while True:
        pass


@site.get("/meddle")
def meddle(request):
    return Response(str(request.rows("DELETE FROM book_entry RETURNING id")).encode())


@site.get("/crowded")
def crowded(request):
    request.session.values["much"] = "x" * 5000
    return request.page("index.html", entries=[], total=0, page=1, form=ENTRY.blank())


@site.post("/upload")
def upload(request):
    file = request.files["file"][0]
    return Response(f"{file.name}|{file.type}|{file.text()}|{request.fields.get('note')}".encode())


@site.get("/save")
def save(request):
    return download(b"a,b", 'Ü "1".csv', "text/csv")
"""

INDEX = """
{% extends "base.html" %}
{% import "forms.html" as forms %}
{% import "lists.html" as lists %}
{% block content %}
<h1>Guests of {{ session.user or "nobody" }} on {{ request.now|day }}</h1>
{% for entry in entries %}<p class="entry">{{ entry.who }}: {{ entry.text }}</p>{% endfor %}
{{ lists.pages(request, total, 2, page) }}
<form method="post" action="/sign">{{ forms.token(csrf) }}{{ forms.problem(form) }}
{{ forms.field(form, "name") }}{{ forms.field(form, "text") }}<button>Sign</button></form>
{% endblock %}
"""


class Book(Service):
    """A book of guests."""

    schema = (
        "CREATE TABLE book_entry (id INTEGER PRIMARY KEY, who TEXT NOT NULL, text TEXT NOT NULL)"
    )

    def fill(self, rng):
        for who in ("Ann", "Bo", "Cy"):
            self.db.insert("book_entry", who=who, text=f"I was here, {rng.randint(1, 9)}.")

    @reads
    def count(self) -> int:
        """Count the entries."""
        return self.db.value("SELECT count(*) FROM book_entry")

    @writes
    def sign(self, who: str, text: str = "") -> int:
        """Sign the book.

        Args:
            who: Name.
            text: What to say.
        """
        if self.db.value("SELECT 1 FROM book_entry WHERE who = ?", who):
            raise ServiceError("conflict", f"{who} has signed already", "who")
        if "spam" in text:
            raise ServiceError("forbidden", "no spam")
        return self.db.insert("book_entry", who=who, text=text)


BOOK = ServiceSet({"book": Book})


class Visitor(httpx.AsyncClient):
    """A browser that runs no scripts: it keeps cookies, and follows the redirects of forms."""

    async def submit(self, path: str, fields: dict | None = None, page: str = "/", **options):
        """Send a form with the token of a page."""
        token = re.search(r'name="csrf" value="(\w+)"', (await self.get(page)).text)[1]
        return await self.post(path, data={"csrf": token, **(fields or {})}, **options)


def write_site(folder: Path, toml: str = TOML, **files: str) -> Path:
    """Write a site folder and return it."""
    (folder / "templates").mkdir(parents=True, exist_ok=True)
    (folder / "site.toml").write_text(toml)
    for name, text in files.items():
        (
            folder / name.replace("__", "/").replace("_html", ".html").replace("_py", ".py")
        ).write_text(text)
    return folder


def visit(sites, host="http://guests.example"):
    """Return a visitor of the sites of an episode."""
    transport = httpx.ASGITransport(sites.application)
    return Visitor(transport=transport, base_url=host, follow_redirects=True)
