"""The policy of a page that may run its own scripts only."""

from __future__ import annotations

import base64
import hashlib

import pytest
from guest_site import visit

from agentgym.errors import ConfigError
from agentgym.sites.hosts import open_sites
from agentgym.sites.load import load_site
from agentgym.sites.script_policy import script_policy

PAGE = """<!doctype html><title>Game</title><!-- <script>commented()</script> -->
<script>let score = 0;\r\nlet over = a &lt; b && "<p>";</script>
<script src="/game.js"></script>
<button onclick="score &gt; 1 &amp;&amp; win()">Win</button><p oncut='win()'>one</p>
<a href=" javascript:win()">Link</a><a href="/on?click=win()">Other</a>"""
REST = ["worker-src 'self' blob:", "object-src 'none'"]
MANIFEST = """schema_version = "agentgym.site/1"
title = "Game"
host = "game.example"
"""


def digest(script):
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def test_the_policy_names_the_scripts_of_the_file_and_no_others():
    directive, _, _ = script_policy(PAGE.encode()).split("; ")
    assert directive.split() == [
        "script-src",
        "'self'",
        "'wasm-unsafe-eval'",
        digest('let score = 0;\nlet over = a &lt; b && "<p>";'),
        "'unsafe-hashes'",
        digest("score > 1 && win()"),
        digest("win()"),
        digest("javascript:win()"),
    ]


def test_a_page_without_scripts_allows_those_of_its_host_alone():
    directives = script_policy(b"\xff<p>plain").split("; ")
    assert directives == ["script-src 'self' 'wasm-unsafe-eval'", *REST]


def test_further_handlers_are_named():
    first, *rest = script_policy(b"<p>plain", ("mark()",)).split("; ")
    assert first == f"script-src 'self' 'wasm-unsafe-eval' 'unsafe-hashes' {digest('mark()')}"
    assert rest == REST


def site_with(folder, more, **files):
    place = folder / "envs" / "arcade" / "sites" / "game"
    (place / "dist").mkdir(parents=True)
    (place / "site.toml").write_text(MANIFEST + more)
    for name, text in files.items():
        (place / "dist" / name.replace("__", ".")).write_text(text)
    return place


async def test_texts_are_evaluated_on_pages_that_the_site_names(tmp_path):
    more = 'folder = "dist"\nown_scripts = true\nevaluating = ["edit*"]\n'
    place = site_with(tmp_path, more, edit__html="<p>", index__html="<p>")
    sites = open_sites((load_site(place),), services=None, reader=None, seed="arcade/game:1")
    async with visit(sites) as client:
        for address, allowed in (("/", False), ("/edit.html", True), ("/edit", True)):
            page = await client.get(f"http://game.example{address}")
            assert (" 'unsafe-eval'" in page.headers["content-security-policy"]) is allowed


@pytest.mark.parametrize("own", [True, False])
async def test_pages_have_the_policy_where_the_site_says_so(tmp_path, own):
    more = f'folder = "dist"\nown_scripts = {str(own).lower()}\n'
    place = site_with(tmp_path, more, index__html=PAGE, game__js="win = () => {}")
    sites = open_sites((load_site(place),), services=None, reader=None, seed="arcade/game:1")
    async with visit(sites) as client:
        page = await client.get("http://game.example/")
        script = await client.get("http://game.example/game.js")
    wanted = script_policy(PAGE.encode()) if own else None
    assert page.headers.get("content-security-policy") == wanted
    assert page.status_code == script.status_code == 200
    assert "content-security-policy" not in script.headers


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("own_scripts = true\n", "own_scripts needs a folder"),
        ('folder = "dist"\nhandlers = ["t"]\n', "need own_scripts = true"),
        ('folder = "dist"\nevaluating = ["*"]\n', "need own_scripts = true"),
    ],
)
def test_only_static_pages_can_be_held_to_their_scripts(tmp_path, more, told):
    with pytest.raises(ConfigError, match=told):
        load_site(site_with(tmp_path, more))
