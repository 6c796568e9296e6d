"""Tables for people."""

from tally.amount import Balance


def balance_report(book, until=None):
    """Return one line for each amount of each account."""
    lines = []
    for account, balance in sorted(book.totals(until).items()):
        depth = account.count(":")
        name = "  " * depth + account.rsplit(":", 1)[-1]
        for amount in balance.amounts():
            lines.append(f"{amount.quantity:>12} {amount.commodity:<4} {name}")
            name = ""
    return "\n".join(line.rstrip() for line in lines)


def register_report(book, account):
    """Return the entries of an account and its sub-accounts with the running balance."""
    running, lines = Balance(), []
    for entry in book.entries:
        if entry.account == account or entry.account.startswith(f"{account}:"):
            running.add(entry.amount)
            now = f"{running.of(entry.amount.commodity)} {entry.amount.commodity}"
            lines.append(f"{entry.when} {entry.payee:<24} {entry.amount!s:>14} {now:>14}")
    return "\n".join(lines)
