"""HEAD, OPTIONS and the methods that are not allowed."""

import json

import pytest

from wicket import Response


def test_head_is_get_without_a_body(client):
    whole, head = client.get("/books/7"), client.request("HEAD", "/books/7")
    assert (head.status, head.body) == (200, b"")
    assert head.headers == whole.headers
    assert head.headers["Content-Length"] == str(len(whole.body))


def test_head_of_an_error(client):
    head = client.request("HEAD", "/books/101")
    assert (head.status, head.body, head.headers["X-Shelf"]) == (404, b"", "3")
    assert client.request("HEAD", "/nowhere").status == 404


def test_a_route_for_head_goes_first(app, client):
    @app.get("/file")
    def whole(request):
        raise AssertionError("HEAD has a handler of its own")

    @app.route("HEAD", "/file")
    def head(request):
        return Response(200, b"", {"X-Size": "12"})

    assert client.request("HEAD", "/file").headers["X-Size"] == "12"


def test_the_handler_sees_the_method_of_the_request(app, client):
    @app.get("/method")
    def method(request):
        return Response(200, b"", {"X-Method": request.method})

    assert client.request("HEAD", "/method").headers["X-Method"] == "HEAD"


@pytest.mark.parametrize(
    "path, allow",
    [
        ("/books/7", "DELETE, GET, HEAD, OPTIONS, PUT"),
        ("/books/latest", "GET, HEAD, OPTIONS"),
        ("/books/3/pages/a/b", "GET, HEAD, OPTIONS"),
    ],
)
def test_options_and_405_name_the_methods(client, path, allow):
    options = client.request("OPTIONS", path)
    assert (options.status, options.body, options.headers["Allow"]) == (204, b"", allow)
    refused = client.request("PATCH", path)
    assert (refused.status, refused.headers["Allow"]) == (405, allow)
    assert "PATCH" in json.loads(refused.body)["error"]


def test_all_routes_of_a_path_are_counted(app, client):
    """Two patterns match one path: the methods of both are allowed."""

    @app.post("/books/{name}")
    def order(request, name):
        return {"ordered": name}

    assert client.request("OPTIONS", "/books/7").headers["Allow"] == (
        "DELETE, GET, HEAD, OPTIONS, POST, PUT"
    )
    assert json.loads(client.post("/books/7").body) == {"ordered": "7"}


def test_a_path_without_get_has_no_head(app, client):
    @app.post("/orders")
    def order(request):
        return {}

    assert client.request("HEAD", "/orders").status == 405
    assert client.request("OPTIONS", "/orders").headers["Allow"] == "OPTIONS, POST"


def test_options_of_an_unknown_path_is_a_404(client):
    assert client.request("OPTIONS", "/nowhere").status == 404


def test_a_route_for_options_goes_first(app, client):
    @app.route("OPTIONS", "/books/{number:int}")
    def options(request, number):
        return {"number": number}

    assert json.loads(client.request("OPTIONS", "/books/7").body) == {"number": 7}


def test_options_runs_through_the_middleware(app, client):
    seen = []

    @app.use
    def outer(request, call):
        seen.append("app")
        response = call(request)
        return response

    @app.books.use
    def cross_origin(request, call):
        response = Response.of(call(request))
        response.headers["Access-Control-Allow-Origin"] = "*"
        return response

    response = client.request("OPTIONS", "/books/7")
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert response.headers["Allow"].startswith("DELETE")
    assert seen == ["app"]


@pytest.mark.parametrize("status", [405, 500])
def test_head_of_errors_that_nobody_raised_has_no_body(app, client, status):
    @app.get("/broken")
    def broken(request):
        raise KeyError("no detail")

    @app.post("/post-only")
    def post_only(request):
        return {}

    head = client.request("HEAD", {405: "/post-only", 500: "/broken"}[status])
    assert (head.status, head.body) == (status, b"")
    assert int(head.headers["Content-Length"]) > 0


def test_head_is_answered_by_get_even_if_another_route_of_the_path_is_closer(app, client):
    @app.post("/shelves/new")
    def make(request):
        return {}

    @app.get("/shelves/{name}")
    def show(request, name):
        return {"name": name}

    whole, head = client.get("/shelves/new"), client.request("HEAD", "/shelves/new")
    assert (whole.status, head.status, head.body, head.headers) == (200, 200, b"", whole.headers)
