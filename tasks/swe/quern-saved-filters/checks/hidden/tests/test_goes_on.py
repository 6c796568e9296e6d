"""Files of filters lose nothing, and names are names with their capitals."""

import pytest

from quern import FilterError, Saved, parse, simplify


@pytest.fixture
def saved(tmp_path):
    saved = Saved(tmp_path / "filters")
    saved.save("mine", parse("owner = me"))
    return saved


@pytest.mark.parametrize("value", ["http://a/b", ": ", "a:b", "#x", "a = b", " ", "mine: x", "\t"])
def test_what_fits_into_a_line_is_loaded(saved, value):
    saved.save("odd", parse(f'url = "{value}"'))
    assert saved.load("odd").matches({"url": value}) and not saved.load("odd").matches({"url": value.strip()[:-1]})
    assert saved.names() == ["mine", "odd"] and saved.broken() == {}


@pytest.mark.parametrize(
    "text",
    ["has owner or has Owner", "has owner and has OWNER", "not has a or not has A", "a = x or A = x", "a ~ x and a ~ X", "tag = Red or tag = red"],
)
def test_capitals_make_a_difference(text):
    whole, short = parse(text), simplify(parse(text))
    for name in ("owner", "Owner", "OWNER", "a", "A", "tag"):
        for value in ("x", "X", "red", "Red", None, []):
            record = {name: value}
            assert short.matches(record) == whole.matches(record)
            assert parse(str(short)).matches(record) == whole.matches(record)


def test_names_that_are_not_there(saved):
    for use in (saved.load, saved.remove):
        with pytest.raises(KeyError):
            use("other")
    saved.remove("mine")
    assert saved.names() == []
    with pytest.raises(KeyError):
        saved.load("mine")


@pytest.mark.parametrize("name", ["", "  ", "a:b", "a\nb"])
def test_what_is_no_name(saved, name):
    with pytest.raises(ValueError):
        saved.save(name, parse("a = 1"))
    assert saved.names() == ["mine"]


@pytest.mark.parametrize("text", ["a =", "a b", "(a = 1", "a = 1)", "not", "has", "and", 'a = "x', "a = 1 b = 2"])
def test_what_is_no_filter(text):
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert 0 <= caught.value.at <= len(text) and caught.value.message


def test_broken_lines_are_told(saved, tmp_path):
    with (tmp_path / "filters").open("a") as file:
        file.write("odd: a =\n")
    assert list(saved.broken()) == ["odd"] and saved.names() == ["mine", "odd"]
    assert saved.load("mine").matches({"owner": "me"})
