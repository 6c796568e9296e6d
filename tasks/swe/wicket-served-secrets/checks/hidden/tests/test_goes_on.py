"""A plain 404 tells nothing, and what is served is what lies there now."""

import pytest

from wicket import App, HttpError
from wicket.pages import Pages
from wicket.static import static
from wicket.testing import Client


@pytest.fixture
def site(tmp_path):
    for number in ("41", "42"):
        (tmp_path / "releases" / number / ".git").mkdir(parents=True)
        (tmp_path / "releases" / number / "news.txt").write_text(f"news of {number}")
        (tmp_path / "releases" / number / "hello.html").write_text(f"hello {number} [[ name ]]")
        (tmp_path / "releases" / number / ".git" / "config").write_text("secret")
    (tmp_path / "releases" / "42" / "out").symlink_to("../41")
    (tmp_path / "public").symlink_to("releases/42")
    return tmp_path


@pytest.fixture
def client(site):
    app = App()
    app.mount("/static", static(site / "public"))
    return Client(app)


@pytest.mark.parametrize("name", ["none", "../private/key", ".git/config", "out/news.txt", "a\0b", ".git", "css/", "/etc/passwd"])
def test_a_404_is_that_of_any_unknown_file(client, site, name):
    response, plain = client.get(f"/static/{name}"), client.get("/static/unknown")
    assert (response.status, response.headers.keys()) == (404, plain.headers.keys())
    for told in (str(site), "releases", "secret", "Traceback"):
        assert told not in response.body.decode()
    with pytest.raises(HttpError) as caught:
        Pages(site / "public").show(name)
    assert caught.value.status == 404 and str(site) not in caught.value.message and "releases" not in caught.value.message


def test_what_lies_there_now_is_served(client, site):
    pages = Pages(site / "public")
    assert client.get("/static/news.txt").body == b"news of 42" and pages.show("hello").body == b"hello 42 "
    (site / "releases" / "42" / "news.txt").write_text("later")
    assert client.get("/static/news.txt").body == b"later"
    (site / "public").unlink()
    (site / "public").symlink_to("releases/41")
    assert client.get("/static/news.txt").body == b"news of 41" and pages.show("hello").body == b"hello 41 "
    (site / "releases" / "41" / "news.txt").unlink()
    assert client.get("/static/news.txt").status == 404


def test_values_are_escaped_and_types_are_as_before(client, site):
    assert Pages(site / "public").show("hello", name="<b>&").body == b"hello 42 &lt;b&gt;&amp;"
    (site / "releases" / "42" / "data").write_bytes(b"\0")
    kinds = [client.get(f"/static/{name}").headers["Content-Type"] for name in ("data", "news.txt", "hello.html")]
    assert kinds == ["application/octet-stream", "text/plain", "text/html"]


def test_a_file_that_changes_is_served_as_it_is(client, site):
    pages, folder = Pages(site / "public"), site / "releases" / "42"
    for number in range(4):
        (folder / "news.txt").write_text(f"news {number}")
        (folder / "hello.html").write_text(f"<p>{number}</p>")
        assert client.get("/static/news.txt").body == b"news %d" % number
        assert pages.show("hello").body == b"<p>%d</p>" % number
