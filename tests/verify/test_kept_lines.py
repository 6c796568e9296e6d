"""Texts to which may be added: which lines are gone."""

from agentgym.verify.kept_lines import lost_lines


def test_added_words_and_clauses_keep_a_line() -> None:
    before = "- Renamed to `a`.\n- Faster\n"
    assert not lost_lines(before, "- Faster\n\n- Renamed to `a`; `b` is an alias.\n")
    assert not lost_lines(before, before + "- New\n")


def test_other_words_lose_it() -> None:
    assert list(lost_lines("- Renamed to `a`.\n", "- Renamed to `b`.\n")) == ["- Renamed to `a`."]
    assert lost_lines("one\none\n", "one\n").total() == 1
