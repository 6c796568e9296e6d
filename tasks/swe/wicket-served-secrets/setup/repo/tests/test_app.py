import json


def test_values_become_json(client):
    response = client.get("/?name=Ada")
    assert response.status == 200
    assert json.loads(response.body) == {"hello": "Ada"}
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Content-Length"] == str(len(response.body))


def test_none_is_no_content(client):
    response = client.request("DELETE", "/books/3")
    assert (response.status, response.body) == (204, b"")


def test_errors_have_status_message_and_headers(client):
    response = client.get("/books/101")
    assert response.status == 404
    assert json.loads(response.body) == {"error": "no such book"}
    assert response.headers["X-Shelf"] == "3"


def test_a_bad_body_is_a_400(client):
    assert client.request("PUT", "/books/3").status == 400


def test_a_bug_is_a_500_without_details(app, client, capsys):
    @app.get("/bug")
    def bug(request):
        raise KeyError("secret")

    response = client.get("/bug")
    assert response.status == 500 and b"secret" not in response.body
    assert "secret" in capsys.readouterr().err
