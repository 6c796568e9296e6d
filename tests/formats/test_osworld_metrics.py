"""OSWorld's metrics: each accepts what is right and refuses several wrong things."""

import importlib

import pytest
from osworld_picture_cases import IMAGES
from osworld_scores import score
from osworld_text_cases import TEXTS
from osworld_value_cases import VALUES

from agentgym.formats.osworld.metrics import registry
from agentgym.formats.osworld.metrics.matching import fits, similarity


def cases():
    for name, (right, wrong, *options) in {**VALUES, **TEXTS, **IMAGES}.items():
        yield pytest.param(name, right, wrong, options[0] if options else {}, id=name)


@pytest.mark.parametrize(("name", "right", "wrong", "options"), list(cases()))
def test_a_metric_accepts_what_is_right_and_refuses_what_is_wrong(
    name, right, wrong, options, tmp_path, monkeypatch
):
    if name in ("check_pdf_pages", "compare_pdfs", "compare_zip_files"):
        pytest.importorskip("pypdf")
    monkeypatch.chdir(tmp_path)
    assert score(name, right, tmp_path / "right", **options) == pytest.approx(1.0)
    for at, one in enumerate(wrong):
        assert score(name, one, tmp_path / f"wrong{at}", **options) < 0.7, f"{name}: {one}"


def test_every_metric_is_there_and_tested():
    for name, module in registry.MODULES.items():
        made = importlib.import_module(f"agentgym.formats.osworld.metrics.{module}")
        assert callable(getattr(made, name))
    others = ("documents", "presentations", "slides", "tables")
    elsewhere = {n for n, m in registry.MODULES.items() if m in others}
    assert {*VALUES, *TEXTS, *IMAGES} == registry.MODULES.keys() - elsewhere


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("", "", 1.0),
        ("a", "", 0.0),
        ("abcd", "abcd", 1.0),
        ("kitten", "sitting", 8 / 13),
        ("ab", "ba", 0.5),
    ],
)
def test_similarity_is_that_of_the_common_subsequence(one, other, expected):
    assert similarity(one, other) == pytest.approx(expected) == similarity(other, one)


@pytest.mark.parametrize(
    ("value", "method", "ref", "expected"),
    [
        ("Hello", "re.I", "^hel+o$", True),
        ("Hello", "re", "^hel+o$", False),
        (None, "re", ".*", False),
        (2, "range.te", [0, 2], True),
        (0, "range.te", [0, 2], False),
        ("x", "lt", 3, False),
        ("191.6670", "approx:0.001", 191.6667, True),
        ("many", "approx:5", 1, False),
        ('"b,a"', "str_set_eq", ["a", "b"], True),
        ('"b,a"', "str_list_eq", ["a", "b"], False),
    ],
)
def test_rules_about_values(value, method, ref, expected):
    assert fits(value, {"method": method, "ref": ref}) is expected


def test_an_unknown_method_is_an_error():
    with pytest.raises(ValueError, match="unknown method 'near'"):
        fits(1, {"method": "near", "ref": 1})
