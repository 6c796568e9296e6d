"""Sites over services: sessions, forms, seeds, forks, and requests that nobody should send."""

from __future__ import annotations

import asyncio
import os
import re
import time

import pytest
from guest_site import TOML, visit, write_site

from agentgym.errors import ConfigError, NotFoundError
from agentgym.services.budget import CallLimits
from agentgym.sites import application
from agentgym.sites.hosts import open_sites
from agentgym.sites.load import find_sites, load_site
from agentgym.sites.session import Session
from agentgym.sites.variation import Variation


async def ask(sites, method="GET", path=b"/", headers=(), body=b"", query=b""):
    """Send a request as it is, without the corrections of an HTTP client."""
    sent = []
    chunks = [body[i : i + 50_000] for i in range(0, len(body), 50_000)] or [b""]

    async def receive():
        return {"type": "http.request", "body": chunks.pop(0), "more_body": bool(chunks)}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"guests.example"), *headers]
    scope = {"type": "http", "method": method, "path": path.decode("latin-1"), "raw_path": path}
    scope |= {"query_string": query, "headers": headers}
    await sites.application(scope, receive, send)
    return sent[0]["status"], b"".join(m.get("body", b"") for m in sent[1:]).decode()


async def test_a_page_shows_the_state_and_the_logical_time(visitor):
    page = await visitor.get("/")
    assert page.status_code == 200
    assert "Guests of nobody on Mon 2 Mar 2026" in page.text
    assert page.text.count('class="entry"') == 2 and "Ann: I was here" in page.text
    assert "1–2 of 3" in page.text
    second = await visitor.get("/?page=2")
    assert "Cy" in second.text and "Ann" not in second.text


async def test_a_form_calls_the_tool_that_an_agent_would_call(visitor, book):
    page = await visitor.submit("/sign", {"name": "Di", "text": "Hello\r\nthere"})
    assert page.url.path == "/" and "Thank you." in page.text
    assert "Thank you." not in (await visitor.get("/")).text
    entry = next(each for each in book.audit if each.tool == "book_sign")
    assert (entry.tool, entry.actor, entry.code) == ("book_sign", "agent", "")
    assert entry.arguments_json == '{"text": "Hello\\nthere", "who": "Di"}'


async def test_errors_stand_beside_their_fields(visitor, book):
    before = book.hash
    empty = await visitor.submit("/sign", {"name": " ", "text": "kept text"})
    assert empty.status_code == 422
    assert "Fill in this field." in empty.text and "kept text" in empty.text
    assert re.search(r'<input id="name"[^>]*aria-invalid="true"', empty.text)
    taken = await visitor.submit("/sign", {"name": "Ann"})
    assert '<p class="error" id="name-error">Ann has signed already.</p>' in taken.text
    refused = await visitor.submit("/sign", {"name": "Ed", "text": "spam"})
    assert re.search(r'role="alert">No spam\.', refused.text)
    assert book.hash == before


async def test_what_visitors_write_is_text(visitor):
    await visitor.submit("/sign", {"name": "<b>x</b>", "text": "{{ 7 * 7 }}<script>"})
    page = (await visitor.get("/?page=2")).text
    assert "&lt;b&gt;x&lt;/b&gt;: {{ 7 * 7 }}&lt;script&gt;" in page


async def test_a_form_without_the_token_of_its_session_is_refused(visitor, book):
    before = book.hash
    assert (await visitor.post("/sign", data={"name": "Eve"})).status_code == 403
    page = await visitor.submit("/login", {"user": "ann"})
    assert "Guests of ann" in page.text
    old = Session(b"another key").csrf
    assert (await visitor.post("/sign", data={"csrf": old, "name": "Eve"})).status_code == 403
    foreign = {"origin": "http://evil.example"}
    assert (await visitor.submit("/sign", {"name": "Eve"}, headers=foreign)).status_code == 403
    assert book.hash == before


