"""Routes, requests and errors are what they were."""

import io
import json
import sys

import pytest

from wicket import App, HttpError, Request, Response, Router
from wicket.pattern import Pattern
from wicket.testing import Client


def said(app, path, method="GET", **more):
    return json.loads(Client(app).request(method, path, **more).body)


@pytest.mark.parametrize("turn", [1, -1])
def test_the_closest_route_answers_whatever_was_registered_first(turn):
    app = App()
    for path in ["/a/{x:path}", "/a/{x}", "/a/{x:int}", "/a/b", "/a/{x}/c", "/a/b/c", "/{x:path}", "/a/v{x}", "/a/v7", "/a/8", "/a/{x:int}/c", "/a/9/c"][::turn]:
        app.get(path)(lambda request, path=path, **values: [path, list(values.values())])
    assert said(app, "/a/b") == ["/a/b", []]
    assert said(app, "/a/7") == ["/a/{x:int}", [7]]
    assert said(app, "/a/seven") == ["/a/{x}", ["seven"]]
    assert said(app, "/a/b/c") == ["/a/b/c", []]
    assert said(app, "/a/x/c") == ["/a/{x}/c", ["x"]]
    assert said(app, "/a/x/d") == ["/a/{x:path}", ["x/d"]]
    assert said(app, "/b") == ["/{x:path}", ["b"]]
    assert said(app, "/a/8") == ["/a/8", []] and said(app, "/a/9/c") == ["/a/9/c", []]
    assert said(app, "/a/7/c") == ["/a/{x:int}/c", [7]]
    assert said(app, "/a/v7") == ["/a/v7", []]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/{a:float}", "/{a:float}: unknown kind of slot 'float'"),
        ("/{a}/{a:int}", "/{a}/{a:int}: two slots named 'a'"),
    ],
)
def test_what_is_wrong_with_a_pattern_is_said(text, told):
    with pytest.raises(ValueError) as caught:
        Pattern(text)
    assert str(caught.value) == told


def test_a_request_is_that_of_the_server():
    body = io.BytesIO(b'{"n": 1}and more')
    request = Request.from_environ(
        {
            "REQUEST_METHOD": "PUT",
            "PATH_INFO": "/a",
            "QUERY_STRING": "x=1&x=2&y=%20",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": "8",
            "HTTP_X_FORWARDED_FOR": "::1",
            "SERVER_NAME": "here",
            "wsgi.input": body,
        }
    )
    assert (request.method, request.path, request.query) == ("PUT", "/a", {"x": ["1", "2"], "y": [" "]})
    assert request.headers == {"x-forwarded-for": "::1", "content-type": "application/json"}
    assert request.json() == {"n": 1} and body.read() == b"and more" and request.state == {}


@pytest.mark.parametrize("path", [{}, {"PATH_INFO": ""}])
@pytest.mark.parametrize("length", [{}, {"CONTENT_LENGTH": ""}, {"CONTENT_LENGTH": "0"}])
def test_what_a_server_leaves_out(path, length):
    request = Request.from_environ({"REQUEST_METHOD": "GET", "wsgi.input": io.BytesIO(b"x"), **path, **length})
    assert (request.path, request.query, request.headers, request.body) == ("/", {}, {}, b"")
    assert Request("GET", "/").query == {}


def test_the_client_sends_bodies_and_headers():
    app = App()

    @app.route("POST", "/echo")
    @app.put("/echo")
    def echo(request):
        return [request.method, request.headers, request.json(), request.query]

    assert Client(app).post("/echo?a=b", {"x": "ä"}, headers={"X-One-Two": "3"}).body.decode() == (
        '["POST", {"x-one-two": "3"}, {"x": "ä"}, {"a": ["b"]}]'
    )
    assert said(app, "/echo", "PUT", body=0)[2] == 0


@pytest.mark.parametrize(("value", "body"), [({}, b"{}"), ([], b"[]"), (0, b"0"), (False, b"false"), ("", b'""')])
def test_values_that_are_empty_are_values(value, body):
    app = App()
    app.get("/")(lambda request: value)
    response = Client(app).get("/")
    assert (response.status, response.body) == (200, body)


def test_errors_are_told_in_the_words_of_before(capsys):
    app = App()
    app.get("/a")(lambda request: 1 // 0)
    app.post("/b")(lambda request: request.json())
    for method, path, status, told in [
        ("GET", "/none", 404, "/none: not found"),
        ("PATCH", "/a", 405, "PATCH is not allowed here"),
        ("POST", "/b", 400, "the body is not JSON"),
    ]:
        response = Client(app).request(method, path)
        assert (response.status, json.loads(response.body)) == (status, {"error": told})
        assert response.headers["Content-Type"] == "application/json"
    assert capsys.readouterr() == ("", "")
    assert said(app, "/a") == {"error": "internal error"}
    seen = capsys.readouterr()
    assert "ZeroDivisionError" in seen.err and seen.out == ""


def test_an_error_is_its_own(capsys):
    headers = {"X-A": "1"}
    one, other = HttpError(404, "no", headers), HttpError(400)
    headers["X-B"] = "2"
    other.headers["X-C"] = "3"
    assert (str(one), one.status, one.message, one.headers) == ("no", 404, "no", {"X-A": "1"})
    assert HttpError(400).headers == {} and str(HttpError(400)) == ""


def test_headers_are_a_list_as_servers_want_them():
    app, started = App(), []
    app.get("/")(lambda request: Response(headers={"X-A": "1"}))
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "wsgi.input": io.BytesIO()}
    app(environ, lambda *given: started.append(given))
    ((status, headers),) = started
    assert status == "200 OK" and type(headers) is list
    assert sorted(headers) == [("Content-Length", "0"), ("X-A", "1")]


def test_decorators_return_what_they_got():
    router = Router()

    def handler(request):
        return None

    def middleware(request, call):
        return call(request)

    for register in (router.get, router.post, router.put, router.delete):
        assert register("/a")(handler) is handler
    assert router.route("PATCH", "/a")(handler) is handler and router.use(middleware) is middleware


def test_a_prefix_may_end_with_a_slash():
    app, inner = App(), Router()
    inner.get("/b")(lambda request: "b")
    app.mount("/a/", inner)
    assert said(app, "/a/b") == "b"


def test_a_bug_is_told_where_standard_error_is_now(monkeypatch):
    app, there = App(), io.StringIO()
    app.get("/")(lambda request: 1 // 0)
    monkeypatch.setattr(sys, "stderr", there)
    assert Client(app).get("/").status == 500
    assert "ZeroDivisionError" in there.getvalue()
