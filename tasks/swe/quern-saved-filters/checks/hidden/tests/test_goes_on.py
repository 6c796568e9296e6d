"""Files of filters lose nothing, and names are names with their capitals."""

import os
import subprocess
import sys

import pytest

from quern import Filter, FilterError, Saved, names, parse, simplify


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


@pytest.mark.parametrize(
    ("text", "message", "at"),
    [
        ("a =", "expected a value, got the end", 3),
        ("a = and", "expected a value, got and", 4),
        ("a = (", "expected a value, got (", 4),
        ("a b", "expected a comparison, got b", 2),
        ("(a = 1", "expected a closing parenthesis, got the end", 6),
        ("a = 1)", "expected and, or, or the end, got )", 5),
        ("a = 1 b = 2", "expected and, or, or the end, got b", 6),
        ("has 7", "expected the name of a field, got 7", 4),
        ("not", "expected the name of a field, got the end", 3),
        ('"a" = 1', 'expected the name of a field, got "a"', 0),
        ("a = 1 ; b", "unexpected ';'", 6),
        ('a = "x', "unexpected '\"'", 4),
        ("a = 7up", "unexpected '7'", 4),
        ("a = 1.", "unexpected '1'", 4),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_before(text, message, at):
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert (caught.value.message, caught.value.at) == (message, at)
    assert str(caught.value) == f"{message}\n  {text}\n  {' ' * at}^"


def test_names_of_filters_that_are_refused_are_told(saved):
    with pytest.raises(ValueError) as caught:
        saved.save("a:b", parse("a = 1"))
    assert str(caught.value) == "no name of a filter: 'a:b'"


@pytest.mark.parametrize(
    ("text", "record", "matches"),
    [
        ("has a", {"a": 0}, True),
        ("has a", {"a": ""}, True),
        ("has a", {"a": False}, True),
        ("has a", {"a": [None]}, True),
        ("has a", {"a": None}, False),
        ("has a", {"a": []}, False),
        ("has a", {}, False),
        ("a = 1", {"a": True}, False),
        ("a != 1", {"a": False}, False),
        ("a = 1", {"a": 1.0}, True),
        ("a ~ BC", {"a": "abcd"}, True),
        ("a ~ STRASSE", {"a": "Hauptstraße 1"}, True),
        ("a ~ 1", {"a": 1}, False),
        ("a ~ 1", {"a": "1"}, False),
        ('a ~ ""', {"a": ""}, True),
        ("a < b", {"a": "B"}, True),
        ("a <= 1", {"a": [5, 1]}, True),
        ("a < 1", {"a": (0,)}, False),
        ("a = 1", {"a": [[1]]}, False),
        ("", {}, True),
        (" \n", {}, True),
        ("not a = 1 and b = 2", {"b": 2}, True),
        ("a = 1 or b = 2 and c = 3", {"a": 1}, True),
        ("not not not never", {}, True),
    ],
)
def test_which_records_match(text, record, matches):
    assert parse(text).matches(record) is matches
    assert simplify(parse(text)).matches(record) is matches


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('a="b"and\tc<=-2.50', "a = b and c <= -2.5"),
        ("((a=1))or(b=2 and(c=3 or d=4))", "a = 1 or b = 2 and (c = 3 or d = 4)"),
        ("a.b-c=x", "a.b-c = x"),
        ("", "always"),
        ('a = "x\\"y\\\\z"', 'a = "x\\"y\\\\z"'),
        ("not has a", "not has a"),
    ],
)
def test_texts_of_filters(text, shown):
    assert str(parse(text)) == shown


def test_the_fields_of_a_filter():
    assert names(parse("not (z = 1 or has b) and (b = 2 or never) and A ~ x")) == ["A", "b", "z"]
    assert names(parse("always")) == []


def test_filters_are_values():
    one, other = parse("not (a = 1 and has b) or always"), parse("not(a=1 and has b)or always")
    assert one == other and len({one, other, parse("a = 1")}) == 2
    with pytest.raises(AttributeError):
        one.parts = ()
    before = str(one)
    simplify(one)
    assert str(one) == before
    with pytest.raises(NotImplementedError):
        Filter().matches({})


def test_the_file_is_a_line_for_each_filter(saved, tmp_path):
    saved.save(" zoo ", parse("a = ä"))
    saved.save("Big", parse("b = 1"))
    saved.save("mine", parse('c = "x:y"'))
    text = 'Big: b = 1\nmine: c = "x:y"\nzoo: a = ä\n'
    assert (tmp_path / "filters").read_bytes().decode() == text
    assert saved.names() == ["Big", "mine", "zoo"] and Saved(str(tmp_path / "filters")).load("zoo") == parse("a = ä")
    saved.remove("mine")
    assert (tmp_path / "filters").read_text(encoding="utf-8") == text.replace('mine: c = "x:y"\n', "")


def test_files_of_before_are_read(tmp_path):
    (tmp_path / "filters").write_text("b : not not a = 1 or a = 1\n\n  \na:  has x  \nworse: a = \n", encoding="utf-8")
    saved = Saved(tmp_path / "filters")
    assert saved.names() == ["a", "b", "worse"]
    assert saved.load("b") == parse("not not a = 1 or a = 1") and saved.load("a") == parse("has x")
    assert saved.broken() == {"worse": "expected a value, got the end"}
    with pytest.raises(FilterError):
        saved.load("worse")
    assert Saved(tmp_path / "none").names() == [] and Saved(tmp_path / "none").broken() == {}
    assert not (tmp_path / "none").exists()


def test_files_are_utf_8_wherever(tmp_path):
    (tmp_path / "filters").write_text("süd: a = größer\n", encoding="utf-8")
    code = "import sys; from quern import Saved; saved = Saved(sys.argv[1]); saved.save('neu', saved.load('s\\xfcd'))"
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "filters"], env={**os.environ, **plain}, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "filters").read_text(encoding="utf-8") == "neu: a = größer\nsüd: a = größer\n"


@pytest.mark.parametrize(("written", "value"), [("C:\\new", "C:new"), ("a\\tb\\r", "atbr"), ("\\x41", "x41"), ("a\\\\n", "a\\n")])
def test_a_backslash_stands_for_what_it_stood_for(tmp_path, written, value):
    path = tmp_path / "filters"
    path.write_text(f'old: folder = "{written}"\n', encoding="utf-8")
    assert Saved(path).load("old").matches({"folder": value})
