import pytest

from tally.errors import JournalError
from tally.reader import read_journal


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_postings_belong_to_the_transaction_above(write):
    path = write("a.tally", "2026-01-05 Rent ; hall\n  expenses:hall  120 EUR\n  assets:bank\n")
    (transaction,) = read_journal(path).transactions
    assert transaction.payee == "Rent"
    assert [posting.account for posting in transaction.postings] == ["expenses:hall", "assets:bank"]
    assert transaction.postings[1].amount is None


def test_problems_name_the_line(write):
    path = write("a.tally", "2026-01-05 Rent\n  expenses:hall  120 EUR\n  assets:bank  1,5 EUR\n")
    with pytest.raises(JournalError, match="a.tally:3: expected an amount"):
        read_journal(path)


def test_included_transactions_are_part_of_the_journal(write):
    write("sub/dues.tally", "2026-01-02 Dues\n  assets:bank  30 EUR\n  income:dues\n")
    rent = "2026-01-05 Rent\n  e:hall  20 EUR\n  assets:bank\n"
    path = write("a.tally", "include sub/dues.tally\n" + rent)
    assert [t.payee for t in read_journal(path).transactions] == ["Dues", "Rent"]


def test_a_file_that_includes_itself_is_refused(write):
    path = write("a.tally", "include a.tally\n")
    with pytest.raises(JournalError, match="includes itself"):
        read_journal(path)
