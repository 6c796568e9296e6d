"""Texts stand for the filter, and simplified filters find the same records."""

import itertools
import random

import pytest

from quern import Saved, parse, simplify
from quern.nodes import And, Comparison, Constant, Has, Not, Or

TEXTS = [
    "open", "Open", "on hold", "", " ", "01067", "7", "-7", "2.5", "and", "or", "not", "has", "always", "never", "And",
    'a "b"', "back\\slash", "end\\", '\\"', "a.b-c", "-a", ".a", "7up", "1-2", "b:c", "ä", "²", "٣", "(x)", "x y", "=", "~",
]
NUMBERS = [0, 7, -7, 2.5, -0.25, 7.0, 1067, 10**20, 1e-7, 123456789012345678.0, 1e22]
FIELDS = ["a", "b", "c"]
OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "~"]
VALUES = [1, 2, 3, "x", "X", "y", "1"]


def records():
    singles = [1, 2, 3, 2.5, "x", "X", "y", "1", "", None, True]
    found = [*singles, [], [1, 3], ["x", "y"], ["X", 2], [None]]
    yield {}
    for value in found:
        yield {"a": value}
    drawn = random.Random(4)
    for _ in range(90):
        yield {field: drawn.choice(found) for field in FIELDS if drawn.random() < 0.8}


RECORDS = list(records())


def some_filter(drawn, depth=3):
    kind = drawn.random()
    if depth == 0 or kind < 0.3:
        if drawn.random() < 0.15:
            return Has(drawn.choice(FIELDS))
        if drawn.random() < 0.08:
            return Constant(drawn.random() < 0.5)
        return Comparison(drawn.choice(FIELDS), drawn.choice(OPERATORS), drawn.choice(VALUES))
    if kind < 0.55:
        return Not(some_filter(drawn, depth - 1))
    parts = tuple(some_filter(drawn, depth - 1) for _ in range(drawn.randint(2, 3)))
    return (And if kind < 0.78 else Or)(parts)


def found_by(node):
    return [at for at, record in enumerate(RECORDS) if node.matches(record)]


@pytest.mark.parametrize("value", TEXTS, ids=range(len(TEXTS)))
def test_a_text_stays_that_text(value):
    node = Comparison("a", "=", value)
    again = parse(str(node))
    assert again == node and isinstance(again.value, str)


@pytest.mark.parametrize("value", NUMBERS, ids=range(len(NUMBERS)))
def test_a_number_stays_that_number(value):
    again = parse(str(Comparison("a", "<", value)))
    assert again.value == value and not isinstance(again.value, str)


def test_words_need_no_quotes():
    assert str(parse('status = "open" and zip = "01067"')) == 'status = open and zip = "01067"'


@pytest.mark.parametrize("seed", range(8))
def test_what_is_written_can_be_read(seed):
    drawn = random.Random(seed)
    for _ in range(40):
        node = some_filter(drawn)
        assert parse(str(node)) == node


@pytest.mark.parametrize("seed", range(8))
def test_simplified_filters_find_the_same(seed):
    drawn = random.Random(100 + seed)
    for _ in range(40):
        node = some_filter(drawn)
        short = simplify(node)
        assert found_by(short) == found_by(node), f"{node} became {short}"


@pytest.mark.parametrize(
    "text",
    [
        "not (a < 3)", "not a = 1", "not (a != x)", "a = 1 and a = 3", "a = x and a = X", "a = x or a = X", "not (a = 1 and b = 2)",
        'a = 1 or a = "1"', "not (not a > 1 or b = y)",
    ],
)
def test_these_find_the_same(text):
    assert found_by(simplify(parse(text))) == found_by(parse(text))


@pytest.mark.parametrize(
    "text, short",
    [
        ("not not not has a", "not has a"),
        ("not (a = 1 and not b = 2)", "not a = 1 or b = 2"),
        ("a = 1 and (b = 2 and (c = 3 and a = 1))", "a = 1 and b = 2 and c = 3"),
        ("(a = 1 or b = 2) or c = 3 or a = 1", "a = 1 or b = 2 or c = 3"),
        ("a = 1 or b = 2 and a = 1", "a = 1"),
        ("(a = 1 or b = 2) and c = 3 and a = 1", "c = 3 and a = 1"),
        ("not (never or has a) and always", "not has a"),
        ("has a or not never", "always"),
        ("a = 1 and (b = 2 or c = 3)", "a = 1 and (b = 2 or c = 3)"),
        ("a = x or a = X", "a = x or a = X"),
    ],
)
def test_filters_become_shorter(text, short):
    assert str(simplify(parse(text))) == short


def test_no_not_stands_before_parentheses():
    drawn = random.Random(9)
    for _ in range(100):
        assert "not (" not in str(simplify(some_filter(drawn)))


def test_saved_filters_are_those_that_were_typed(tmp_path):
    saved = Saved(tmp_path / "filters")
    typed = ["not (a < 3)", "a = x and a = y", 'a = "01067"', 'a = "and"', 'not (a = "X" and b = x)']
    for at, text in enumerate(typed):
        saved.save(f"f{at}", parse(text))
    again = Saved(tmp_path / "filters")
    assert again.broken() == {} and len(again.names()) == len(typed)
    for at, text in enumerate(typed):
        assert found_by(again.load(f"f{at}")) == found_by(parse(text))
    assert "not not" not in (tmp_path / "filters").read_text()


def test_fields_whose_records_differ_in_type():
    for one, two in itertools.product(["=", "!=", "<", ">="], repeat=2):
        node = parse(f"not (a {one} 2) and not (a {two} x)")
        assert found_by(simplify(node)) == found_by(node)


def test_filters_are_simplified_before_they_are_saved(tmp_path):
    saved = Saved(tmp_path / "filters")
    saved.save("short", parse("not not a = 1 and (b = 2 and a = 1)"))
    assert (tmp_path / "filters").read_text() == "short: a = 1 and b = 2\n"


@pytest.mark.parametrize("text", ["a = 1 and a != 1", "a < 1 and a > 1", "a = x and a != x and b = 2", "a = 1 and a = 2"])
def test_a_list_can_be_what_one_value_cannot(text):
    record = {"a": [0, 1, 2, "x", "y"], "b": 2}
    assert parse(text).matches(record) and simplify(parse(text)).matches(record)


@pytest.mark.parametrize("between", ["\n", "\r", "\r\n", "\x0b", "\x1c", "\x85", "\u2028"], ids=range(7))
def test_a_value_with_a_line_end_is_saved_or_refused(tmp_path, between):
    saved, node = Saved(tmp_path / "filters"), Comparison("a", "=", f"one{between}two: b")
    saved.save("before", parse("a = 1"))
    saved.save("z", parse("b = 2"))
    try:
        saved.save("it", node)
    except ValueError:
        assert Saved(tmp_path / "filters").names() == ["before", "z"]
    else:
        assert Saved(tmp_path / "filters").names() == ["before", "it", "z"]
        assert Saved(tmp_path / "filters").load("it") == node
    assert saved.broken() == {} and saved.load("before") == parse("a = 1") and saved.load("z") == parse("b = 2")


@pytest.mark.parametrize("one", OPERATORS)
@pytest.mark.parametrize("join", ["and", "or"])
def test_capitals_of_values_matter_in_all_comparisons(one, join):
    node = parse(f"a {one} x {join} a {one} X")
    assert found_by(simplify(node)) == found_by(node)