async def test_a_changed_cookie_is_no_session(visitor):
    await visitor.submit("/login", {"user": "ann"})
    cookie = visitor.cookies["session"]
    content, signature = cookie.split(".")
    forged = Session(b"guess")
    forged.log_in("boss")
    for wrong in (
        forged._packed(),
        content,
        f"{content}.",
        f"{content}x.{signature}",
        "a.b.c",
        "é",
    ):
        headers = [(b"cookie", f"session={wrong}".encode())]
        sent = await ask_session(visitor, headers)
        assert "Guests of nobody" in sent
    for others in ("", "a=b; session=x; ", 'odd="; session=a.b; '):
        headers = [(b"cookie", f"{others}session={cookie}".encode())]
        assert "Guests of ann" in await ask_session(visitor, headers)


async def ask_session(visitor, headers):
    class Holder:
        application = visitor._transport.app

    return (await ask(Holder, headers=headers))[1]


async def test_cookies_are_the_same_with_the_same_seed_and_survive_a_fork(guests, book):
    async def cookie(seed, backend):
        sites = open_sites((guests,), services=backend, reader=backend, seed=seed)
        async with visit(sites) as visitor:
            await visitor.submit("/login", {"user": "ann"})
            return visitor.cookies["session"]

    first = await cookie("inn/a:1", book)
    assert first == await cookie("inn/a:1", book)
    assert first != await cookie("inn/a:2", book)
    fork = book.fork()
    sites = open_sites((guests,), services=fork, reader=fork, seed="inn/a:1")
    async with visit(sites) as visitor:
        visitor.cookies.set("session", first, domain="guests.example")
        page = await visitor.submit("/sign", {"name": "Fork"})
        assert "Guests of ann" in page.text
    assert fork.hash != book.hash
    fork.close()


def test_variation_depends_on_seed_and_key_alone():
    items = list(range(8))
    for seed in range(20):
        assert sorted(Variation(f"{seed}").order("k", items)) == items
    seen = {tuple(Variation(f"{seed}").order("k", items)) for seed in range(20)}
    looks = {
        (v.palette, v.font, v.corner_px, v.has_side_menu) for v in map(Variation, "abcdefghij")
    }
    assert len(seen) > 15 and len(looks) > 5
    assert Variation("a").pick("k", items) == Variation("a").pick("k", items)


async def test_a_view_that_ends_the_process_is_a_page_and_is_recorded(sites, visitor):
    assert (await visitor.get("/leaves")).status_code == 500
    assert [failure.raised for failure in sites.application.failures] == ["SystemExit: 3"]


async def test_a_failing_view_is_a_page_and_is_recorded(sites, visitor, book):
    page = await visitor.get("/broken")
    assert page.status_code == 500 and "ZeroDivisionError" not in page.text
    (failure,) = sites.application.failures
    assert (failure.request, failure.raised) == (
        "GET /broken",
        "ZeroDivisionError: division by zero",
    )
    entry = list(book.audit)[-1]
    assert (entry.tool, entry.code) == ("site guests.example: GET /broken", "internal")
    assert (await visitor.get("/crowded")).status_code == 500
    assert (await visitor.get("/")).status_code == 200


async def test_an_endless_view_is_ended_and_holds_up_nobody(sites, monkeypatch):
    monkeypatch.setattr(application, "LIMITS", CallLimits(cpu_s=0.2))
    endless = asyncio.create_task(ask(sites, path=b"/endless"))
    await asyncio.sleep(0)
    assert (await ask(sites))[0] == 200
    assert (await endless)[0] == 500
    assert "processor time" in sites.application.failures[0].raised


async def test_queries_keep_nothing_they_change(visitor, book):
    before = book.hash
    await visitor.get("/meddle")
    assert book.hash == before and book.call("book_count", {}).result == 3


