"""HEAD and OPTIONS beside errors, mounted routers and middleware that changes headers."""

import io

import pytest

from wicket import App, HttpError, Response, Router
from wicket.testing import Client


@pytest.fixture
def app():
    app, books = App(), Router()

    @app.get("/")
    def home(request):
        return {"home": True}

    @books.get("/{number:int}")
    def book(request, number):
        if number > 9:
            raise HttpError(404, "no such book", {"X-Shelf": "9"})
        return Response(200, b"title" * number, {"X-Number": str(number + 1)})

    @books.put("/{name}")
    def rename(request, name):
        return {"name": name}

    @books.get("/broken")
    def broken(request):
        raise KeyError("secret")

    app.mount("/books", books)
    return app


@pytest.mark.parametrize("path", ["/", "/books/3", "/books/10", "/books/broken", "/none", "/books/3/none"])
def test_head_has_the_status_and_the_headers_of_get(app, path):
    head, get = (Client(app).request(method, path) for method in ("HEAD", "GET"))
    assert (head.status, head.headers, head.body) == (get.status, get.headers, b"")
    assert int(get.headers["Content-Length"]) == len(get.body) > 0
    assert b"secret" not in get.body


@pytest.mark.parametrize("path", ["/none", "/books/3/none", "/books", "/books/"])
def test_options_of_an_unknown_path_are_not_found(app, path):
    response = Client(app).request("OPTIONS", path)
    assert response.status == 404 and "Allow" not in response.headers


def test_middleware_adds_to_the_headers_of_one_response(app):
    seen = []

    @app.use
    def cross(request, following):
        response = Response.of(following(request))
        response.headers["Allow"] += ", PATCH"
        response.headers["X-Count"] = str(len(seen))
        seen.append(request.path)
        return response

    for path in ("/books/3", "/books/3", "/"):
        allow = Client(app).request("OPTIONS", path).headers["Allow"]
        assert allow == ("GET, HEAD, OPTIONS, PATCH" if path == "/" else "GET, HEAD, OPTIONS, PUT, PATCH")
    assert seen == ["/books/3", "/books/3", "/"]
    assert Client(app).request("DELETE", "/").headers["Allow"] == "GET, HEAD, OPTIONS"


def test_slots_have_their_kinds_in_every_method(app):
    assert Client(app).request("HEAD", "/books/4").headers["X-Number"] == "5"
    assert Client(app).request("PUT", "/books/4").body == b'{"name": "4"}'


def test_nothing_is_printed(app, capfd):
    for method in ("HEAD", "OPTIONS", "GET", "DELETE"):
        for path in ("/", "/books/3", "/none"):
            Client(app).request(method, path)
    assert capfd.readouterr() == ("", "")


def test_without_a_client(app):
    started = []
    environ = {"REQUEST_METHOD": "HEAD", "PATH_INFO": "/books/2", "wsgi.input": io.BytesIO()}
    body = b"".join(app(environ, lambda status, headers: started.append((status, dict(headers)))))
    assert body == b"" and started == [("200 OK", {"X-Number": "3", "Content-Length": "10"})]


@pytest.mark.parametrize("mounted_first", [True, False])
def test_options_goes_where_a_get_of_the_path_goes(mounted_first):
    app, books = App(), Router()

    @books.use
    def marked(request, next):
        response = Response.of(next(request))
        response.headers["X-Router"] = "books"
        return response

    @books.get("/{number:int}")
    def book(request, number):
        return {"number": number}

    if mounted_first:
        app.mount("/books", books)
    app.get("/{rest:path}")(lambda request, rest: {"rest": rest})
    if not mounted_first:
        app.mount("/books", books)
    for method in ("GET", "HEAD", "OPTIONS"):
        assert Client(app).request(method, "/books/7").headers.get("X-Router") == "books"
        assert "X-Router" not in Client(app).request(method, "/music").headers
