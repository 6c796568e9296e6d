import pytest

from quern import FilterError, names, parse

TICKET = {"status": "open", "priority": 3, "tag": ["red", "wide"], "owner": None, "title": "Pump A"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "always",
        "status = open",
        'title = "Pump A"',
        "title ~ pump",
        "priority >= 3 and priority < 4",
        "tag = red and tag = wide",
        "tag != red",
        "not has owner",
        "not has nothing",
        "never or status = open",
        "not never and always",
        "status = shut and never or has tag",
    ],
)
def test_it_matches(text):
    assert parse(text).matches(TICKET)


@pytest.mark.parametrize(
    "text",
    [
        "never",
        "status = Open",
        'priority = "3"',
        "priority ~ 3",
        "nothing != 3",
        "owner != ada",
        "has owner",
        "not (status = open)",
        "status = open and (never or priority > 3)",
    ],
)
def test_it_does_not_match(text):
    assert not parse(text).matches(TICKET)


@pytest.mark.parametrize(
    "text, at", [("a =", 3), ("a = 1 b", 6), ("(a = 1", 6), ("a & 1", 2), ("and = 1", 0), ("7up = 1", 0)]
)
def test_errors_point_at_the_place(text, at):
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert caught.value.at == at


def test_names():
    assert names(parse("b = 1 or not (has a and b > 3)")) == ["a", "b"]