@pytest.mark.parametrize(
    ("status", "request_"),
    [
        (404, {"path": b"/nothing"}),
        (404, {"path": b"/entry/99999999999999999"}),
        (404, {"path": b"/entry/77"}),
        (404, {"path": b"/entry/-1"}),
        (404, {"path": "/entry/１".encode()}),
        (405, {"path": b"/sign"}),
        (405, {"method": "DELETE"}),
        (405, {"method": "X" * 5000}),
        (400, {"path": b"/%ff"}),
        (400, {"path": b"/%00"}),
        (400, {"path": b"/..%5c..%5csecret.txt"}),
        (404, {"path": b"/static/../secret.txt"}),
        (404, {"path": b"/static/%2e%2e/%2e%2e/secret.txt"}),
        (404, {"path": b"/static//etc/passwd"}),
        (404, {"path": b"/static/" + b"a" * 3000}),
        (404, {"path": b"/static/" + b"a/" * 3000}),
        (404, {"path": b"/static/"}),
        (404, {"path": b"/static/link.css"}),
        (404, {"path": b"/static/pipe"}),
        (400, {"query": b"page=x"}),
        (400, {"query": b"page=0"}),
        (400, {"query": b"page=%ff"}),
        (400, {"query": b"q=%00"}),
        (413, {"query": b"a&" * 3000}),
        (413, {"method": "POST", "path": b"/sign", "body": b"x" * 70_000}),
        (415, {"method": "POST", "path": b"/sign", "body": b"x", "type": b"text/plain"}),
        (400, {"method": "POST", "path": b"/sign", "body": b"name=\xff"}),
        (400, {"method": "POST", "path": b"/sign", "body": b"{", "type": b"application/json"}),
        (
            400,
            {
                "method": "POST",
                "path": b"/sign",
                "body": b"[" * 60_000,
                "type": b"application/json",
            },
        ),
        (400, {"method": "POST", "path": b"/sign", "body": b"x", "type": b"multipart/form-data"}),
        (
            400,
            {
                "method": "POST",
                "path": b"/sign",
                "body": b"--b",
                "type": b"multipart/form-data; boundary=b",
            },
        ),
        (
            400,
            {
                "method": "POST",
                "path": b"/sign",
                "body": b"--b\r\n\r\nx\r\n--b--",
                "type": b"multipart/form-data; boundary=b",
            },
        ),
        (
            413,
            {
                "method": "POST",
                "path": b"/sign",
                "body": b"\r\n--b" * 5000,
                "type": b"multipart/form-data; boundary=b",
            },
        ),
        (403, {"method": "POST", "path": b"/sign", "body": b""}),
        (
            403,
            {
                "method": "POST",
                "path": b"/sign",
                "body": "csrf=é".encode().replace("é".encode(), b"%C3%A9"),
            },
        ),
    ],
)
async def test_a_bad_request_is_answered_as_such(sites, guests, book, status, request_):
    link, pipe = guests.folder / "static" / "link.css", guests.folder / "static" / "pipe"
    if not link.is_symlink():
        link.symlink_to(guests.folder.parent / "secret.txt")
        os.mkfifo(pipe)
    kind = request_.pop("type", b"application/x-www-form-urlencoded")
    before = book.hash
    began_s = time.process_time()
    answer = await ask(sites, headers=[(b"content-type", kind)], **request_)
    assert answer[0] == status
    assert "secret" not in answer[1]
    assert time.process_time() - began_s < 2
    assert book.hash == before and sites.application.failures == []


async def test_other_hosts_are_misdirected(sites):
    for host in (b"evil.example", b"", b"guests.example.evil", b"guests.example@evil"):
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", host)]}
        sent = []

        async def send(message, sent=sent):
            sent.append(message)

        await sites.application(scope, None, send)
        assert sent[0]["status"] == 421


