"""Nothing outside a folder can be read through it, and what could be read still can."""

import os
import socket

import pytest

from wicket import App, HttpError
from wicket.pages import Pages
from wicket.static import static
from wicket.testing import Client

SECRET = b"secret"
LONG = pytest.param("x" * 5000, id="too-long")


@pytest.fixture
def site(tmp_path):
    release = tmp_path / "releases" / "42"
    (release / "css").mkdir(parents=True)
    (release / "css" / "site.css").write_bytes(b"p {}")
    (release / "css" / "all.css").symlink_to("site.css")
    (release / "style").symlink_to("css")
    (release / "a..b").write_bytes(b"dots")
    (release / "hello.html").write_bytes(b"hello")
    (release / ".env").write_bytes(SECRET)
    (release / ".git").mkdir()
    (release / ".git" / "config").write_bytes(SECRET)
    (release / "env").symlink_to(".env")
    (release / "out").symlink_to(tmp_path / "private")
    (release / "one").symlink_to(tmp_path / "private" / "key.html")
    (release / "round").symlink_to("round")
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.html").write_bytes(SECRET)
    (tmp_path / "public").symlink_to("releases/42")
    for sibling in ("public-old", "public.html"):
        (tmp_path / sibling).mkdir()
        (tmp_path / sibling / "key.html").write_bytes(SECRET)
    (tmp_path / "releases" / "42-old").mkdir()
    (tmp_path / "releases" / "42-old" / "key.html").write_bytes(SECRET)
    return tmp_path


@pytest.fixture
def client(site):
    app = App()
    app.mount("/static", static(site / "public"))
    return Client(app)


OUTSIDE = [
    "../private/key.html",
    "../public-old/key.html",
    "../public.html/key.html",
    "../42-old/key.html",
    "css/../../private/key.html",
    "css/../../public-old/key.html",
    "out/key.html",
    "one",
    "css/../out/key.html",
    ".env",
    ".git/config",
    "env",
    "css/../.env",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_it_is_not_served(client, name):
    response = client.get(f"/static/{name}")
    assert response.status == 404
    assert SECRET not in response.body


@pytest.mark.parametrize("name", ["/private/key.html", "/public-old/key.html"])
def test_whole_paths_are_not_served(client, site, name):
    assert client.get(f"/static/{site}{name}").status == 404
    assert client.get(f"/static//{str(site).lstrip('/')}{name}").status == 404


@pytest.mark.parametrize("name", ["../private/key", "../public-old/key", "out/key", "../42-old/key"])
def test_it_is_no_page_and_no_part_of_one(site, name):
    with pytest.raises(HttpError) as caught:
        Pages(site / "public").show(name)
    assert caught.value.status == 404
    (site / "releases" / "42" / "sly.html").write_text(f"[[ part {name} ]]")
    with pytest.raises(HttpError) as caught:
        Pages(site / "public").show("sly")
    assert caught.value.status == 404


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("css/site.css", b"p {}"),
        ("css/all.css", b"p {}"),
        ("style/site.css", b"p {}"),
        ("a..b", b"dots"),
    ],
)
def test_what_is_in_the_folder_is_served(client, name, body):
    assert client.get(f"/static/{name}").body == body


def test_the_next_release_is_served(client, site):
    new = site / "releases" / "43"
    new.mkdir()
    (new / "news.txt").write_bytes(b"new")
    (site / "public").unlink()
    (site / "public").symlink_to("releases/43")
    assert client.get("/static/news.txt").body == b"new"
    assert client.get("/static/css/site.css").status == 404


@pytest.mark.parametrize("name", ["css", "css/", "round", "a\0b", "css/site.css/x", LONG, "."])
def test_what_is_no_file_is_not_found(client, name):
    assert client.get(f"/static/{name}").status == 404


def test_special_files_are_not_read(client, site):
    release = site / "releases" / "42"
    os.mkfifo(release / "queue")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(release)
        try:
            listener.bind("wire")
        finally:
            os.chdir(here)
        for name in ("wire", "queue"):
            writer = os.open(release / "queue", os.O_RDWR | os.O_NONBLOCK)
            os.write(writer, SECRET)
            assert client.get(f"/static/{name}").status == 404
            os.close(writer)


def test_a_folder_that_is_not_there(tmp_path):
    app = App()
    app.mount("/static", static(tmp_path / "none"))
    assert Client(app).get("/static/a").status == 404


def test_a_link_to_a_neighbour_whose_name_begins_alike_is_not_served(client, site):
    (site / "releases" / "42" / "old").symlink_to("../42-old")
    response = client.get("/static/old/key.html")
    assert response.status == 404 and SECRET not in response.body


@pytest.mark.parametrize("name", [".hg/hgrc", ".svn/entries", "css/.config/app.toml", "css/settings"])
def test_what_is_in_a_hidden_folder_is_not_served(client, site, name):
    release = site / "releases" / "42"
    for hidden in (".hg/hgrc", ".svn/entries", "css/.config/app.toml"):
        (release / hidden).parent.mkdir(parents=True, exist_ok=True)
        (release / hidden).write_bytes(SECRET)
    (release / "css" / "settings").symlink_to(".config/app.toml")
    response = client.get(f"/static/{name}")
    assert response.status == 404 and SECRET not in response.body


def test_the_folder_itself_may_lie_in_a_hidden_one(tmp_path):
    release = tmp_path / ".deploy" / ".releases" / "42"
    release.mkdir(parents=True)
    (release / "hello.html").write_bytes(b"hello")
    (tmp_path / ".deploy" / "public").symlink_to(".releases/42")
    app = App()
    app.mount("/static", static(tmp_path / ".deploy" / "public"))
    assert Client(app).get("/static/hello.html").body == b"hello"
    assert Pages(tmp_path / ".deploy" / "public").show("hello").body == b"hello"
