import pytest

from quern import Saved, parse, simplify


@pytest.fixture
def saved(tmp_path):
    return Saved(tmp_path / "filters")


def test_filters_are_kept_by_name(saved):
    saved.save("mine", parse("owner = ada and status = open"))
    saved.save("all", parse(""))
    assert saved.names() == ["all", "mine"]
    assert saved.load("mine") == parse("owner = ada and status = open")
    saved.remove("mine")
    assert saved.names() == ["all"]


def test_a_file_of_version_0_4(tmp_path):
    (tmp_path / "filters").write_text('late: not (a = "x y" or b < 3)\nbad: a =\n')
    saved = Saved(tmp_path / "filters")
    assert saved.load("late").matches({"a": "x", "b": 3})
    assert list(saved.broken()) == ["bad"]


@pytest.mark.parametrize(
    "text, short",
    [
        ("not not a = 1", "a = 1"),
        ("a = 1 and (b = 2 and c = 3)", "a = 1 and b = 2 and c = 3"),
        ("a = 1 or a = 1", "a = 1"),
        ("a = 1 or a = 1 and b = 2", "a = 1"),
        ("a = 1 and (a = 1 or b = 2)", "a = 1"),
        ("a = 1 and always", "a = 1"),
        ("a = 1 and never", "never"),
        ("not (has a or has b)", "not has a and not has b"),
    ],
)
def test_filters_become_shorter(text, short):
    assert str(simplify(parse(text))) == short
