import pytest

from wicket import App
from wicket.static import static
from wicket.testing import Client


@pytest.fixture
def client(tmp_path):
    public = tmp_path / "public"
    (public / "css").mkdir(parents=True)
    (public / "index.html").write_text("<p>hello")
    (public / "css" / "site.css").write_text("p {}")
    (public / "data").write_bytes(b"\0\1")
    app = App()
    app.mount("/static", static(public))
    return Client(app)


def test_files_are_served(client):
    response = client.get("/static/css/site.css")
    assert (response.status, response.body) == (200, b"p {}")
    assert response.headers["Content-Type"] == "text/css"
    assert client.get("/static/data").headers["Content-Type"] == "application/octet-stream"


def test_an_unknown_file(client):
    assert client.get("/static/css/none.css").status == 404