async def test_files_go_up_and_down(visitor):
    token = {"csrf": re.search(r'name="csrf" value="(\w+)"', (await visitor.get("/")).text)[1]}
    files = {"file": ("../a\\b.txt", "tÄxt\r\n--b\r\n".encode(), "text/plain")}
    page = await visitor.post("/upload", data={**token, "note": "1\n2"}, files=files)
    assert page.text == "b.txt|text/plain|tÄxt\r\n--b\r\n|1\n2"
    saved = await visitor.get("/save")
    assert saved.headers["content-disposition"].startswith('attachment; filename="_ _1_.csv"')
    bad = await visitor.post("/upload", data=token, files={"file": ("a", b"\xff")})
    assert bad.status_code == 422


async def test_scripts_of_a_page_call_the_tools_it_offers(visitor):
    assert (await visitor.post("/api/book_count", json={})).json() == {"result": 3}
    wrong = await visitor.post("/api/book_count", json={"x": 1})
    assert wrong.status_code == 422 and wrong.json()["error"]["code"] == "invalid"
    assert (await visitor.post("/api/book_sign", json={"who": "x"})).status_code == 404
    # A form of another site can send no JSON, and a form's fields are not JSON.
    assert (await visitor.post("/api/book_count", data={"a": "b"})).status_code == 415
    assert (await visitor.get("/api/book_count")).status_code == 405


async def test_a_folder_of_pages_is_a_site(tmp_path):
    toml = TOML.replace('tools = ["book_count"]', 'folder = "dist"')
    folder = write_site(tmp_path / "envs" / "docs" / "sites" / "manual", toml)
    for number in range(200):
        place = folder / "dist" / f"part-{number % 10}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"page-{number}.html").write_text(f"<h1>Page {number}</h1>")
    (folder / "dist" / "index.html").write_text("<a href='part-3/page-3.html'>3</a>")
    (folder / "dist" / "part-0" / "index.html").write_text("Part 0")
    site = load_site(folder)
    sites = open_sites((site,), services=None, reader=None, seed="docs/a:0")
    async with visit(sites) as visitor:
        assert "page-3" in (await visitor.get("/")).text
        pages = [await visitor.get(f"/part-{n % 10}/page-{n}.html") for n in range(200)]
        assert [p.text for p in pages] == [f"<h1>Page {n}</h1>" for n in range(200)]
        assert (await visitor.get("/part-0")).text == "Part 0"
        assert (await visitor.get("/part-1/page-1")).text == "<h1>Page 1</h1>"
        assert (await visitor.get("/site.toml")).status_code == 404
        assert (await visitor.post("/", data={})).status_code == 405


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "expected app.py"),
        ({"app_py": "site = 1"}, "expected a Site named 'site', got 1"),
        ({"app_py": "1 / 0"}, "app.py:1: cannot be loaded: ZeroDivisionError"),
        (
            {
                "app_py": "from agentgym.sites import Site\nsite = Site()",
                "templates__a_html": "{% if %}",
            },
            "templates:",
        ),
        ({"toml": TOML.replace("guests.example", "guests")}, "host"),
        ({"toml": TOML + 'folder = "no"'}, "no folder 'no'"),
    ],
)
def test_a_broken_site_names_what_is_wrong(tmp_path, files, told):
    folder = write_site(tmp_path / "x", files.pop("toml", TOML), **files)
    with pytest.raises(ConfigError, match=re.escape(told)):
        load_site(folder)


def test_sites_are_found_by_name(tmp_path, monkeypatch):
    app = "from agentgym.sites import Site\nsite = Site()"
    for name in ("one", "two"):
        toml = TOML.replace("guests", name)
        write_site(tmp_path / "envs" / "inn" / "sites" / name, toml, app_py=app)
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    hosts = [site.manifest.host for site in find_sites(("inn/two", "inn/*"))]
    assert hosts == ["two.example", "one.example"]
    with pytest.raises(NotFoundError, match="did you mean 'inn/two'"):
        find_sites(("inn/tow",))
    write_site(
        tmp_path / "envs" / "inn" / "sites" / "two", TOML.replace("guests", "one"), app_py=app
    )
    with pytest.raises(ConfigError, match=r"two sites have the host 'one\.example'"):
        find_sites(("inn/*",))
