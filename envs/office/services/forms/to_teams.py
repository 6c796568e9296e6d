"""Forms of notes on tickets, of replies there, and of posts in the chat."""

from __future__ import annotations

from .template import Slot, Template
from .to_outsiders import PRODUCTS

TO_TEAMS = (
    Template(
        "customer-promise",
        "Promise to a customer",
        "Tells the team what one of us has promised the customer, and by when.",
        "note",
        "help desk",
        "{who} has promised {what} by {until}.",
        (
            Slot("who", "Who has promised it", "person"),
            Slot(
                "what",
                "What was promised",
                choices=("an answer", "a call", "a repair", "a credit", "nothing"),
            ),
            Slot("until", "By", "date"),
        ),
    ),
    Template(
        "stuck-bin",
        "Bin that is stuck",
        "Tells engineering whose bin is stuck. A script reads these notes.",
        "note",
        "engineering",
        "Account: {account}\nStuck: {size} GB",
        (
            Slot("account", "Account", "reference"),
            Slot("size", "Size in GB", "gigabytes"),
        ),
    ),
    Template(
        "customer-picture",
        "Picture from a customer",
        "Keeps a picture that a customer sent by another way with their ticket.",
        "note",
        "help desk",
        "Picture: {file}",
        (Slot("file", "File on the drive", "file"),),
    ),
    Template(
        "double-charge",
        "Double charge",
        "Tells the billing team what has been charged twice, and who decides.",
        "note",
        "billing team",
        "Invoice: {invoice}\nAmount: {amount}\nCharged: {charged}\nDecides: {decides}",
        (
            Slot("invoice", "Invoice", "reference"),
            Slot("amount", "Amount in euros", "amount"),
            Slot("charged", "Charged", choices=("once", "twice")),
            Slot("decides", "Who decides", choices=("Farid", "Elif", "Finance")),
        ),
    ),
    Template(
        "identity-note",
        "Identity check on a ticket",
        "Records what somebody wanted to have changed, and what was done.",
        "note",
        "help desk",
        "Wanted: {wanted}\nInto: {into}\nDone: {done}",
        (
            Slot(
                "wanted",
                "What was to be changed",
                choices=("e-mail address", "phone number", "name", "company", "plan"),
            ),
            Slot("into", "Into what", "text"),
            Slot("done", "What has been changed", choices=("nothing", "all of it")),
        ),
    ),
    Template(
        "answer-by",
        "Answer that takes longer",
        "Tells the customer by when they get an answer.",
        "reply",
        "customer",
        "Thank you for your patience. You will have our answer by {until}.",
        (Slot("until", "By", "date"),),
    ),
    Template(
        "incident-update",
        "State of an incident",
        "Tells everybody how many tickets an incident has, and how much is affected.",
        "chat",
        "everybody; the status page shows it",
        "{product}\nTickets: {tickets}\nStuck: {size} GB",
        (
            Slot("product", "Product", choices=PRODUCTS),
            Slot("tickets", "Tickets", "number"),
            Slot("size", "How much is stuck, in GB", "gigabytes"),
        ),
    ),
    Template(
        "first-meeting",
        "First meeting of a channel",
        "Tells the members of a channel when they meet for the first time, and who takes the"
        " minutes. It mentions that person.",
        "chat",
        "members of a channel",
        "We meet for the first time on {day} at {start}. @{minutes} takes the minutes.",
        (
            Slot("day", "Day", "date"),
            Slot("start", "Time where the members are", "time"),
            Slot("minutes", "Who takes the minutes", "handle"),
        ),
    ),
)
