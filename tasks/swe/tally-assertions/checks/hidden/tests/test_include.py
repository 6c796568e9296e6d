"""Journals in several files."""

import subprocess
import sys

import pytest

from tally.book import Book
from tally.cli import main
from tally.errors import JournalError
from tally.reader import read_journal

DUES = """; dues of the year
2026-02-01 Dues
    assets:bank     30.00 EUR
    income:dues

2026-01-02 Dues
    assets:bank     50.00 EUR = 50.00 EUR
    income:dues
"""
MAIN = """include dues.tally

2026-01-05 Rent
    expenses:hall   20.00 EUR
    assets:bank    -20.00 EUR = 30.00 EUR

2026-02-02 Statement
    assets:bank      0.00 EUR = 60.00 EUR
    equity:check     0.00 EUR
"""


@pytest.fixture
def journal(tmp_path):
    def write(**files):
        for name, text in files.items():
            path = tmp_path / f"{name}.tally"
            path.write_text(text)
        return tmp_path / "main.tally"

    return write


def places(path):
    return [str(problem.place).rpartition("/")[2] for problem in Book(read_journal(path)).problems]


def test_assertions_go_by_date_across_files(journal):
    assert places(journal(main=MAIN, dues=DUES)) == []


def test_assertions_go_by_date_within_a_file(journal):
    late = "2026-03-01 Late\n    a  5 EUR = 7 EUR\n    b\n\n2026-02-01 Early\n    a  2 EUR = 2 EUR\n    b\n"
    assert places(journal(main=late)) == []


def test_a_day_keeps_the_order_of_the_journal(journal):
    text = "2026-03-01 One\n    a  5 EUR = 5 EUR\n    b\n\n2026-03-01 Two\n    a  2 EUR = 7 EUR\n    b\n"
    assert places(journal(main=text)) == []


def test_a_false_assertion_after_an_include_names_its_line(journal):
    wrong = MAIN.replace("= 60.00", "= 61.00")
    assert places(journal(main=wrong, dues=DUES)) == ["main.tally:8"]


def test_a_false_assertion_in_an_included_file_names_that_file(journal):
    wrong = DUES.replace("= 50.00", "= 51.00")
    assert places(journal(main=MAIN, dues=wrong)) == ["dues.tally:7"]


def test_nested_includes_name_their_files(journal, capsys):
    inner = "2026-01-01 Odd\n    a  1 EUR\n    b  1 EUR\n"
    path = journal(main="\ninclude outer.tally\n", outer="; x\ninclude inner.tally\n", inner=inner)
    assert main(["check", str(path)]) == 1
    assert "inner.tally:1: does not balance" in capsys.readouterr().err


def test_a_syntax_error_after_an_include_names_its_line(journal):
    with pytest.raises(JournalError) as caught:
        read_journal(journal(main="include dues.tally\n\nnonsense\n", dues=DUES))
    assert str(caught.value.place).endswith("main.tally:3")


def test_a_circle_is_named_where_it_closes(journal):
    with pytest.raises(JournalError, match="includes itself") as caught:
        read_journal(journal(main="\n\ninclude dues.tally\n", dues="; x\ninclude main.tally\n"))
    assert str(caught.value.place).endswith("dues.tally:2")


def test_a_missing_file_is_named_where_it_is_included(journal):
    with pytest.raises(JournalError) as caught:
        read_journal(journal(main="\ninclude gone.tally\n"))
    assert str(caught.value.place).endswith("main.tally:2")
    assert "gone.tally" in caught.value.message


def test_an_include_ends_the_transaction_above(journal):
    path = journal(main="2026-01-05 Rent\n    e  1 EUR\ninclude dues.tally\n    a\n", dues=DUES)
    with pytest.raises(JournalError, match="main.tally:1: a transaction needs two postings"):
        read_journal(path)


def test_a_file_may_be_included_twice(journal):
    one = "2026-01-01 One\n    a  1 EUR\n    b\n"
    book = Book(read_journal(journal(main="include dues.tally\ninclude dues.tally\n", dues=one)))
    assert str(book.totals()["a"].of("EUR")) == "2"


