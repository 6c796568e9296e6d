import pytest

from wicket import App, HttpError, Router
from wicket.testing import Client


@pytest.fixture
def app():
    app, books, pages = App(), Router(), Router()

    @app.get("/")
    def index(request):
        return {"hello": request.query.get("name", ["world"])[0]}

    @books.get("/{number:int}")
    def show(request, number):
        if number > 100:
            raise HttpError(404, "no such book", {"X-Shelf": "3"})
        return {"number": number}

    @books.get("/latest")
    def latest(request):
        return {"number": 100}

    @books.put("/{number:int}")
    def replace(request, number):
        return {"number": number, "title": request.json()["title"]}

    @books.delete("/{number:int}")
    def remove(request, number):
        return None

    @pages.get("/{name:path}")
    def page(request, number, name):
        return {"page": name}

    books.mount("/{number:int}/pages", pages)
    app.mount("/books", books)
    app.books, app.pages = books, pages
    return app


@pytest.fixture
def client(app):
    return Client(app)
