from decimal import Decimal

import pytest

from tally.amount import Amount, Balance


def test_an_amount_is_read_exactly():
    assert Amount.parse("12.50 EUR") == Amount(Decimal("12.50"), "EUR")
    assert Amount.parse("-3 hours") == Amount(Decimal(-3), "hours")


@pytest.mark.parametrize("text", ["", "12", "EUR", "1,200.00 EUR", "1.2.3 EUR"])
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError):
        Amount.parse(text)


def test_a_balance_forgets_zeros():
    balance = Balance()
    balance.add(Amount(Decimal(5), "EUR"))
    balance.add(Amount(Decimal(-5), "EUR"))
    balance.add(Amount(Decimal(2), "USD"))
    assert balance.amounts() == [Amount(Decimal(2), "USD")]