def test_a_posting_of_the_same_day_that_follows_does_not_count(journal):
    text = "2026-03-01 One\n    a  5 EUR = 5 EUR\n    b\n\n2026-03-01 Two\n    a  2 EUR\n    b\n"
    assert places(journal(main=text)) == []
    assert places(journal(main=text.replace("= 5", "= 7"))) == ["main.tally:2"]


def test_reports_are_as_before(journal, capsys):
    path = str(journal(main=MAIN.replace(" = 60.00 EUR", ""), dues=DUES))
    assert main(["balance", path, "--until", "2026-01-31"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == ["       30.00 EUR  assets", "       30.00 EUR    bank"]
    assert main(["register", path, "assets:bank"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "2026-01-02 Dues                          50.00 EUR      50.00 EUR",
        "2026-01-05 Rent                         -20.00 EUR      30.00 EUR",
        "2026-02-01 Dues                          30.00 EUR      60.00 EUR",
        "2026-02-02 Statement                      0.00 EUR      60.00 EUR",
    ]


def test_the_module_is_a_command(journal):
    path = journal(main=MAIN, dues=DUES)
    done = subprocess.run([sys.executable, "-m", "tally", "check", path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_files_of_the_same_name_are_told_apart(tmp_path):
    wrong = "2026-01-01 One\n    a  1 EUR = 2 EUR\n    b\n"
    for folder in ("old", "new"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "dues.tally").write_text("\n" * (folder == "new") + (wrong if folder == "new" else ""))
    (tmp_path / "main.tally").write_text("include old/dues.tally\ninclude new/dues.tally\n")
    (problem,) = Book(read_journal(tmp_path / "main.tally")).problems
    assert str(problem.place).endswith("new/dues.tally:3")


def test_a_folder_is_no_file_to_include(tmp_path):
    (tmp_path / "dues").mkdir()
    (tmp_path / "main.tally").write_text("\ninclude dues\n")
    with pytest.raises(JournalError) as caught:
        read_journal(tmp_path / "main.tally")
    assert str(caught.value.place).endswith("main.tally:2") and "dues" in str(caught.value)


def test_a_long_circle_is_named_where_it_closes(journal):
    names = ["one", "two", "three", "four", "five"]
    files = {name: f"include {other}.tally\n" for name, other in zip(names, [*names[1:], "one"], strict=True)}
    with pytest.raises(JournalError, match="includes itself") as caught:
        read_journal(journal(main="include one.tally\n", **files))
    assert str(caught.value.place).endswith("five.tally:1")


def test_a_day_keeps_the_order_of_the_journal_across_files(journal):
    early = "2026-03-01 One\n    a  5 EUR = 5 EUR\n    b\n"
    late = "\n2026-03-01 Two\n    a  2 EUR = 7 EUR\n    b\n"
    assert places(journal(main="include zoo.tally\n" + late, zoo=early)) == []
    assert places(journal(main=early + "include ant.tally\n", ant=late)) == []


def test_the_assertion_of_an_omitted_amount_is_that_of_all_its_commodities(journal):
    text = "2026-03-01 One\n    a  5 EUR\n    b  2 USD\n    c  = {}\n"
    assert places(journal(main=text.format("-2 USD"))) == []
    assert places(journal(main=text.format("-5 EUR"))) == []
    assert places(journal(main=text.format("-3 USD"))) == ["main.tally:4"]


def test_paths_are_relative_to_the_file_that_includes(tmp_path):
    folder = tmp_path
    for name in ("main", "a", "b", "c"):
        if name != "main":
            folder = folder / name
            folder.mkdir()
        following = {"main": "a/a", "a": "b/b", "b": "c/c"}.get(name)
        text = f"include {following}.tally\n" if following else "2026-01-01 One\n    x  1 EUR\n    y\n"
        (folder / f"{name}.tally").write_text(text)
    assert len(read_journal(tmp_path / "main.tally").transactions) == 1
