"""Books: journals with every amount worked out, and the balances that follow."""

from dataclasses import dataclass
from datetime import date

from tally.amount import Amount, Balance
from tally.errors import JournalError
from tally.journal import Place


@dataclass(frozen=True)
class Entry:
    """One posting whose amount is known."""

    when: date
    payee: str
    account: str
    amount: Amount
    assertion: Amount | None
    place: Place


class Book:
    """The entries of a journal by date; those of one day in the order of the journal."""

    def __init__(self, journal):
        self.problems = []
        self.entries = []
        for transaction in journal.transactions:
            try:
                self.entries += _complete(transaction)
            except JournalError as error:
                self.problems.append(error)
        self._check_assertions()
        self.entries.sort(key=lambda entry: entry.when)

    def balances(self, until=None):
        """Return the balance of each account, without its sub-accounts."""
        found = {}
        for entry in self.entries:
            if until is None or entry.when <= until:
                found.setdefault(entry.account, Balance()).add(entry.amount)
        return found

    def totals(self, until=None):
        """Return the balance of each account together with its sub-accounts."""
        found = {}
        for account, balance in self.balances(until).items():
            parts = account.split(":")
            for depth in range(len(parts)):
                name = ":".join(parts[: depth + 1])
                found.setdefault(name, Balance()).merge(balance)
        return found

    def _check_assertions(self):
        running = {}
        for entry in self.entries:
            balance = running.setdefault(entry.account, Balance())
            balance.add(entry.amount)
            if entry.assertion is None:
                continue
            seen = balance.of(entry.assertion.commodity)
            if seen != entry.assertion.quantity:
                message = f"{entry.account} holds {seen} {entry.assertion.commodity}"
                self.problems.append(
                    JournalError(entry.place, f"{message}, expected {entry.assertion}")
                )


def _complete(transaction):
    """Return the entries of a transaction; a missing amount balances each commodity."""
    open_postings = [posting for posting in transaction.postings if posting.amount is None]
    if len(open_postings) > 1:
        raise JournalError(open_postings[1].place, "a second posting without an amount")
    rest = Balance()
    for posting in transaction.postings:
        if posting.amount is not None:
            rest.add(posting.amount)
    if not open_postings and not rest.is_zero():
        left = ", ".join(map(str, rest.amounts()))
        raise JournalError(transaction.place, f"does not balance: {left} left over")
    entries = []
    for posting in transaction.postings:
        amounts = [posting.amount] if posting.amount else [-amount for amount in rest.amounts()]
        for amount in amounts:
            # Of several amounts, the last one carries the assertion.
            assertion = posting.assertion if amount is amounts[-1] else None
            entries.append(
                Entry(
                    transaction.when,
                    transaction.payee,
                    posting.account,
                    amount,
                    assertion,
                    posting.place,
                )
            )
    return entries
