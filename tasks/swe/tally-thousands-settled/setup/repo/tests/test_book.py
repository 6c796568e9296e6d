from datetime import date
from decimal import Decimal

from tally.book import Book
from tally.reader import read_journal

JOURNAL = """
2026-01-02 Dues
    assets:bank     30.00 EUR
    income:dues

2026-01-05 Rent
    expenses:hall   20.00 EUR
    assets:bank    -20.00 EUR = 10.00 EUR
"""


def book(tmp_path, text):
    path = tmp_path / "a.tally"
    path.write_text(text)
    return Book(read_journal(path))


def test_a_missing_amount_is_worked_out(tmp_path):
    balances = book(tmp_path, JOURNAL).balances()
    assert balances["income:dues"].of("EUR") == Decimal("-30.00")


def test_balances_until_a_day(tmp_path):
    balances = book(tmp_path, JOURNAL).balances(date(2026, 1, 4))
    assert balances["assets:bank"].of("EUR") == Decimal("30.00")


def test_totals_contain_sub_accounts(tmp_path):
    assert book(tmp_path, JOURNAL).totals()["assets"].of("EUR") == Decimal("10.00")


def test_an_assertion_that_holds_is_no_problem(tmp_path):
    assert book(tmp_path, JOURNAL).problems == []


def test_an_assertion_that_does_not_hold_is_a_problem(tmp_path):
    (problem,) = book(tmp_path, JOURNAL.replace("= 10.00", "= 11.00")).problems
    assert "assets:bank holds 10.00 EUR, expected 11.00 EUR" in str(problem)


def test_a_transaction_that_does_not_balance(tmp_path):
    (problem,) = book(tmp_path, "2026-01-02 Dues\n  a  1 EUR\n  b  2 EUR\n").problems
    assert "3 EUR left over" in str(problem)
