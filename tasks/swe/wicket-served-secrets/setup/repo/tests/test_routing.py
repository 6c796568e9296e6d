import json

import pytest

from wicket.pattern import Pattern


def test_fixed_text_goes_first(client):
    assert json.loads(client.get("/books/latest").body) == {"number": 100}


def test_slots_have_kinds(client):
    assert client.get("/books/7").status == 200
    assert client.get("/books/seven").status == 404


def test_routers_are_mounted_in_routers(client):
    assert json.loads(client.get("/books/3/pages/a/b").body)["page"] == "a/b"


def test_an_unknown_method(client):
    assert client.post("/books/7").status == 405


@pytest.mark.parametrize("text", ["/{a:float}", "/{a}/{a}"])
def test_bad_patterns(text):
    with pytest.raises(ValueError):
        Pattern(text)


def test_middleware_runs_from_the_outside_in(app, client):
    seen = []

    @app.use
    def outer(request, call):
        seen.append("app")
        return call(request)

    @app.books.use
    def inner(request, call):
        seen.append("books")
        return call(request)

    client.get("/books/7")
    client.get("/")
    assert seen == ["app", "books", "app"]
