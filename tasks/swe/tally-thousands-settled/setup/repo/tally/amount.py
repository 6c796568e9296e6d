"""Amounts of money and other things."""

import re
from dataclasses import dataclass
from decimal import Decimal

_AMOUNT = re.compile(r"(-?\d+(?:\.\d+)?)\s+([A-Za-z]\w*)$")


@dataclass(frozen=True)
class Amount:
    """A quantity of a commodity. Quantities are exact decimals."""

    quantity: Decimal
    commodity: str

    @classmethod
    def parse(cls, text):
        """Read `12.50 EUR`; raise ValueError for anything else."""
        found = _AMOUNT.match(text.strip())
        if found is None:
            raise ValueError(f"expected an amount like 12.50 EUR, got {text.strip()!r}")
        return cls(Decimal(found[1]), found[2])

    def __neg__(self):
        return Amount(-self.quantity, self.commodity)

    def __str__(self):
        return f"{self.quantity} {self.commodity}"


class Balance:
    """Quantities by commodity."""

    def __init__(self):
        self._quantities = {}

    def add(self, amount):
        self._quantities[amount.commodity] = self.of(amount.commodity) + amount.quantity

    def merge(self, other):
        for amount in other.amounts():
            self.add(amount)

    def of(self, commodity):
        return self._quantities.get(commodity, Decimal(0))

    def amounts(self):
        """Return the amounts that are not zero, sorted by commodity."""
        return [Amount(q, c) for c, q in sorted(self._quantities.items()) if q]

    def is_zero(self):
        return not self.amounts()
